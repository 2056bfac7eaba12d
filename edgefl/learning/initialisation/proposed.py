"""The mean of earlier models, weighted by how alike the data were that they learned from."""

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

    Two sessions are alike if a few rounds with their devices move one and the same pilot model in a similar way.
    """

    gradient_rounds: Count = 1  # V
    similarity: Annotated[float, Field(ge=0, allow_inf_nan=True)] = 10.0  # R: 0 is the mean, inf the nearest one alone
    distance: Literal["per_tensor_normalised", "global_l2"] = "per_tensor_normalised"  # the program's, or the paper's
    pilot: Literal["simple", "ema"] = "simple"  # over pilot sessions (eq. 16 or 29)
    beta: Annotated[float, Field(ge=0, le=1)] = 0.5  # of ema: 1 is the first pilot session alone, 0 the last
    history: Count | None = None  # how many sessions after the pilots are kept and count, H; all
    retention: Literal["recent", "diverse"] = "recent"  # which: the last ones, or those that differ most

    @model_validator(mode="after")
    def _check_retention(self) -> Proposed:
        if self.retention == "diverse" and self.history is None:
            raise fault_at(("retention",), "diverse chooses which sessions to keep: say how many in history")
        return self

    @property
    def extra_rounds(self) -> int:
        """V."""
        return self.gradient_rounds

    def pilot_blend(self) -> Blend:
        """Return `1 / P` each, or `gamma_1 = beta^(P-1)` and `gamma_s = (1 - beta) beta^(P-s)`."""
        sessions = range(1, self.pilots + 1)
        if self.pilot == "simple":
            return uniform(sessions)
        weights = {}
        for s in sessions:
            factor = 1 if s == 1 else 1 - self.beta
            weights[s] = self.beta ** (self.pilots - s) * factor
        return weights

    def sessions_kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Return the pilot sessions, and those that count."""
        pilots = range(1, min(self.pilots, session - 1) + 1)
        return [*pilots, *self._counting(session, moves, tensors)]

    def stored_vectors(self, session: int) -> int:
        """Return one model a pilot session until there is the pilot model; then that, and two vectors a session."""
        after_pilots = session - self.pilots - 1
        if after_pilots < 0:
            return session - 1
        return 1 + 2 * min(after_pilots, self.history or after_pilots)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return weights `mu_z ~ exp(-R |G_s - G_z|)` ; in a pilot session only the last model."""
        counting = self._counting(session, moves, tensors)
        if not counting:
            return {session - 1: 1.0}
        measure = DISTANCES[self.distance]
        distances = np.array([measure(moves[session], moves[z], tensors) for z in counting])
        farther = distances - distances.min()  # a common factor of all weights, without which they could all underflow
        if self.similarity < np.inf:
            closeness = np.exp(-self.similarity * farther)
        else:
            closeness = np.where(farther > 0, 0.0, 1.0)
        weights = (closeness / closeness.sum()).tolist()
        return dict(zip(counting, weights, strict=True))

    def _counting(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> list[int]:
        """Return H of the sessions that have moves: those that counted in the last session, and that one itself."""
        earlier = sorted(z for z in moves if z < session)
        while self.history and len(earlier) > self.history:
            oldest = earlier[0]
            earlier.remove(oldest if self.retention == "recent" else self._dispensable(earlier, moves, tensors))
        return earlier

    def _dispensable(self, sessions: Sequence[int], moves: Mapping[int, Vector], tensors: Sequence[slice]) -> int:
        """Return the older of the two sessions that are most alike: the newer one has learned more from such data."""
        measure = DISTANCES[self.distance]

        def apart(pair: tuple[int, int]) -> float:
            return measure(moves[pair[0]], moves[pair[1]], tensors)

        older, _ = min(combinations(sessions, 2), key=apart)
        return older


def per_tensor_normalised(a: Vector, b: Vector, tensors: Sequence[slice]) -> float:
    """Return the mean over tensors of `|a/|a| - b/|b||`, which is at most 2 (the paper's program)."""
    return float(np.mean([np.linalg.norm(_unit(a[place]) - _unit(b[place])) for place in tensors]))


def global_l2(a: Vector, b: Vector, tensors: Sequence[slice]) -> float:
    """Return `|a - b|` over all parameters (eq. 18)."""
    return float(np.linalg.norm(a.astype(np.float64) - b))


def _unit(vector: Vector) -> Vector:
    """Return the direction of a vector; zero if it has none."""
    wide = vector.astype(np.float64)
    return np.asarray(wide / (np.linalg.norm(wide) or 1.0))


DISTANCES: dict[str, Callable[[Vector, Vector, Sequence[slice]], float]] = {
    "per_tensor_normalised": per_tensor_normalised,
    "global_l2": global_l2,
}
