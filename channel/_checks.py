"""Input checks: a number out of range is an error that says which quantity, which value and which range."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def require(valid: NDArray[np.bool_], values: NDArray[np.generic], quantity: str, valid_range: str) -> None:
    """Raise ValueError with the first of `values` that is not `valid`."""
    if not np.all(valid):
        raise ValueError(f"{quantity} = {values[~valid][0]} is out of range: it must be {valid_range}")


def within(quantity: str, values: ArrayLike, low: float, high: float, rel_tolerance: float = 0.0) -> Floats:
    """`values` as floats, all in [low, high] up to a relative tolerance at the borders; NaN is never in."""
    array = np.asarray(values, dtype=np.float64)
    slack_low, slack_high = abs(low) * rel_tolerance, abs(high) * rel_tolerance
    require((array >= low - slack_low) & (array <= high + slack_high), array, quantity, f"from {low:g} to {high:g}")
    return array


def vectors(*columns: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Arguments of n transfers as arrays [n]; scalars are the same for all."""
    arrays = np.broadcast_arrays(*map(np.atleast_1d, columns))
    if arrays[0].ndim != 1:
        raise ValueError(f"transfers must form a vector, but the arguments have shape {arrays[0].shape}")
    return tuple(arrays)


def positive(quantity: str, values: ArrayLike) -> Floats:
    """`values` as floats, all finite and above zero."""
    array = np.asarray(values, dtype=np.float64)
    require((array > 0) & (array < np.inf), array, quantity, "finite and above 0")
    return array


def non_negative(quantity: str, values: ArrayLike) -> Floats:
    """`values` as floats, all finite and not below zero."""
    array = np.asarray(values, dtype=np.float64)
    require((array >= 0) & (array < np.inf), array, quantity, "finite and not below 0")
    return array
