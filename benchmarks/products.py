"""Matrix products of dense layers: NumPy against torch, on one core.

    python benchmarks/products.py [--repeats 9]

The two take turns; figures are the least times of a product, and medians of the ratios of turns side by side. Unset
OPENBLAS_CORETYPE before, if it is set: it may forbid OpenBLAS the processor's widest registers.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from edgefl.core.machine import one_numpy_thread
from edgefl.learning.learner.arithmetic import product

CASES = {"W1's first layer": (50, 784, 200), "W1's second layer": (50, 200, 200), "W3": (60, 784, 10)}
CLIENTS = 4
WORK = 2e9  # operations of a turn


def seconds(call: Callable[[], object], calls: int) -> float:
    """Return the time of a call."""
    began_s = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began_s) / calls


def row(title: str, ours: Callable[[], object], theirs: Callable[[], object], work: float, repeats: int) -> str:
    """Return one row of the table, of calls that each do `work` operations."""
    calls = max(10, int(WORK / work))
    turns = [(seconds(ours, calls), seconds(theirs, calls)) for _ in range(repeats + 1)][1:]
    ours_us, theirs_us = (1e6 * min(side) / CLIENTS for side in zip(*turns, strict=True))
    ratio = statistics.median(theirs_s / ours_s for ours_s, theirs_s in turns)
    return f"| {title} | {theirs_us:.1f} us | {ours_us:.1f} us | {ratio:.2f} |"


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    print("| of one client | torch | NumPy | torch / NumPy |\n|---|---|---|---|")
    with one_numpy_thread():
        for title, (samples, inputs, outputs) in CASES.items():
            x = torch.randn(CLIENTS, samples, inputs)
            w = torch.randn(CLIENTS, outputs, inputs)
            dy = torch.randn(CLIENTS, samples, outputs)
            factors = {
                "forward": (x, w.transpose(1, 2)),
                "gradient in the weights": (dy.transpose(1, 2), x),
                "gradient in the inputs": (dy, w),
            }
            work = 2.0 * CLIENTS * samples * inputs * outputs
            for name, (a, b) in factors.items():
                out = torch.bmm(a, b)

                def ours(a: torch.Tensor = a, b: torch.Tensor = b, out: torch.Tensor = out) -> object:
                    return product(a, b, out)

                def theirs(a: torch.Tensor = a, b: torch.Tensor = b, out: torch.Tensor = out) -> object:
                    return torch.bmm(a, b, out=out)

                size = f"{samples} x {inputs} x {outputs}"
                print(row(f"{title}, {name} ({size})", ours, theirs, work, repeats), flush=True)


if __name__ == "__main__":
    main()
