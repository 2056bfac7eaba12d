"""Background traffic of other users' transfers, which share the band like those of the devices."""

import heapq

import numpy as np
from pydantic import PositiveFloat

from edgefl.radio.background.base import Background, Law, OtherUsers
from edgefl.radio.transfers import Way


class PoissonTransfers(Background, Law):
    """Transfers of other users that arrive at random and share the band: a queue M/G/1 under processor sharing.

    Each has one share of the band, like a transfer of a device, and leaves with its last bit (Kleinrock 1967).
    """

    arrivals_per_s: PositiveFloat  # Arrivals in each cell.
    mean_bits: PositiveFloat  # Mean size of a transfer.
    bps_hz: PositiveFloat  # Spectral efficiency of the other users.

    def mean_load(self, way: Way, capacity_hz: float) -> float:
        """See Background."""
        return self.arrivals_per_s * self.times(way) * self.mean_bits / (capacity_hz * self.bps_hz)

    def users(self, way: Way, capacity_hz: float, generator: np.random.Generator) -> OtherUsers:
        """See Background."""
        return _SharingUsers(self, way, capacity_hz, generator)


class _SharingUsers(OtherUsers):
    """Sessions that all get the same rate, so that those with the fewest bits left end first.

    `_attained` counts the bits that each session under way has got since some moment. A session ends when the count
    reaches its value at the arrival plus the session's size, so one number moves all sessions.
    """

    def __init__(self, model: PoissonTransfers, way: Way, capacity_hz: float, generator: np.random.Generator) -> None:
        self._capacity_bps = capacity_hz * model.bps_hz
        self._time_s = 0.0
        self._attained = 0.0
        load = model.mean_load(way, capacity_hz)
        rate_per_s = model.arrivals_per_s * model.times(way)
        # In equilibrium their number is geometric, and the rest of each is independent (Kelly 1979, section 3.3).
        met = int(generator.geometric(1.0 - load)) - 1
        self._ends: list[float] = model.rests(generator, met, model.mean_bits).tolist()  # a heap
        heapq.heapify(self._ends)
        self._arrivals = iter([(np.inf, 0.0)])
        if rate_per_s > 0:
            self._arrivals = model.arrivals(generator, rate_per_s, model.mean_bits)
        self._next = next(self._arrivals)

    @property
    def count(self) -> float:
        """See OtherUsers."""
        return float(len(self._ends))

    def advance(self, time_s: float, transfers: int) -> None:
        """See OtherUsers."""
        while True:
            ends_s = self._end_s(transfers)
            arrives_s, bits = self._next
            next_s = min(ends_s, arrives_s)
            if next_s > time_s:
                break
            if ends_s <= arrives_s:
                self._attained = heapq.heappop(self._ends)
                self._time_s = ends_s
            else:
                self._pass(arrives_s, transfers)
                heapq.heappush(self._ends, self._attained + bits)
                self._next = next(self._arrivals)
        self._pass(time_s, transfers)

    def next_change_s(self, transfers: int) -> float:
        """See OtherUsers."""
        return min(self._end_s(transfers), self._next[0])

    def _end_s(self, transfers: int) -> float:
        """Return the end of the next session to end, unless another arrives before."""
        if not self._ends:
            return np.inf
        rate_bps = self._capacity_bps / (transfers + len(self._ends))
        return self._time_s + max(self._ends[0] - self._attained, 0.0) / rate_bps

    def _pass(self, time_s: float, transfers: int) -> None:
        """Advance to a time before the next arrival or end."""
        if self._ends:
            self._attained += (time_s - self._time_s) * self._capacity_bps / (transfers + len(self._ends))
        else:
            self._attained = 0.0  # no session counts from it any more; small numbers keep their digits
        self._time_s = time_s
