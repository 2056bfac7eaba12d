"""Recorded links: what a link has carried over time, and how long an amount takes on it.

A recorded link answers two questions, both exactly and in continuous time: `carried` (the integral of its rate between
two times) and `takes_s` (the time after which an amount has been carried, which inverts it). Amounts are bits where the
recording is in bit/s. They are bit/Hz where it is in bit/s/Hz, and a transfer's amount then is its bits over its band.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from channel._arrays import Floats
from channel._checks import finite, non_negative, positive, require
from channel.rate import Efficiency
from channel.units import db_to_linear

PACKET_BITS = 12_000  # of 1,500 bytes: what mahimahi's link carries at each opportunity
SAME_TIME_S = 1e-9  # an opportunity this close to a transfer's beginning is not its own: times are sums of floats
MOST_REPETITIONS = 2.0**52  # of a recording, after which a time has no digits left for a place within it
WHOLE = 1e-9  # of a packet: an amount that exceeds whole packets by less is rounding


class RecordedLink(Protocol):
    """A recording of one direction of a link, from its own time 0 to `end_s`."""

    @property
    def end_s(self) -> float:
        """Return how long the recording lasts [s]."""

    @property
    def total(self) -> float:
        """Return all that it carries from its beginning to its end."""

    def carried(self, begin_s: float, end_s: float, *, repeats: bool = True) -> float:
        """Return what is carried between two times [s] of the recording.

        Args:
            begin_s: from when on.
            end_s: until when, not before it.
            repeats: whether the recording begins again at its end; else nothing is carried after it.
        """

    def takes_s(self, begin_s: float, amount: float, *, repeats: bool = True) -> float:
        """Return how long an amount takes from a time on [s]; inf if it is never carried."""


@dataclass(frozen=True)
class Steps:
    """A rate that is constant from each of its times to the next.

    Args:
        begin_s: [n] when each rate begins; rises from 0.
        rate: [n] amount per second.
        end_s: when the last rate ends.

    Raises:
        ValueError: times do not rise from 0, or a rate is negative or not finite.

    Example:
        2 Mbit/s for a second, then 1 Mbit/s: 3 Mbit take two seconds.

        >>> Steps(np.array([0.0, 1.0]), np.array([2e6, 1e6]), 4.0).takes_s(0.0, 3e6)
        2.0
    """

    begin_s: Floats
    rate: Floats
    end_s: float

    def __post_init__(self) -> None:
        begin_s = finite("begin_s", self.begin_s)
        non_negative("rate", self.rate)
        knots_s = np.append(begin_s, positive("end_s", self.end_s))
        require(np.diff(knots_s) > 0, knots_s[1:], "begin_s", "above the one before, and below end_s")
        require(begin_s[:1] == 0, begin_s[:1], "begin_s", "0 at first")

    @property
    def total(self) -> float:
        """See RecordedLink."""
        return float(self._carried[-1])

    @cached_property
    def _knots_s(self) -> Floats:
        """Return the borders [n + 1] of the pieces."""
        return np.append(self.begin_s, self.end_s)

    @cached_property
    def _carried(self) -> Floats:
        """Return what is carried from the beginning to each border [n + 1]."""
        return np.append(0.0, np.cumsum(self.rate * np.diff(self._knots_s)))

    def carried(self, begin_s: float, end_s: float, *, repeats: bool = True) -> float:
        """See RecordedLink."""
        if len(self.rate) == 1 and repeats:  # exact, however long the run is
            return float((end_s - begin_s) * self.rate[0])
        if not repeats:
            return self._until(min(end_s, self.end_s)) - self._until(min(begin_s, self.end_s))
        # Counted from the repetition in which it begins, so that a long run costs no digits.
        first = np.floor(begin_s / self.end_s)
        last = np.floor(end_s / self.end_s)
        parts = self._until(end_s - last * self.end_s) - self._until(begin_s - first * self.end_s)
        return float((last - first) * self.total + parts)

    def takes_s(self, begin_s: float, amount: float, *, repeats: bool = True) -> float:
        """See RecordedLink."""
        if amount <= 0:
            return 0.0
        if self.total == 0:
            return np.inf
        if len(self.rate) == 1 and repeats:
            return float(amount) / float(self.rate[0])
        if amount > MOST_REPETITIONS * self.total:
            return np.inf
        within_s = begin_s
        if repeats:
            within_s = begin_s - np.floor(begin_s / self.end_s) * self.end_s
        wanted = self._until(min(within_s, self.end_s)) + amount
        repetitions = 0.0
        if repeats:
            # A whole number of repetitions ends where the last one has carried all, not at the next one's beginning.
            repetitions = np.ceil(wanted / self.total) - 1
            wanted -= repetitions * self.total
        elif wanted > self.total:
            return np.inf
        # Above 0 and at most `total`, so a border at or after it exists, and the piece before that carries something.
        wanted = min(wanted, self.total)
        piece = max(int(np.searchsorted(self._carried, wanted, side="left")) - 1, 0)
        into_s = (wanted - self._carried[piece]) / self.rate[piece]
        reached_s = repetitions * self.end_s + self.begin_s[piece] + into_s
        return float(max(reached_s - within_s, 0.0))

    def _until(self, time_s: float) -> float:
        """Return what is carried from the beginning to a time within the recording."""
        return float(np.interp(time_s, self._knots_s, self._carried))


@dataclass(frozen=True)
class Opportunities:
    """Moments at which a link carries one packet of 1,500 bytes each, as in the files of mahimahi.

    A transfer has the opportunities after its beginning, and ends with the one that carries its last bit; what that one
    has left over is lost, as it is to a packet that is not full (Netravali et al., USENIX ATC 2015, mm-link).

    Args:
        time_s: [n] when they are; does not fall; several at one time are several packets. The last one ends the trace.

    Raises:
        ValueError: there are none, times fall or are negative, or the trace would last no time.

    Example:
        A packet a millisecond is 12 Mbit/s: 6 Mbit take half a second.

        >>> Opportunities(np.array([0.001])).takes_s(0.0, 6e6)
        0.5
    """

    time_s: Floats

    def __post_init__(self) -> None:
        time_s = non_negative("time_s", self.time_s)
        require(np.diff(time_s) >= 0, time_s[1:], "time_s", "not below the one before")
        positive("time_s at the end", time_s[-1:].sum())

    @property
    def end_s(self) -> float:
        """See RecordedLink."""
        return float(self.time_s[-1])

    @property
    def total(self) -> float:
        """See RecordedLink."""
        return float(len(self.time_s) * PACKET_BITS)

    def carried(self, begin_s: float, end_s: float, *, repeats: bool = True) -> float:
        """See RecordedLink."""
        return PACKET_BITS * (self._passed(end_s, repeats=repeats) - self._passed(begin_s, repeats=repeats))

    def takes_s(self, begin_s: float, amount: float, *, repeats: bool = True) -> float:
        """See RecordedLink."""
        if amount <= 0:
            return 0.0
        packets = int(np.ceil(amount / PACKET_BITS - WHOLE))
        last = self._passed(begin_s, repeats=repeats) + packets - 1  # number of the opportunity, from 0
        repetitions, place = divmod(last, len(self.time_s))
        if repetitions and not repeats:
            return np.inf
        return float(max(repetitions * self.end_s + self.time_s[place] - begin_s, 0.0))

    def _passed(self, time_s: float, *, repeats: bool) -> int:
        """Return how many opportunities have passed at a time, itself included."""
        repetitions = 0
        within_s = time_s + SAME_TIME_S
        if repeats:
            repetitions = int(within_s // self.end_s)
            within_s -= repetitions * self.end_s
        return repetitions * len(self.time_s) + int(np.searchsorted(self.time_s, within_s, side="right"))


@dataclass(frozen=True)
class SnrSteps:
    """A signal-to-noise ratio that is constant from each of its times to the next, whatever the bandwidth.

    Args:
        begin_s: [n] when each begins; rises from 0.
        snr_db: [n] signal over noise and interference, all fading included.
        end_s: when the last one ends.

    Raises:
        ValueError: as for `Steps`, or an SNR is not finite.
    """

    begin_s: Floats
    snr_db: Floats
    end_s: float

    def __post_init__(self) -> None:
        finite("snr_db", self.snr_db)
        Steps(self.begin_s, np.zeros(len(self.snr_db)), self.end_s)  # has the same times

    def spectral_efficiency(self, efficiency: Efficiency) -> Steps:
        """Return what the link carries by a rate model [bit/s/Hz]."""
        return Steps(self.begin_s, efficiency.bps_hz(db_to_linear(self.snr_db)), self.end_s)

    def snr(self, time_s: float, *, repeats: bool = True) -> float:
        """Return the linear SNR at a time [s]; the last one after the end, if the recording does not repeat."""
        within_s = time_s
        if repeats:
            within_s = time_s - np.floor(time_s / self.end_s) * self.end_s
        place = int(np.searchsorted(self.begin_s, within_s + SAME_TIME_S, side="right")) - 1
        return float(db_to_linear(self.snr_db[max(place, 0)]))
