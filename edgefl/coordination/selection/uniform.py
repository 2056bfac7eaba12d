"""Uniform selection."""

import numpy as np

from edgefl.coordination.selection.base import Selection, draws
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams

MANY_DEVICES = 2**16  # from here on, a draw for each device and sorting them takes longer than all else in a round


class UniformSelection(Selection):
    """A fixed number, uniform without replacement, in random order (McMahan et al., AISTATS 2017)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices with the smallest of numbers that each draws by its own key.

        Among very many devices, the round draws the participants instead.
        """
        if len(present) > MANY_DEVICES:
            return streams.generator("selection", 1, index).choice(present, participants, replace=False)
        order = np.argsort(draws(present, index, streams), kind="stable")
        return present[order[:participants]]
