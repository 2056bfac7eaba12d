"""No churn."""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams
from edgefl.world.churn.base import Churn, Presence


class NoChurn(Churn):
    """All devices are always present."""

    always_present: ClassVar[bool] = True

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return a population that is always present."""
        return AlwaysPresent(np.ones(count))


class AlwaysPresent(Presence):
    """All devices are always present."""

    always_present: ClassVar[bool] = True
