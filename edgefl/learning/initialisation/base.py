"""Strategies for the model that a session starts from: how the models of earlier sessions are blended.

A blend gives each model a weight, keyed by the session that ended with the model; key 0 is the run's initial model.
"""

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

    # True if the server begins each session with more than the algorithm's state.
    adds_server_state: ClassVar[bool] = False

    pilots: Count = 1  # Sessions of ordinary training before the strategy begins, P.
    after_pilots: Literal["previous", "initial"] = "previous"  # The first model of session P + 1.

    def wrap(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm, wrapped in what the strategy adds to it."""
        return algorithm

    @property
    def extra_rounds(self) -> int:
        """Number of rounds that precede the first round of each session, from session P + 1 on."""
        return 0

    def extra_participants(self, present: int) -> int:
        """Return how many of the devices that are `present` take part in the extra rounds; by default all."""
        return present

    def begins_from_zeros(self, session: int) -> bool:
        """Return whether a session gets zeros instead of the last session's model, for example as its teacher."""
        return False

    def pilot_blend(self) -> Blend:
        """Return the blend that the extra rounds start from: the pilot model."""
        return {}

    def sessions_kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Return the sessions whose models the server keeps besides the last one's; arguments as in `start`."""
        return ()

    def stored_vectors(self, session: int) -> int:
        """Return how many vectors of the model's size the server keeps in a session, besides the algorithm's."""
        return 0

    def start(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the blend that a session starts from, from the second session on.

        The `moves` say how far [d] the extra rounds moved the pilot model in each session so far, this one included;
        `tensors` are the places of the model's weight tensors in a vector.
        """
        if session == self.pilots + 1:
            if self.after_pilots == "initial":
                return INITIAL
            return {session - 1: 1.0}
        return self.blend(session, moves, tensors)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the blend that a session other than P + 1 starts from; arguments as in `start`."""
        raise NotImplementedError


def uniform(sessions: Sequence[int]) -> Blend:
    """Return the blend that is the mean of some sessions' models."""
    return dict.fromkeys(sessions, 1 / len(sessions))
