"""Background traffic of other users that stay for a drawn time, whatever rate they get."""

import heapq

import numpy as np
from pydantic import PositiveFloat

from edgefl.radio.background.base import Background, Law, OtherUsers
from edgefl.radio.transfers import Way


class PoissonSessions(Background, Law):
    """Sessions of other users that each keep one share of the band for a time: the number of users of M/G/infinity.

    Calls or streams end after their time, not with a number of bits, so their number does not depend on the devices.
    """

    arrivals_per_s: PositiveFloat  # Arrivals in each cell.
    mean_s: PositiveFloat  # Mean duration of a session.

    def mean_load(self, way: Way, capacity_hz: float) -> None:
        """See Background: the more transfers there are, the smaller is their share."""

    def users(self, way: Way, capacity_hz: float, generator: np.random.Generator) -> OtherUsers:
        """See Background."""
        return _StayingUsers(self, way, generator)


class _StayingUsers(OtherUsers):
    def __init__(self, model: PoissonSessions, way: Way, generator: np.random.Generator) -> None:
        rate_per_s = model.arrivals_per_s * model.times(way)
        # In equilibrium their number is Poisson, and the rest of each is independent.
        met = int(generator.poisson(rate_per_s * model.mean_s))
        self._ends_s: list[float] = model.rests(generator, met, model.mean_s).tolist()  # a heap
        heapq.heapify(self._ends_s)
        self._arrivals = iter([(np.inf, 0.0)])
        if rate_per_s > 0:
            self._arrivals = model.arrivals(generator, rate_per_s, model.mean_s)
        self._next = next(self._arrivals)

    @property
    def count(self) -> float:
        """See OtherUsers."""
        return float(len(self._ends_s))

    def advance(self, time_s: float, transfers: int) -> None:
        """See OtherUsers."""
        while self.next_change_s(transfers) <= time_s:
            arrives_s, lasts_s = self._next
            if self._ends_s and self._ends_s[0] <= arrives_s:
                heapq.heappop(self._ends_s)
            else:
                heapq.heappush(self._ends_s, arrives_s + lasts_s)
                self._next = next(self._arrivals)

    def next_change_s(self, transfers: int) -> float:
        """See OtherUsers."""
        ends_s = self._ends_s[0] if self._ends_s else np.inf
        return min(ends_s, self._next[0])
