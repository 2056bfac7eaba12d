"""Checks of the values that members from outside return to a run.

A wrong number is worse than a missing one: with a share above the band or a NaN position, results would still look
plausible. Shipped members are trusted, as tests have checked them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.plugins import WrongReturn, is_outside, method_place

Bound = float | npt.NDArray[Any]
Shape = tuple[int | None, ...]  # None: any length

REAL_KINDS = "fiu"  # of NumPy's types: floats, integers, unsigned integers
WHOLE_KINDS = "iu"
SHOWN = 40  # characters of a value in a message


def is_trusted(maker: object) -> bool:
    """Return whether an object is of a shipped class, whose return values are not checked."""
    return not is_outside(type(maker))


def wrong(maker: object, hook: str, got: str, must: str) -> WrongReturn:
    """Return the error about a wrong value that a method of a plug-in returned, to be raised."""
    cls = type(maker)
    return WrongReturn(f"{method_place(cls, hook)}: {cls.__name__}.{hook} returned {got}, must return {must}")


def check_type(maker: object, hook: str, value: object, expected: type, must: str) -> None:
    """Check the type of a value that a method of a plug-in returned.

    Raises:
        WrongReturn: it has another type; `must` describes the right one.
    """
    if is_trusted(maker) or isinstance(value, expected):
        return
    raise wrong(maker, hook, f"a {type(value).__name__}", must)


def check_array(
    maker: object,
    hook: str,
    value: Any,
    shape: Shape,
    what: str,
    *,
    least: Bound = -np.inf,
    most: Bound = np.inf,
    whole: bool = False,
) -> None:
    """Check an array of numbers that a method of a plug-in returned.

    Args:
        maker: the plug-in, or an object that it has made.
        hook: its method.
        value: the returned value.
        shape: the required shape; None in it: any length.
        what: a description of the numbers, such as "positions [n, 2] in metres".
        least: the lower bound.
        most: the upper bound.
        whole: whether only whole numbers are allowed.

    Raises:
        WrongReturn: the value is something else.
    """
    if is_trusted(maker):
        return
    if not isinstance(value, np.ndarray):
        raise wrong(maker, hook, f"a {type(value).__name__}", f"an array: {what}")
    sizes = tuple(None if wanted is None else size for size, wanted in zip(value.shape, shape, strict=False))
    if value.ndim != len(shape) or sizes != shape:
        shown = ["any" if size is None else size for size in shape]
        raise wrong(maker, hook, f"an array of shape {list(value.shape)}", f"{what}, here {shown}")
    if whole and value.dtype.kind not in WHOLE_KINDS:
        raise wrong(maker, hook, f"an array of {value.dtype}", f"whole numbers: {what}")
    if value.dtype.kind not in REAL_KINDS:
        raise wrong(maker, hook, f"an array of {value.dtype}", f"numbers: {what}")
    # NaN is neither below nor above any bound.
    if np.isnan(value).any():
        raise wrong(maker, hook, "NaN", what)
    outside = (value < least) | (value > most)
    if outside.any():
        first = value[outside].flat[0]
        raise wrong(maker, hook, f"{first:.6g}", what)


def check_number(maker: object, hook: str, value: Any, what: str, *, least: float = -np.inf) -> None:
    """Check a finite number that a method of a plug-in returned.

    Raises:
        WrongReturn: the value is something else, or below `least`.
    """
    if is_trusted(maker):
        return
    if not _is_number(value) or not np.isfinite(value) or value < least:
        raise wrong(maker, hook, repr(value)[:SHOWN], what)


def check_ids(maker: object, hook: str, value: Any, among: npt.NDArray[np.int64], what: str) -> None:
    """Check ids [n] that a method of a plug-in returned: distinct, and `among` the allowed ones.

    Raises:
        WrongReturn: they are not.
    """
    if is_trusted(maker):
        return
    check_array(maker, hook, value, (None,), what, whole=True)
    others = value[~np.isin(value, among)]
    if others.size:
        raise wrong(maker, hook, f"{others[0]}, which is none of them", what)
    ids, counts = np.unique(value, return_counts=True)
    repeated = ids[counts > 1]
    if repeated.size:
        raise wrong(maker, hook, f"{repeated[0]} twice", what)


def _is_number(value: object) -> bool:
    # True and False are integers to Python, but a hook that returns one has returned the result of a test.
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
