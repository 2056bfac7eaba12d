"""Checks of what members from outside return, where it enters a run.

A wrong number is worse than a missing one: a share above the band or a position that is NaN would only show in results
that look fine. What shipped members return is believed, as their tests have checked it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.plugins import WrongReturn, is_outside, method_place

Bound = float | npt.NDArray[Any]
Shape = tuple[int | None, ...]  # None: any length

REAL_KINDS = "fiu"  # of NumPy's types: floating-point numbers, integers, unsigned integers
WHOLE_KINDS = "iu"
SHOWN = 40  # characters of a value in a message


def is_trusted(maker: object) -> bool:
    """Return whether an object is of a shipped class, so that what it returns need not be checked."""
    return not is_outside(type(maker))


def wrong(maker: object, hook: str, got: str, must: str) -> WrongReturn:
    """Return the error about what a method of a plug-in has returned, to be raised."""
    cls = type(maker)
    return WrongReturn(f"{method_place(cls, hook)}: {cls.__name__}.{hook} returned {got}, must return {must}")


def check_type(maker: object, hook: str, value: object, expected: type, must: str) -> None:
    """Check the type of what a method of a plug-in has returned.

    Raises:
        WrongReturn: it is of another type; `must` says in words what it must be.
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
    """Check an array of numbers that a method of a plug-in has returned; ours are believed.

    Args:
        maker: the plug-in, or what it has made.
        hook: its method.
        value: what that returned.
        shape: that it must have; None in it: any length.
        what: the numbers are, such as "positions [n, 2] in metres".
        least: the least that is allowed.
        most: the most.
        whole: only whole numbers are allowed.

    Raises:
        WrongReturn: it is something else.
    """
    if is_trusted(maker):
        return
    if not isinstance(value, np.ndarray):
        raise wrong(maker, hook, f"a {type(value).__name__}", f"an array: {what}")
    if not _has_shape(value, shape):
        raise wrong(maker, hook, f"an array of shape {list(value.shape)}", f"{what}, here {_shown(shape)}")
    if whole and value.dtype.kind not in WHOLE_KINDS:
        raise wrong(maker, hook, f"an array of {value.dtype}", f"whole numbers: {what}")
    if value.dtype.kind not in REAL_KINDS:
        raise wrong(maker, hook, f"an array of {value.dtype}", f"numbers: {what}")
    # NaN compares as neither below nor above any bound, so it is looked for first.
    if np.isnan(value).any():
        raise wrong(maker, hook, "NaN", what)
    outside = (value < least) | (value > most)
    if outside.any():
        first = value[outside].flat[0]
        raise wrong(maker, hook, f"{first:.6g}", what)


def check_number(maker: object, hook: str, value: Any, what: str, *, least: float = -np.inf) -> None:
    """Check a finite number that a method of a plug-in has returned.

    Raises:
        WrongReturn: it is something else, or below `least`.
    """
    if is_trusted(maker):
        return
    if not _is_number(value) or not np.isfinite(value) or value < least:
        raise wrong(maker, hook, repr(value)[:SHOWN], what)


def check_ids(maker: object, hook: str, value: Any, among: npt.NDArray[np.int64], what: str) -> None:
    """Check ids [n] that a method of a plug-in has returned: each once, and each one of those that it may name.

    Raises:
        WrongReturn: they are something else.
    """
    if is_trusted(maker):
        return
    check_array(maker, hook, value, (None,), what, whole=True)
    strangers = value[~np.isin(value, among)]
    if strangers.size:
        raise wrong(maker, hook, f"{strangers[0]}, which is none of them", what)
    ids, counts = np.unique(value, return_counts=True)
    repeated = ids[counts > 1]
    if repeated.size:
        raise wrong(maker, hook, f"{repeated[0]} twice", what)


def _has_shape(value: npt.NDArray[Any], shape: Shape) -> bool:
    """Return whether an array has a shape, in which None stands for any length."""
    if value.ndim != len(shape):
        return False
    return all(wanted in (None, size) for size, wanted in zip(value.shape, shape, strict=True))


def _shown(shape: Shape) -> list[int | str]:
    """Return a shape as messages show it: "any" in place of None."""
    return ["any" if size is None else size for size in shape]


def _is_number(value: object) -> bool:
    # True and False are integers to Python, and a hook that returns one has returned a test in place of a number.
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
