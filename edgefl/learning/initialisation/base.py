"""What an initialisation is: how the models that are there blend into the one that a session starts from.

A blend is the weight of each model, by the session that ended with it; 0 is the model of the very beginning.
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

    adds_server_state: ClassVar[bool] = (
        False  # whether each session's server begins with more than the algorithm's state
    )

    pilots: Count = 1  # sessions of ordinary training before the strategy begins, P
    after_pilots: Literal["previous", "initial"] = "previous"  # what session P + 1 starts from, whatever the strategy

    def around(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm with what the strategy adds to it."""
        return algorithm

    @property
    def extra_rounds(self) -> int:
        """Rounds before each session's first one, beginning with session P + 1."""
        return 0

    def pilot_blend(self) -> Blend:
        """The model that those rounds start from."""
        return {}

    def kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Whose models the server keeps in a session, beside the one of the session before; arguments as in `start`."""
        return ()

    def stored(self, session: int) -> int:
        """Vectors of the model's size that the server keeps in a session, besides what the algorithm does."""
        return 0

    def start(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """What a session starts from, from the second one on.

        Args:
            session: the one that begins.
            moves: [d] what the extra rounds made of the pilot model, less that model, by session; this one's too.
            tensors: where the model's weight tensors lie in a vector.
        """
        if session == self.pilots + 1:
            return INITIAL if self.after_pilots == "initial" else {session - 1: 1.0}
        return self.blend(session, moves, tensors)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """As `start`, in all other sessions."""
        raise NotImplementedError


def uniform(sessions: Sequence[int]) -> Blend:
    """The mean of the models of some sessions."""
    return dict.fromkeys(sessions, 1 / len(sessions))
