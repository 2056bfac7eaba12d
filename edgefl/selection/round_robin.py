"""One after another."""

from __future__ import annotations

import numpy as np

from edgefl.known import Known
from edgefl.selection.base import Ids, Selection
from edgefl.streams import Streams


class RoundRobin(Selection):
    """By id, going on after the device that was asked last; who is away is passed over (Yang et al., TCOM 2020)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: Known) -> Ids:
        """The next ones."""
        return np.roll(present, -int(np.searchsorted(present, known.latest, side="right")))[:participants]
