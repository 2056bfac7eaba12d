"""Values that consist of tensors (contexts, updates, mappings, sequences): their copies and comparisons."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgefl.learning.algorithms import Batch, ForwardPass, LocalContext, Updates
from edgefl.testing.calls import fingerprint

SMALLEST = 1e-300  # in place of 0 as the largest number of a vector


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with each tensor, array and generator replaced by what `change` makes of it."""
    if isinstance(value, (Tensor, np.ndarray, np.random.Generator)):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(item, change) for name, item in value.items()}
    if isinstance(value, (ForwardPass, Batch)):
        return type(value)(*(mapped(item, change) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(item, change) for item in value)
    if isinstance(value, (LocalContext, Updates)):
        return replace(value, **{name: mapped(item, change) for name, item in _parts(value)})
    return value


def copied(value: Any) -> Any:
    """Return a copy that shares no memory with a value."""
    # A loss must be differentiable, so the copy of a tensor stays part of its graph.
    return mapped(value, lambda item: item.clone() if isinstance(item, Tensor) else copy.deepcopy(item))


def tensors(value: Any) -> list[Tensor]:
    """Return all tensors in a value."""
    return [item for _, item in leaves(value) if isinstance(item, Tensor)]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value, each with its path."""
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from leaves(value[name], f"{path}.{name}")
    elif isinstance(value, (tuple, list)):
        yield f"{path}.length", len(value)
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}.{place}")
    elif isinstance(value, (LocalContext, Updates)):
        for name, item in _parts(value):
            yield from leaves(item, f"{path}.{name}")
    else:
        yield path, value


def same(first: Any, second: Any) -> bool:
    """Return whether two values are the same, byte by byte; generators are not compared."""
    return bool(fingerprint(first) == fingerprint(second))


def distance(first: Any, second: Any) -> float | None:
    """Return the largest difference of two values, in parts of a vector's largest number; None if shapes differ.

    Equal numbers count as no difference, even infinity and NaN.
    """
    one = dict(leaves(first))
    other = dict(leaves(second))
    if one.keys() != other.keys():
        return None
    largest = 0.0
    for path, value in one.items():
        difference = _vector_distance(torch.as_tensor(value), torch.as_tensor(other[path]))
        if difference is None:
            return None
        largest = max(largest, difference)
    return largest


def _vector_distance(one: Tensor, other: Tensor) -> float | None:
    if one.shape != other.shape:
        return None
    unlike = (one != other) & ~(one.isnan() & other.isnan())
    if not bool(unlike.any()):
        return 0.0
    sizes = one.double().abs()
    scale = float(torch.where(sizes.isfinite(), sizes, 0.0).max())
    difference = (one.double() - other.double()).abs()[unlike].max()
    if not bool(difference.isfinite()):
        return float("inf")
    return float(difference) / max(scale, SMALLEST)


def _parts(value: LocalContext | Updates) -> list[tuple[str, Any]]:
    """Return the fields of a context or of updates, except the facts that all rounds share."""
    return [(item.name, getattr(value, item.name)) for item in fields(value) if item.name != "run"]
