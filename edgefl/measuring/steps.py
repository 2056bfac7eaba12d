"""Steps of training and of evaluation, as the engine takes them, on samples drawn once."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from edgefl.measuring.networks import Setting
from edgefl.measuring.timing import Run

RATE = 1e-6  # of learning: so small that thousands of steps leave the weights finite


def prepared(setting: Setting, device: str) -> Run:
    """Return what takes the steps of a setting on a device of torch."""
    module = setting.network.make().to(device)
    samples = torch.randn(setting.batch_size, *setting.network.shape, device=device)
    step = _training(module, samples)
    if setting.phase == "evaluate":
        module.eval()
        step = torch.no_grad()(lambda: module(samples))

    def run(steps: int) -> None:
        for _ in range(steps):
            step()
        if device != "cpu":
            torch.cuda.synchronize(device)

    return run


def _training(module: nn.Module, samples: Tensor) -> Callable[[], object]:
    """Return a step of SGD: forward pass, cross-entropy, backward pass, update."""
    module.train()
    optimiser = torch.optim.SGD([weight for weight in module.parameters() if weight.requires_grad], lr=RATE)
    labels = torch.zeros(len(samples), dtype=torch.long, device=samples.device)

    def step() -> None:
        optimiser.zero_grad()
        functional.cross_entropy(module(samples), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step
