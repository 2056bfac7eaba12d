"""Variants of an algorithm: a key such as `variant` chooses a subclass, which has the same keys and other hooks."""

from importlib import import_module
from typing import TypeVar

from edgefl.core.section import fault
from edgefl.learning.algorithms.base import Algorithm

A = TypeVar("A", bound=Algorithm)


def become_variant(algorithm: A, path: str) -> A:
    """Return a freshly validated algorithm as an instance of the subclass at "module:Class".

    Raises:
        ValidationError: the algorithm is of another subclass, which lacks the variant's hooks.
    """
    module, _, name = path.partition(":")
    variant: type[A] = getattr(import_module(module), name)
    if isinstance(algorithm, variant):
        return algorithm
    if type(algorithm) is not variant.listed_as:
        raise fault(f"{type(algorithm).__name__} has other hooks than this variant: derive it from {name}")
    # A variant has the same fields, which are valid by now. Only the hooks differ, so it is enough to change the class.
    # A new object would not do: both `model_validate` and `Class()` call this from a validator, and pydantic warns if a
    # validator returns another object than its own.
    object.__setattr__(algorithm, "__class__", variant)
    return algorithm
