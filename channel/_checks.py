"""Checks of arguments: the error of a number out of range names the quantity, the value and the range."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._arrays import Bools, Floats

BORDER = 1e-9  # relative: a square root may return slightly less than 10 m, which still counts as 10 m


def require(valid: Bools, values: NDArray[np.generic], quantity: str, valid_range: str) -> None:
    """Raise ValueError with the first of `values` that is not `valid`."""
    if not valid.all():  # np.all takes three times as long on short arrays
        raise _out_of_range(valid, values, quantity, valid_range)


def _out_of_range(valid: Bools, values: NDArray[np.generic], quantity: str, valid_range: str) -> ValueError:
    return ValueError(f"{quantity} = {values[~valid][0]} is out of range: it must be {valid_range}")


# Every price passes the checks below. They call `all` directly, as another function call would double their time.


def within(quantity: str, values: ArrayLike, low: float, high: float, rel_tolerance: float = 0.0) -> Floats:
    """Return `values` as floats, all in [low, high] up to a relative tolerance at the borders; refuse NaN."""
    array = np.asarray(values, dtype=np.float64)
    # A relative tolerance leaves borders at 0 and infinity unchanged.
    lowest = low - abs(low) * rel_tolerance
    highest = high + abs(high) * rel_tolerance
    valid = (array >= lowest) & (array <= highest)
    if not valid.all():
        raise _out_of_range(valid, array, quantity, f"from {low:g} to {high:g}")
    return array


def positive(quantity: str, values: ArrayLike) -> Floats:
    """Return `values` as floats, all finite and above zero."""
    # NaN fails, too: every comparison with it is false.
    array = np.asarray(values, dtype=np.float64)
    valid = (array > 0) & (array < np.inf)
    if not valid.all():
        raise _out_of_range(valid, array, quantity, "finite and above 0")
    return array


def non_negative(quantity: str, values: ArrayLike) -> Floats:
    """Return `values` as floats, all finite and not below zero."""
    array = np.asarray(values, dtype=np.float64)
    valid = (array >= 0) & (array < np.inf)
    if not valid.all():
        raise _out_of_range(valid, array, quantity, "finite and not below 0")
    return array


def finite(quantity: str, values: ArrayLike) -> Floats:
    """Return `values` as floats, all finite."""
    array = np.asarray(values, dtype=np.float64)
    require(np.isfinite(array), array, quantity, "finite")
    return array


def pairs(quantity: str, values: ArrayLike) -> Floats:
    """Return uniform draws [..., 2] as floats, all in [0, 1]."""
    draws = within(quantity, values, 0.0, 1.0)
    if draws.shape[-1:] != (2,):
        raise ValueError(f"{quantity} must hold two draws in its last axis: its shape is {draws.shape}, not [..., 2]")
    return draws


def ricean_k(values: ArrayLike) -> Floats:
    """Return Ricean factors as floats, none below zero; infinity stands for a channel without scatter."""
    k = np.asarray(values, dtype=np.float64)
    require(k >= 0, k, "k_factor", "not below 0")
    return k


def boolean(quantity: str, values: ArrayLike) -> Bools:
    """Return `values`, which must be booleans: a probability would silently count as true."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(f"{quantity} must be boolean, not {array.dtype}: compare a probability with a draw first")
    return array


def vectors(*columns: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Return the arguments of n transfers as arrays [n]; a scalar holds for all."""
    # Views, not copies: a scalar argument of a million transfers costs nothing.
    arrays = np.broadcast_arrays(*[np.atleast_1d(column) for column in columns])
    if arrays[0].ndim != 1:
        raise ValueError(
            f"transfers must form a vector, but the arguments have shape {arrays[0].shape}: "
            "give each a scalar or one value a transfer"
        )
    return tuple(arrays)


def one_each(quantity: str, values: Floats, count: int | None = None) -> Floats:
    """Return `values` after checking that their shape is [count], or [n] with n > 0 if no count is given."""
    if count is None:
        right = values.ndim == 1 and values.size > 0
        wanted = "one number a transfer, of at least one"
    else:
        right = values.ndim == 1 and values.size == count
        wanted = f"{count} numbers, one a transfer"
    if not right:
        raise ValueError(f"{quantity} of shape {values.shape} must hold {wanted}")
    return values
