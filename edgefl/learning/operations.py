"""Arithmetic operations of an algorithm's hook `correct`, counted while it runs on zeros.

An element-wise operation counts 1 for each element of its result, whichever function of NumPy or torch it is: `clamp`,
`sign` and `where` of d elements count d. The module `torch_operations` counts torch's other functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from edgefl.core.errors import InputError
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.hook_errors import place
from edgefl.learning.algorithms.trial import first_round, uses_torch

if TYPE_CHECKING:
    from torch import Tensor


MOST = 1_001  # parameters on which operations are counted: a product of all pairs still fits into the memory
STEEPER = 1.1  # operations for each parameter that grow by more than this factor are not linear


def correction_per_parameter(algorithm: Algorithm, d: int) -> float:
    """Return the operations of the hook `correct` for each of d parameters, without those on scalars.

    Raises:
        InputError: they grow faster than the number of parameters, so that a small trial cannot tell their number.
    """
    once = correction_operations(algorithm, 1)
    if not uses_torch(algorithm) or d <= 2:
        return correction_operations(algorithm, 2) - once
    # A hook from outside may treat a part of the parameters only, or each pair of them.
    many = min(d, MOST)
    slope = (correction_operations(algorithm, many) - once) / (many - 1)
    half = many // 2 + 1
    slope_of_half = (correction_operations(algorithm, half) - once) / (half - 1)
    if d > MOST and slope > STEEPER * slope_of_half:
        name = f"{type(algorithm).__name__}.correct"
        text = f"takes {slope_of_half:.4g} operations for each of {half} parameters, and {slope:.4g} for each of {many}"
        remedy = "their number for a whole model is not known, and it would be large: let it grow with the model only"
        raise InputError(f"{place(algorithm, 'correct')}: algorithm: {name} {text}: {remedy}")
    return slope


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
