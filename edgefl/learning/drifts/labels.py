"""Classes that trade places."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, model_validator

from edgefl.core.section import fault_at
from edgefl.learning.datasets.base import Array, Data
from edgefl.learning.drifts.base import Drift

Pair = Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]


class Labels(Drift):
    """Classes trade places, as in FedDrift's experiments (Jothimurugesan et al., AISTATS 2023)."""

    # Pairs of classes that trade places; by default each class c becomes c + 1, and the last one becomes 0.
    swap: Annotated[tuple[Pair, ...], Field(strict=False, min_length=1)] | None = None

    @model_validator(mode="after")
    def _each_class_once(self) -> Labels:
        named = [one for pair in self.swap or () for one in pair]
        for one in named:
            if named.count(one) > 1:
                raise fault_at(("swap",), f"names class {one} twice: name each class once")
        return self

    def refusal(self, data: Data) -> str | None:
        """Return that samples do not have one class each, or which class does not exist; None if neither is so."""
        if not data.one_class_each:
            return "needs samples with one class each: set it to permutation, or leave it out"
        largest = max((one for pair in self.swap or () for one in pair), default=0)
        if largest >= data.classes:
            return f"swaps class {largest}, but classes are 0 to {data.classes - 1}: name two of these"
        return None

    def labels(self, y: Array, classes: int, rng: np.random.Generator) -> Array:
        """Return the classes after the change."""
        after = np.arange(classes)
        if self.swap is None:
            after = (after + 1) % classes
        for one, other in self.swap or ():
            after[[one, other]] = other, one
        return np.asarray(after[y], dtype=y.dtype)
