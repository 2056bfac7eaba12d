"""Convolutions of one client: products over patches against torch's own, on one core.

    python benchmarks/convolutions.py [--repeats 9]

The forward pass and the weight gradient of one layer. The two take turns in processor time; figures are the least
times, and medians of the ratios of turns side by side.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from edgefl.core.machine import one_numpy_thread
from edgefl.learning.learner.layers import Convolution

# input channels, output channels, kernel, padding; samples, side of the images
CASES = {
    "LeNet-5 on MNIST, first": (1, 6, 5, 2, 20, 28),
    "CNN on MNIST, first": (1, 32, 5, 2, 20, 28),
    "128 to 256 channels on 8 x 8": (128, 256, 3, 1, 20, 8),
    "256 to 256 channels on 4 x 4": (256, 256, 3, 1, 20, 4),
    "512 to 512 channels on 2 x 2": (512, 512, 3, 1, 20, 2),
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
        _, saved = own.forward(images[None], p, None)
        return own.gradients(dy, saved, p, into)

    return step


def seconds(call: Callable[[], object], calls: int) -> float:
    """Return the processor time of a call."""
    began_s = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - began_s) / calls


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    print("| convolution | torch | patches | torch / patches |\n|---|---|---|---|")
    with one_numpy_thread(), torch.no_grad():
        for title, (inputs, outputs, kernel, padding, samples, side) in CASES.items():
            layer = nn.Conv2d(inputs, outputs, kernel, padding=padding)
            images = torch.randn(samples, inputs, side, side).contiguous(memory_format=torch.channels_last)
            ours = steps(layer, images, patches=True)
            theirs = steps(layer, images, patches=False)
            theirs()
            calls = max(2, int(WORK_S / seconds(ours, 2)))
            turns = [(seconds(ours, calls), seconds(theirs, calls)) for _ in range(repeats)]
            ours_ms, theirs_ms = (1e3 * min(column) for column in zip(*turns, strict=True))
            ratio = statistics.median(theirs_s / ours_s for ours_s, theirs_s in turns)
            print(f"| {title} | {theirs_ms:.2f} ms | {ours_ms:.2f} ms | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
