"""The base of drifts: when data change, at how many devices, and what the change is.

To write one: a file with a subclass of `Drift` that overrides `inputs` or `labels`, a line in `members.csv`, and a
test. The fields of the class are its keys in the scenario.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.catalogue import Member
from edgefl.core.section import Seconds, fault, fault_at
from edgefl.learning.datasets.base import Array, Data

LaterRound = Annotated[int, Field(ge=2, le=10**9)]


class Drift(Member):
    """Base of all drifts."""

    # Times at which data change, in ascending order; either these or at_round.
    at_s: Annotated[tuple[Seconds, ...], Field(strict=False, min_length=1)] | None = None
    # Rounds before which data change, in ascending order, counted over all sessions.
    at_round: Annotated[tuple[LaterRound, ...], Field(strict=False, min_length=1)] | None = None
    # Share of the devices whose data change, drawn again at each of these times.
    share: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _times_ascend(self) -> Drift:
        if (self.at_s is None) == (self.at_round is None):
            raise fault("needs either at_s: [3600] or at_round: [50]: give exactly one of them")
        for key in ("at_s", "at_round"):
            for before, after in pairwise(getattr(self, key) or ()):
                if after <= before:
                    raise fault_at((key,), f"must ascend, got {after} after {before}")
        return self

    @property
    def changes(self) -> int:
        """How often data change."""
        return len(self.at_s or self.at_round or ())

    @property
    def changes_labels(self) -> bool:
        """Whether labels change: whether `labels` is overridden."""
        return type(self).labels is not Drift.labels

    def refusal(self, data: Data) -> str | None:
        """Return why the samples of a dataset cannot change in this way, with a remedy; None if they can."""
        return None

    def inputs(self, x: Array, rng: np.random.Generator) -> Array:
        """Return samples x [n, ...] of a concept as the next concept has them: a new array of the same shape and type.

        The generator `rng` gives the same draws for all samples of a concept.
        """
        return x

    def labels(self, y: Array, classes: int, rng: np.random.Generator) -> Array:
        """Return labels y [n] of a concept, from 0 to `classes` - 1, as the next concept has them; `rng` as above."""
        return y
