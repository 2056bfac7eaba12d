"""Variants of an algorithm: a key such as `variant` chooses a subclass, which has the same keys and other hooks."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

from edgefl.core.section import fault
from edgefl.learning.algorithms.base import Algorithm

A = TypeVar("A", bound=Algorithm)


def become_variant(algorithm: A, path: str) -> A:
    """Return a freshly validated algorithm as an instance of the subclass at "module:Class".

    Raises:
        ValidationError: the algorithm is of a subclass of its own, which has not got the variant's hooks.
    """
    module, _, name = path.partition(":")
    variant: type[A] = getattr(import_module(module), name)
    if isinstance(algorithm, variant):
        return algorithm
    if type(algorithm) is not variant.listed_as:
        raise fault(f"{type(algorithm).__name__} has other hooks than this variant: derive it from {name}")
    # A variant has the same fields, and they are valid by now; only the hooks differ, so only the class has to change.
    # Pydantic warns of a validator that returns another object, and both `model_validate` and `Class()` come by here.
    object.__setattr__(algorithm, "__class__", variant)
    return algorithm
