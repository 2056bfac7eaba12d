"""Measure convolutions of one client: products over patches against torch's own, on one core.

    python benchmarks/convolutions.py [--repeats 9]

The forward pass and the weight gradient of one layer. The two take turns in processor time; figures are the least
times, and medians of the ratios of turns side by side.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from turns import in_turn, seconds

from edgefl.core.machine import one_numpy_thread
from edgefl.learning.learner.kernels.layers import Convolution


class Case(NamedTuple):
    """The sizes of a convolution and of the images it gets."""

    inputs: int  # channels
    outputs: int
    kernel: int
    padding: int
    samples: int
    side: int


CASES = {
    "LeNet-5 on MNIST, first": Case(1, 6, 5, 2, 20, 28),
    "CNN on MNIST, first": Case(1, 32, 5, 2, 20, 28),
    "128 to 256 channels on 8 x 8": Case(128, 256, 3, 1, 20, 8),
    "256 to 256 channels on 4 x 4": Case(256, 256, 3, 1, 20, 4),
    "512 to 512 channels on 2 x 2": Case(512, 512, 3, 1, 20, 2),
}
WORK_S = 0.2  # of a turn


def steps(layer: nn.Conv2d, images: Tensor, *, patches: bool) -> Callable[[], object]:
    """Return a call of the forward pass and the weight gradient."""
    own = Convolution(layer)
    if not patches:
        own._can_use_patches = lambda _: False  # noqa: SLF001
    p = [layer.weight.detach()[None], layer.bias.detach()[None]]
    into = [torch.empty_like(tensor) for tensor in p]
    y, _ = own.forward(images[None], p, None)
    dy = torch.randn_like(y)

    def step() -> object:
        """Run the forward pass and the weight gradient once."""
        _, saved = own.forward(images[None], p, None)
        return own.gradients(dy, saved, p, into)

    return step


def row(title: str, case: Case, repeats: int) -> str:
    """Return one row of the table."""
    layer = nn.Conv2d(case.inputs, case.outputs, case.kernel, padding=case.padding)
    images = torch.randn(case.samples, case.inputs, case.side, case.side)
    images = images.contiguous(memory_format=torch.channels_last)
    ours = steps(layer, images, patches=True)
    theirs = steps(layer, images, patches=False)
    theirs()
    calls = max(2, int(WORK_S / seconds(ours, 2)))
    turns = in_turn(ours, theirs, calls, repeats)
    return f"| {title} | {1e3 * turns.theirs_s:.2f} ms | {1e3 * turns.ours_s:.2f} ms | {turns.ratio:.2f} |"


def main() -> None:
    """Print a row for each convolution."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    print("| convolution | torch | patches | torch / patches |")
    print("|---|---|---|---|")
    with one_numpy_thread(), torch.no_grad():
        for title, case in CASES.items():
            print(row(title, case, repeats), flush=True)


if __name__ == "__main__":
    main()
