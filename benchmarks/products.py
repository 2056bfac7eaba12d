"""Measure matrix products of dense layers: NumPy against torch, on one core.

    python benchmarks/products.py [--repeats 9]

The two take turns in processor time; figures are the least times of a product, and medians of the ratios of turns side
by side. Unset OPENBLAS_CORETYPE before, if it is set: it may forbid OpenBLAS the processor's widest registers.
"""

from __future__ import annotations

import argparse

import torch
from turns import in_turn, seconds

from edgefl.core.machine import one_numpy_thread
from edgefl.learning.learner.kernels.arithmetic import mkl_is_fast, numpy_product

# Samples, inputs, outputs.
CASES = {"W1's first layer": (50, 784, 200), "W1's second layer": (50, 200, 200), "W3": (60, 784, 10)}
CLIENTS = 4
WORK = 2e9  # operations of a turn


def row(title: str, a: torch.Tensor, b: torch.Tensor, work: float, repeats: int) -> str:
    """Return one row of the table, of products that each do `work` operations."""
    out = torch.bmm(a, b)

    def ours() -> object:
        """Multiply by NumPy."""
        return numpy_product(a, b, out)

    def theirs() -> object:
        """Multiply by torch."""
        return torch.bmm(a, b, out=out)

    calls = max(10, int(WORK / work))
    seconds(ours, calls)  # the first turn warms up
    seconds(theirs, calls)
    turns = in_turn(ours, theirs, calls, repeats)
    theirs_us = 1e6 * turns.theirs_s / CLIENTS
    ours_us = 1e6 * turns.ours_s / CLIENTS
    return f"| {title} | {theirs_us:.1f} us | {ours_us:.1f} us | {turns.ratio:.2f} |"


def main() -> None:
    """Print a row for each product."""
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
            size = f"{samples} x {inputs} x {outputs}"
            for name, (a, b) in factors.items():
                print(row(f"{title}, {name} ({size})", a, b, work, repeats), flush=True)
    chosen = "NumPy"
    if mkl_is_fast():
        chosen = "torch"
    print(f"edgefl multiplies by {chosen} on this processor")


if __name__ == "__main__":
    main()
