"""Values that consist of arrays, tensors and generators: their parts, copies and comparisons."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

SMALLEST = 1e-300  # stands for the largest number of a vector of zeros


@dataclass(frozen=True)
class Numbers:
    """What an array must hold."""

    shape: tuple[int | None, ...]  # None is any length
    least: float = -np.inf
    most: float = np.inf
    positive: bool = False  # whether 0 is too small
    whole: bool = False  # whether the type must be an integer
    infinite: bool = False  # whether numbers may be infinite

    def describe(self, value: Any) -> bool:
        """Return whether a value is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in ("iu" if self.whole else "iuf"):
            return False
        if value.ndim != len(self.shape):
            return False
        if any(wanted not in {None, found} for wanted, found in zip(self.shape, value.shape, strict=True)):
            return False
        allowed = (value >= self.least) & (value <= self.most)
        if not self.infinite:
            allowed &= np.isfinite(value)
        if self.positive:
            allowed &= value > 0
        return bool(allowed.all())

    def __str__(self) -> str:
        of = "whole" if self.whole else "finite"
        if self.infinite:
            of = "any"
        limits = []
        if self.positive:
            limits.append("above 0")
        if np.isfinite(self.least):
            limits.append(f"at least {self.least:g}")
        if np.isfinite(self.most):
            limits.append(f"at most {self.most:g}")
        shape = ", ".join("n" if length is None else str(length) for length in self.shape)
        return " ".join([of, "numbers", f"[{shape}]", " and ".join(limits)]).strip()


def kind(value: Any) -> str:
    """Return what a value is, for messages."""
    if value is None:
        return "None"
    if not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    text = f"an array {list(value.shape)} of {value.dtype}"
    if value.dtype.kind not in "iuf" or not value.size:
        return text
    if not np.isfinite(value).all():
        return f"{text}, not all finite"
    return f"{text} from {value.min():.4g} to {value.max():.4g}"


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, without importing torch."""
    return hasattr(value, "new_tensor")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value that have no parts, each with its path; tensors as arrays."""
    items: Any
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, (tuple, list)):
        yield f"{path}.length", len(value)
        items = enumerate(value)
    elif is_dataclass(value) and not isinstance(value, type):
        items = ((part.name, getattr(value, part.name)) for part in fields(value))
    else:
        yield path, value.detach().numpy() if is_tensor(value) else value
        return
    for name, item in items:
        yield from leaves(item, f"{path}.{name}")


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with each tensor, array and generator replaced by what `change` makes of it."""
    if is_tensor(value) or isinstance(value, (np.ndarray, np.random.Generator)):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(item, change) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [mapped(item, change) for item in value]
        if hasattr(value, "_fields"):  # a named tuple
            return type(value)(*items)
        return type(value)(items)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: mapped(getattr(value, part.name), change) for part in fields(value)})
    return value


def copied(value: Any) -> Any:
    """Return a copy that shares no numbers with a value."""

    def copy_of(item: Any) -> Any:
        # A loss must be differentiable, so the copy of a tensor stays part of its graph.
        return item.clone() if is_tensor(item) else copy.deepcopy(item)

    return mapped(value, copy_of)


def fingerprint(value: Any) -> dict[str, Any]:
    """Return what is equal for equal values; of objects that hold no numbers to compare, their class."""
    found: dict[str, Any] = {}
    for path, leaf in leaves(value):
        if isinstance(leaf, (np.ndarray, np.generic, float)):
            array = np.asarray(leaf)
            found[path] = (str(array.dtype), array.shape, array.tobytes())
        elif isinstance(leaf, (int, str, bytes, type(None))):
            found[path] = leaf
        else:
            found[path] = type(leaf).__name__
    return found


def same(first: Any, second: Any) -> bool:
    """Return whether two values are the same, byte by byte; generators are not compared."""
    return fingerprint(first) == fingerprint(second)


def distance(first: Any, second: Any) -> float | None:
    """Return the largest difference of two values, relative to a vector's largest number; None if shapes differ.

    Equal numbers count as no difference, even infinity and NaN.
    """
    one = dict(leaves(first))
    other = dict(leaves(second))
    if one.keys() != other.keys():
        return None
    largest = 0.0
    for path, value in one.items():
        left = np.asarray(value, dtype=np.float64)
        right = np.asarray(other[path], dtype=np.float64)
        if left.shape != right.shape:
            return None
        unlike = (left != right) & ~(np.isnan(left) & np.isnan(right))
        if not unlike.any():
            continue
        scale = float(np.abs(left[np.isfinite(left)]).max(initial=SMALLEST))
        difference = np.nan_to_num(np.abs(left[unlike] - right[unlike]), nan=np.inf, posinf=np.inf)
        largest = max(largest, float(difference.max()) / scale)
    return largest
