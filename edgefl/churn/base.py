"""What churn is: which devices are there."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member
from edgefl.streams import Streams

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class Presence:
    """Who is there: the population of one run, evaluated when asked.

    Args:
        chances: [devices] with which each is there in a round; 1 where it always is.
    """

    def __init__(self, chances: Floats) -> None:
        self.chances = chances

    def present(self, time_s: float, index: int) -> Ids:
        """Ids of the devices that are there at a time, when the round `index` begins."""
        return np.arange(len(self.chances), dtype=np.int64)


class Churn(Member):
    """Base of all churn models."""

    by_round: ClassVar[bool] = False  # whether devices come and go with rounds rather than with time

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """The population of `count` devices.

        Args:
            count: how many devices there are in all.
            lowest_label: [count] the first of the classes that each device has samples of; 0 without labels.
            classes: in the data.
            streams: keyed randomness.

        Raises:
            InputError: a device draws what cannot be.
        """
        raise NotImplementedError
