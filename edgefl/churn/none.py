"""No churn."""

from __future__ import annotations

import numpy as np

from edgefl.churn.base import Churn, Ids, Presence
from edgefl.streams import Streams


class NoChurn(Churn):
    """Everybody is there all the time."""

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """All of them."""
        return Presence(np.ones(count))
