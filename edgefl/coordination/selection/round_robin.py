"""Round robin."""

import numpy as np

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class RoundRobin(Selection):
    """By id, continuing after the device selected last; absent devices are skipped (Yang et al., TCOM 2020)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the next devices after the one that was asked last."""
        first = int(np.searchsorted(present, view.last_asked, side="right"))
        return np.roll(present, -first)[:participants]
