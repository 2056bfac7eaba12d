"""Matrix products, by the library that is fastest on the machine.

On Intel's processors that is torch, with Intel's MKL. On others MKL takes a slow path, and NumPy with OpenBLAS is
faster (docs/benchmarks.md). Products on a GPU stay with torch.
"""

from functools import cache

import numpy as np
import torch
from torch import Tensor

from edgefl.core.machine import processor_vendor


def product(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Return a[c] @ b[c] as [C, n, k], of a [C, n, m] and b [C, m, k] without gradients; in `out` if given.

    In one thread of a CPU a client's product does not depend on how many clients are trained together.
    """
    if mkl_is_fast() or not numpy_can_read(a):
        return torch.bmm(a, b, out=out)
    return numpy_product(a, b, out)


def numpy_product(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """Return what `product` does, by NumPy; the factors are in the CPU's memory."""
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


@cache
def mkl_is_fast() -> bool:
    """Return whether torch multiplies by MKL on an Intel processor."""
    has_mkl: bool = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    return has_mkl and processor_vendor() == "GenuineIntel"


def numpy_can_read(x: Tensor) -> bool:
    """Return whether the numbers are in the CPU's memory, unlike those of the fake tensors of tests."""
    return type(x) is Tensor and x.device.type == "cpu"
