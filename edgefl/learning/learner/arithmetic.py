"""Matrix products, by the library that is fastest where the numbers are.

On the CPU that is NumPy: its OpenBLAS has code for all processors, where the MKL in torch takes a slow path on those
that are not Intel's (docs/benchmarks.md). What is on a GPU stays with torch.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def product(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the products a[c] @ b[c] as [C, n, k], of a [C, n, m] and b [C, m, k].

    On the CPU each client's product is computed alone: it does not depend on how many clients are trained together.

    Args:
        a: left factors, which need no gradient.
        b: right factors, likewise.
        out: where the products are written; None: a new tensor.
    """
    if not numpy_can_read(a):
        return torch.bmm(a, b, out=out)
    if out is None:
        out = a.new_empty(len(a), a.shape[1], b.shape[2])
    with np.errstate(all="ignore"):  # infinite models are reported with their device, when training has ended
        np.matmul(a.numpy(), b.numpy(), out=out.numpy())
    return out


def affine(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return x[c] @ a[c] + b[c] as [C, n, k], of x [C, n, m], a [C, m, k] and b [C, 1, k]; see `product`."""
    if not numpy_can_read(x):
        return torch.baddbmm(b, x, a)
    return product(x, a).add_(b)


def numpy_can_read(x: Tensor) -> bool:
    """Return whether the numbers are in the CPU's memory; those of fake tensors, which tests use, are nowhere."""
    return type(x) is Tensor and x.device.type == "cpu"
