"""What a selection is: who takes part in a round, from what a server can know."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member
from edgefl.streams import Streams

Ids = npt.NDArray[np.int64]


class Selection(Member):
    """Base of all selections."""

    def check(self, count: int) -> str | None:
        """Why this selection cannot work with `count` devices; None if it can."""
        return None

    def expected(self, participants: int, present: float) -> float:
        """Participants of a round that are to be expected where so many devices are there on average."""
        return min(participants, present)

    def choose(self, present: Ids, participants: int, index: int, streams: Streams) -> Ids:
        """The ids of round `index`'s participants, in order (sequential protocols walk in that order).

        Args:
            present: [n] ids of the devices in the cell.
            participants: how many the scenario asks for.
            index: the round, from 0.
            streams: keyed randomness.
        """
        raise NotImplementedError
