"""Background traffic that always fills the same share of the band."""

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.radio.background.base import Background, OtherUsers
from edgefl.radio.transfers import Way


class ConstantLoad(Background):
    """A constant share of every cell's band, which is taken from the devices."""

    load: Annotated[float, Field(ge=0, lt=1)]  # Share of the band that other users take.

    def mean_load(self, way: Way, capacity_hz: float) -> float:
        """See Background."""
        return self.load * self.times(way)

    def users(self, way: Way, capacity_hz: float, generator: np.random.Generator) -> OtherUsers:
        """See Background."""
        return _ConstantUsers(self.mean_load(way, capacity_hz))


class _ConstantUsers(OtherUsers):
    def __init__(self, load: float) -> None:
        self._load = load

    @property
    def count(self) -> float:
        """One user that is on the air for that share of the time."""
        return self._load

    def advance(self, time_s: float, transfers: int) -> None:
        """See OtherUsers: nothing changes."""

    def next_change_s(self, transfers: int) -> float:
        return np.inf

    def free_share(self, transfers: int) -> float:
        return 1.0 - self._load
