"""Measure how far apart models end that begin with a difference of rounding, with and without batch normalisation.

    python benchmarks/batch_norm.py [--steps 200] [--batches 2 4 6 32]

A small network learns the digits from batches of some sizes. For each of them: the distance between the models of two
engines, and between those of two plain loops of PyTorch whose first weights differ by a part in 3 million; both
relative to the length of the model. With two samples a normalised value is 1 or -1, and a rounding error decides which
one where the samples are nearly equal.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn

import edgefl
from edgefl.core.streams import Streams
from edgefl.learning.datasets.digits import Digits

LR = 0.1
CHANGE = 3e-7  # of each first weight, relative
FEATURES = 64
HIDDEN = 32


def network(classes: int, normed: bool = True) -> nn.Module:  # noqa: FBT001, FBT002 - a key of scenarios
    """Return a network of two layers, with batch normalisation between them or without."""
    between: list[nn.Module] = [nn.BatchNorm1d(HIDDEN)] if normed else []
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, HIDDEN), *between, nn.ReLU(), nn.Linear(HIDDEN, classes))


def of_engine(engine: str, batch_size: int, steps: int, *, normed: bool) -> Tensor:
    """Return the model [d] that a device of edgefl has trained."""
    scenario = {
        "rounds": 1,
        "data": {"dataset": "digits"},
        "devices": {"count": 2},
        "model": {"kind": network, "normed": normed},
        "training": {"local_steps": steps, "batch_size": batch_size, "lr": LR, "engine": engine},
    }
    return torch.from_numpy(edgefl.run(scenario, device="cpu").parameters)


def of_torch(change: float, batch_size: int, steps: int, *, normed: bool) -> Tensor:
    """Return the model [d] that a plain loop has trained, whose first weights are changed by so much, relative."""
    data = Digits().load()
    x = torch.from_numpy(data.normalised(data.train_x))
    y = torch.from_numpy(data.train_y)
    torch.manual_seed(1)
    module = network(data.classes, normed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1 + change * torch.randn_like(parameter))
    optimizer = torch.optim.SGD(module.parameters(), lr=LR)
    order = torch.from_numpy(Streams(1).generator("order").permutation(len(x)))
    for step in range(steps):
        rows = order[torch.arange(step * batch_size, (step + 1) * batch_size) % len(x)]
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(module.parameters()).detach()


def main() -> None:
    """Print a line for each size of a batch."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batches", type=int, nargs="+", default=[2, 4, 6, 32], help="samples of a batch")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("batch  norm  two engines  plain PyTorch, first weights changed by 3e-7")
    for batch_size in options.batches:
        for normed in (True, False):
            engines = [of_engine(name, batch_size, options.steps, normed=normed) for name in ("serial", "vmap")]
            loops = [of_torch(change, batch_size, options.steps, normed=normed) for change in (0.0, CHANGE)]
            ours, theirs = (float((b - a).norm() / a.norm()) for a, b in (engines, loops))
            print(f"{batch_size:5}  {'yes' if normed else 'no':4}  {ours:11.0e}  {theirs:13.0e}", flush=True)


if __name__ == "__main__":
    main()
