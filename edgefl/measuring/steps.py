"""Steps of training and of evaluation, as the engine takes them, on samples drawn once."""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn import functional

RATE = 1e-6  # of learning: so small that thousands of steps leave the weights finite


def steps_of(module: nn.Module, sizes: Sequence[int], device: str, *, train: bool) -> Callable[[int], None]:
    """Return what takes so many steps of SGD, or else of evaluation without gradients, to their end.

    Args:
        module: the network.
        sizes: of a batch of samples.
        device: of torch.
        train: by SGD.
    """
    module.to(device)
    samples = torch.randn(*sizes, device=device)
    labels = torch.zeros(sizes[0], dtype=torch.long, device=device)
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE)

    def take(steps: int) -> None:
        module.train(train)  # each time, as other steps may share the network
        with torch.set_grad_enabled(train):
            for _ in range(steps):
                outputs = module(samples)
                if train:
                    functional.cross_entropy(outputs, labels).backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    optimiser.zero_grad()
        if device != "cpu":
            torch.cuda.synchronize(device)

    return take
