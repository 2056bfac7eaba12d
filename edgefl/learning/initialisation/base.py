"""Strategies for the model that a session starts from: how the models of earlier sessions are blended.

A blend is the weight of each model, by the session that ended with it; 0 is the initial model of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from edgefl.core.catalogue import Member
from edgefl.core.section import Count
from edgefl.learning.algorithms import Algorithm

Vector = npt.NDArray[np.floating]
Blend = dict[int, float]
INITIAL: Blend = {0: 1.0}


class Initialisation(Member):
    """Base of all strategies; sessions count from 1."""

    # Whether each session's server begins with more than the algorithm's state.
    adds_server_state: ClassVar[bool] = False

    pilots: Count = 1  # sessions of ordinary training before the strategy begins, P
    after_pilots: Literal["previous", "initial"] = "previous"  # what session P + 1 starts from, whatever the strategy

    def wrap(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm with what the strategy adds to it."""
        return algorithm

    @property
    def extra_rounds(self) -> int:
        """Rounds before each session's first one, beginning with session P + 1."""
        return 0

    def pilot_blend(self) -> Blend:
        """Return the blend that those rounds start from: the pilot model."""
        return {}

    def sessions_kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Return the sessions whose models the server keeps, beside the last one's; arguments as in `start`."""
        return ()

    def stored_vectors(self, session: int) -> int:
        """Return how many vectors of the model's size the server keeps in a session, besides the algorithm's."""
        return 0

    def start(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the blend that a session starts from, from the second session on.

        Args:
            session: the one that begins.
            moves: [d] how far the extra rounds moved the pilot model, by session; this one's too.
            tensors: where the model's weight tensors lie in a vector.
        """
        if session == self.pilots + 1:
            return INITIAL if self.after_pilots == "initial" else {session - 1: 1.0}
        return self.blend(session, moves, tensors)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the same for all sessions but P + 1."""
        raise NotImplementedError


def uniform(sessions: Sequence[int]) -> Blend:
    """Return the mean of the models of some sessions."""
    return dict.fromkeys(sessions, 1 / len(sessions))
