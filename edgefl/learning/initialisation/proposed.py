"""The mean of what was learned from similar data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.section import Count, fault_at
from edgefl.learning.initialisation.base import Blend, Initialisation, Vector, uniform


class Proposed(Initialisation):
    """Earlier sessions' models, weighted by how alike data are (dynamic-devices paper, algorithm 1, eq. 16-18).

    The likeness of two sessions is that of what a few rounds with their devices make of one and the same pilot model.
    """

    gradient_rounds: Count = 1  # V
    similarity: Annotated[float, Field(ge=0, allow_inf_nan=True)] = 10.0  # R: 0 is the mean, inf the nearest one alone
    distance: Literal["per_tensor_normalised", "global_l2"] = "per_tensor_normalised"  # the program's, or the paper's
    pilot: Literal["simple", "ema"] = "simple"  # over pilot sessions (eq. 16 or 29)
    beta: Annotated[float, Field(ge=0, le=1)] = 0.5  # of ema: 1 is the first pilot session alone, 0 the last
    history: Count | None = None  # how many sessions after the pilots are kept and count, H; all
    retention: Literal["recent", "diverse"] = "recent"  # which: the last ones, or those that differ most

    @model_validator(mode="after")
    def _some_to_leave_out(self) -> Proposed:
        if self.retention == "diverse" and self.history is None:
            raise fault_at(("retention",), "diverse chooses whom to keep: say how many in history")
        return self

    @property
    def extra_rounds(self) -> int:
        """V."""
        return self.gradient_rounds

    def pilot_blend(self) -> Blend:
        """1 / P each, or gamma_1 = beta^(P-1) and gamma_s = (1 - beta) beta^(P-s)."""
        if self.pilot == "simple":
            return uniform(range(1, self.pilots + 1))
        decays = {s: self.beta ** (self.pilots - s) for s in range(1, self.pilots + 1)}
        return {s: decay * (1 if s == 1 else 1 - self.beta) for s, decay in decays.items()}

    def kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """The pilot sessions, and those that count."""
        pilots = range(1, min(self.pilots, session - 1) + 1)
        return [*pilots, *self._counting(session, moves, tensors)]

    def stored(self, session: int) -> int:
        """Pilot sessions' models until there is the pilot model; then that, and a model and a move a session."""
        after = session - self.pilots - 1
        return session - 1 if after < 0 else 1 + 2 * min(after, self.history or after)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """mu_z ~ exp(-R |G_s - G_z|); in a pilot session the last model alone."""
        if not (counting := self._counting(session, moves, tensors)):
            return {session - 1: 1.0}
        distance = DISTANCES[self.distance]
        distances = np.array([distance(moves[session], moves[z], tensors) for z in counting])
        farther = distances - distances.min()
        closeness = np.exp(-self.similarity * farther) if self.similarity < np.inf else np.where(farther > 0, 0.0, 1.0)
        return dict(zip(counting, (closeness / closeness.sum()).tolist(), strict=True))

    def _counting(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> list[int]:
        """H of the sessions that have moves: those that counted in the last session, and that one itself."""
        earlier = sorted(z for z in moves if z < session)
        while self.history and len(earlier) > self.history:
            earlier.remove(earlier[0] if self.retention == "recent" else self._dispensable(earlier, moves, tensors))
        return earlier

    def _dispensable(self, sessions: Sequence[int], moves: Mapping[int, Vector], tensors: Sequence[slice]) -> int:
        """The older of the two that are most alike: the newer one has learned more from such data."""
        distance = DISTANCES[self.distance]
        alike = min(combinations(sessions, 2), key=lambda pair: distance(moves[pair[0]], moves[pair[1]], tensors))
        return alike[0]


def per_tensor_normalised(a: Vector, b: Vector, tensors: Sequence[slice]) -> float:
    """The mean over tensors of |a/|a| - b/|b||, which is at most 2 (the paper's program)."""
    return float(np.mean([np.linalg.norm(_unit(a[part]) - _unit(b[part])) for part in tensors]))


def global_l2(a: Vector, b: Vector, tensors: Sequence[slice]) -> float:
    """|a - b| over all parameters (eq. 18)."""
    return float(np.linalg.norm(a.astype(np.float64) - b))


def _unit(vector: Vector) -> Vector:
    """The direction of a vector; zero where it has none."""
    wide = vector.astype(np.float64)
    return np.asarray(wide / (np.linalg.norm(wide) or 1.0))


DISTANCES: dict[str, Callable[[Vector, Vector, Sequence[slice]], float]] = {
    "per_tensor_normalised": per_tensor_normalised,
    "global_l2": global_l2,
}
