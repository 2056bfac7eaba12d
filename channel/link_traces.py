"""Recorded links: the amounts that they carry over time, and the time that an amount takes.

Both are exact in continuous time: `carried` is the integral of the rate between two times, and `takes_s` inverts it.
Amounts are in bits if the recording is in bit/s. They are in bit/Hz if it is in bit/s/Hz; a transfer's amount then is
its bits over its bandwidth.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from channel._arrays import Floats
from channel._checks import finite, non_negative, positive, require
from channel.rate import Efficiency
from channel.units import db_to_linear

PACKET_BITS = 12_000  # 1,500 bytes, which mahimahi's link carries at each opportunity
SAME_TIME_S = 1e-9  # an opportunity this close to a transfer's beginning is before it: times are sums of floats
MOST_REPETITIONS = 2.0**52  # of a recording: beyond, a float has no digits left for a time within it
WHOLE = 1e-9  # of a packet: a smaller excess over whole packets is rounding


class RecordedLink(Protocol):
    """A recording of one direction of a link, from its own time 0 to `end_s`."""

    @property
    def end_s(self) -> float:
        """Return how long the recording lasts [s]."""

    @property
    def total(self) -> float:
        """Return the amount carried from its beginning to its end."""

    def carried(self, begin_s: float, end_s: float, *, repeats: bool = True) -> float:
        """Return the amount carried between two times [s] of the recording.

        Args:
            begin_s: the first.
            end_s: the second, not before the first.
            repeats: whether the recording begins again at its end; otherwise it carries nothing after it.
        """

    def takes_s(self, begin_s: float, amount: float, *, repeats: bool = True) -> float:
        """Return the time [s] that an amount takes from a time [s] on; inf if it is never carried."""


@dataclass(frozen=True)
class Steps:
    """A rate that is constant from each of its times to the next.

    Args:
        begin_s: [n] when each rate begins; rises from 0.
        rate: [n] amount per second.
        end_s: when the last rate ends.

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
        """Return the amounts carried from the beginning to each border [n + 1]."""
        return np.append(0.0, np.cumsum(self.rate * np.diff(self._knots_s)))

    def carried(self, begin_s: float, end_s: float, *, repeats: bool = True) -> float:
        """See RecordedLink."""
        if len(self.rate) == 1 and repeats:  # exact, however long the run is
            return float((end_s - begin_s) * self.rate[0])
        if not repeats:
            return self._until(min(end_s, self.end_s)) - self._until(min(begin_s, self.end_s))
        # Counted from the repetition where it begins, so that long runs lose no digits.
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
            # A whole number of repetitions ends when the last one has carried its total, not when the next one begins.
            repetitions = np.ceil(wanted / self.total) - 1
            wanted -= repetitions * self.total
        elif wanted > self.total:
            return np.inf
        # Above 0 and at most `total`, so a border at or after it exists, and the piece before it has a positive rate.
        wanted = min(wanted, self.total)
        piece = max(int(np.searchsorted(self._carried, wanted, side="left")) - 1, 0)
        into_s = (wanted - self._carried[piece]) / self.rate[piece]
        reached_s = repetitions * self.end_s + self.begin_s[piece] + into_s
        return float(max(reached_s - within_s, 0.0))

    def _until(self, time_s: float) -> float:
        """Return the amount carried from the beginning to a time within the recording."""
        return float(np.interp(time_s, self._knots_s, self._carried))


@dataclass(frozen=True)
class Opportunities:
    """Moments at which a link carries one packet of 1,500 bytes each, as in the files of mahimahi.

    A transfer takes the opportunities after its beginning, and ends with the one that carries its last bit; the rest of
    that packet is lost (Netravali et al., USENIX ATC 2015, mm-link).

    Args:
        time_s: [n] the times, not falling; equal ones are several packets. The last one ends the trace.

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
        """Return the number of opportunities up to and including a time."""
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
    """

    begin_s: Floats
    snr_db: Floats
    end_s: float

    def __post_init__(self) -> None:
        finite("snr_db", self.snr_db)
        Steps(self.begin_s, np.zeros(len(self.snr_db)), self.end_s)  # has the same times

    def shifted(self, shift_db: float) -> "SnrSteps":
        """Return the link with an SNR that is higher by this much [dB] at all times."""
        return replace(self, snr_db=self.snr_db + shift_db)

    def spectral_efficiency(self, efficiency: Efficiency) -> Steps:
        """Return the spectral efficiency of the link by a rate model [bit/s/Hz]."""
        return Steps(self.begin_s, efficiency.bps_hz(db_to_linear(self.snr_db)), self.end_s)

    def snr(self, time_s: float, *, repeats: bool = True) -> float:
        """Return the linear SNR at a time [s]; after the end the last one, unless the recording repeats."""
        within_s = time_s
        if repeats:
            within_s = time_s - np.floor(time_s / self.end_s) * self.end_s
        place = int(np.searchsorted(self.begin_s, within_s + SAME_TIME_S, side="right")) - 1
        return float(db_to_linear(self.snr_db[max(place, 0)]))
