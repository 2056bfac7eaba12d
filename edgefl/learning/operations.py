"""Arithmetic operations of an algorithm's hook `correct`, counted while it runs on zeros.

An element-wise operation counts 1 for each element of its result, whichever function of NumPy or torch it is: `clamp`,
`sign` and `where` of d elements count d. The module `torch_operations` counts torch's other functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.trial import first_round, uses_torch

if TYPE_CHECKING:
    from torch import Tensor


def correction_operations(algorithm: Algorithm, d: int) -> int:
    """Return the operations of the hook `correct` on d parameters."""
    if uses_torch(algorithm):
        return counted_by_torch(algorithm, d)
    return counted_by_numpy(algorithm, d)


def counted_by_numpy(algorithm: Algorithm, d: int) -> int:
    """Return the operations, counted on NumPy arrays: without torch, but only for element-wise arithmetic."""
    sizes: list[int] = []

    class CountingArray(np.ndarray[Any, Any]):
        """An array that records the size of each element-wise result."""

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
            # On plain arrays, as the operation would come back here for ever otherwise.
            result = np.asarray(getattr(ufunc, method)(*map(np.asarray, inputs), **options))
            sizes.append(result.size)
            return result.view(CountingArray)

    w = cast("Tensor", np.zeros(d, dtype=np.float32).view(CountingArray))
    local = first_round(algorithm, w)
    sizes.clear()  # the hooks that made `local` have been counted as well
    algorithm.correct(w, w, local)
    return sum(sizes)


def counted_by_torch(algorithm: Algorithm, d: int) -> int:
    """Return the operations, counted on torch tensors: the hook may call any function of torch."""
    import torch

    from edgefl.learning.torch_operations import OperationCounter

    w = torch.zeros(d)
    local = first_round(algorithm, w)
    with OperationCounter() as counter:
        algorithm.correct(torch.zeros(d), w, local)
    return int(counter.operations)
