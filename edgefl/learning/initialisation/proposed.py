"""The mean of earlier sessions' models, weighted by how similar their data were to this session's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.section import Count, fault_at
from edgefl.learning.initialisation.base import Blend, Initialisation, Vector, uniform


class Proposed(Initialisation):
    """Earlier sessions' models, weighted by the similarity of data (dynamic-devices paper, algorithm 1, eq. 16-18).

    Two sessions are similar if a few rounds with their devices move the same pilot model similarly.
    """

    gradient_rounds: Count = 1  # Extra rounds at the beginning of a session, V.
    # Number of devices that take part in these rounds, the size of A_grad; by default all.
    gradient_devices: Count | None = None
    # Weight of near models, R; 0 takes the plain mean, inf only the nearest.
    similarity: Annotated[float, Field(ge=0, allow_inf_nan=True)] = 10.0
    # The distance between models, as in the program (per_tensor_normalised) or as in the paper.
    distance: Literal["per_tensor_normalised", "global_l2"] = "per_tensor_normalised"
    # Mean over the pilot sessions (simple, eq. 16), or a moving one (ema, eq. 29).
    pilot: Literal["simple", "ema"] = "simple"
    # Weight of the moving mean; 1 is only the first pilot session, 0 only the last.
    beta: Annotated[float, Field(ge=0, le=1)] = 0.5
    history: Count | None = None  # Number of sessions after the pilots that are kept and count, H; by default all.
    # Whether the last H sessions are kept, or the H that differ most (diverse).
    retention: Literal["recent", "diverse"] = "recent"

    @model_validator(mode="after")
    def _check_retention(self) -> Proposed:
        if self.retention == "diverse" and self.history is None:
            raise fault_at(("retention",), "diverse chooses which sessions to keep: say how many in history")
        return self

    @property
    def extra_rounds(self) -> int:
        """Number of rounds V that precede the first round of each session, from session P + 1 on."""
        return self.gradient_rounds

    def extra_participants(self, present: int) -> int:
        """Return the size of A_grad, which is sampled from the session's devices (algorithm 1, line 17)."""
        return min(self.gradient_devices or present, present)

    def pilot_blend(self) -> Blend:
        """Return weights `1 / P` (simple), or `gamma_1 = beta^(P-1)` and `gamma_s = (1 - beta) beta^(P-s)` (ema)."""
        sessions = range(1, self.pilots + 1)
        if self.pilot == "simple":
            return uniform(sessions)
        weights = {}
        for s in sessions:
            weights[s] = self.beta ** (self.pilots - s)
            if s > 1:  # the moving mean begins with the first session's model, at full weight
                weights[s] *= 1 - self.beta
        return weights

    def sessions_kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Return the pilot sessions, and those that count."""
        pilots = range(1, min(self.pilots, session - 1) + 1)
        return [*pilots, *self._counting(session, moves, tensors)]

    def stored_vectors(self, session: int) -> int:
        """Return the number of models of pilot sessions; after these, 1 for the pilot model and 2 for each session."""
        # Of each session that counts the server keeps the model and the move of the extra rounds.
        after_pilots = session - self.pilots - 1
        if after_pilots < 0:
            return session - 1
        return 1 + 2 * min(after_pilots, self.history or after_pilots)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return weights in proportion to `exp(-R |G_s - G_z|)`; in a pilot session only the last model.

        Here s is this session, z an earlier one and G the move of the extra rounds.
        """
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
        """Return the earlier sessions that count, at most H: all that have moves, less those that are dropped."""
        earlier = sorted(z for z in moves if z < session)
        while self.history and len(earlier) > self.history:
            dropped = earlier[0]
            if self.retention == "diverse":
                dropped = self._dispensable(earlier, moves, tensors)
            earlier.remove(dropped)
        return earlier

    def _dispensable(self, sessions: Sequence[int], moves: Mapping[int, Vector], tensors: Sequence[slice]) -> int:
        """Return the older of the two most similar sessions: the newer model has learned more from data like theirs."""
        measure = DISTANCES[self.distance]

        def apart(pair: tuple[int, int]) -> float:
            return measure(moves[pair[0]], moves[pair[1]], tensors)

        older, _ = min(combinations(sessions, 2), key=apart)
        return older


def per_tensor_normalised(a: Vector, b: Vector, tensors: Sequence[slice]) -> float:
    """Return the mean over tensors of `|a/|a| - b/|b||`, which is at most 2 (the paper's program)."""
    # The norm of one tensor may be many times another's: each tensor's direction counts the same.
    return float(np.mean([np.linalg.norm(_unit(a[place]) - _unit(b[place])) for place in tensors]))


def global_l2(a: Vector, b: Vector, tensors: Sequence[slice]) -> float:
    """Return `|a - b|` over all parameters (eq. 18)."""
    return float(np.linalg.norm(a.astype(np.float64) - b))


def _unit(vector: Vector) -> Vector:
    wide = vector.astype(np.float64)
    return np.asarray(wide / (np.linalg.norm(wide) or 1.0))


DISTANCES: dict[str, Callable[[Vector, Vector, Sequence[slice]], float]] = {
    "per_tensor_normalised": per_tensor_normalised,
    "global_l2": global_l2,
}
