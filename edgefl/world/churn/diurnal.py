"""Devices that follow the day."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.distributions import PEAK_S, Constant, PeakS, draw
from edgefl.core.section import fault_at
from edgefl.core.streams import Streams
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.base import Churn, Presence


class DiurnalChurn(Churn):
    """The chance of being there swings between `low` and `high` over the day (Bonawitz et al., MLSys 2019, fig. 5).

    The curve is p(t) = low + (high - low) (1 + cos(2 pi (t - peak_s) / period_s)) / 2. Each day a device draws a number
    and is there while the curve lies above it: one window around its peak, and in the mean exactly p(t).
    """

    low: Annotated[float, Field(ge=0, le=0.99)] = 0.1
    high: Annotated[float, Field(ge=0.01, le=1)] = 0.9
    period_s: Annotated[float, Field(ge=1, le=1e9)] = 86_400.0
    peak_s: PeakS = Constant(value=0.0)

    @model_validator(mode="after")
    def _ordered(self) -> DiurnalChurn:
        if self.low > self.high:
            raise fault_at(("low",), f"must be <= high = {self.high:g}, got {self.low:g}")
        return self

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Peaks, drawn once; windows, one a day."""
        peaks = draw("peak", self.peak_s, PEAK_S, np.arange(count), streams)
        return _Windows(self, peaks % self.period_s, streams)


class _Windows(AlternatingPresence):
    """One window a device and day; a day lasts from trough to trough, the device's first one has its peak before 0."""

    def __init__(self, churn: DiurnalChurn, peaks_s: Floats, streams: Streams) -> None:
        self._churn, self._peaks_s, self._streams = churn, peaks_s, streams
        self._day = np.empty(0, dtype=np.int64)  # [devices] the first that can hold a device's next change
        super().__init__(np.full(len(peaks_s), (churn.low + churn.high) / 2))

    def _half(self, ids: Ids, day: Ids) -> Floats:
        """Half the lengths [n] of windows, as parts of the day: 0 is none, 1/2 the whole day."""
        u, low, high = self._streams.uniform("day", ids + (day << 40)), self._churn.low, self._churn.high
        cosine = (2 * u - low - high) / max(high - low, 1e-12)
        return np.asarray(np.arccos(np.clip(cosine, -1, 1)) / (2 * np.pi))

    def _at_s(self, ids: Ids, days: Floats) -> Floats:
        """Times [n] so many days after the peak of each device's day 0."""
        return self._peaks_s[ids] + (days - 1) * self._churn.period_s

    def begin(self) -> tuple[Bools, Floats]:
        """Who is in its window."""
        ids = np.arange(len(self.probabilities))
        days = 1 - self._peaks_s / self._churn.period_s  # since the peak of day 0
        self._day = np.floor(days + 0.5).astype(np.int64)
        half = self._half(ids, self._day)
        there = np.abs(days - self._day) < half
        self._day += ~there & (days > self._day)  # today's window is over
        return there, self.until_s(ids, there, np.zeros(len(ids)), ids)

    def until_s(self, ids: Ids, there: Bools, since_s: Floats, turns: Ids) -> Floats:
        """The end of a window, or the beginning of the next."""
        until = np.empty(len(ids))
        until[there] = self._ends_s(ids[there])
        until[~there] = self._begins_s(ids[~there])
        return until

    def _ends_s(self, ids: Ids) -> Floats:
        """When devices that are there leave: with the window, or, where that has no end, with the day."""
        whole = self._skip(ids, 0.5)
        half = self._half(ids, self._day[ids])
        ends = self._at_s(ids, np.where(whole, self._day[ids] - 0.5, self._day[ids] + half))
        self._day[ids] += ~whole
        return ends

    def _begins_s(self, ids: Ids) -> Floats:
        """When devices that are away come: with the next window that there is."""
        self._skip(ids, 0.0)
        return self._at_s(ids, self._day[ids] - self._half(ids, self._day[ids]))

    def _skip(self, ids: Ids, half: float) -> Bools:
        """Pass over days whose windows are of that half length; whether [n] there were any."""
        skipped = np.zeros(len(ids), dtype=bool)
        left = np.arange(len(ids))
        while (left := left[self._half(ids[left], self._day[ids[left]]) == half]).size:
            skipped[left] = True
            self._day[ids[left]] += 1
        return skipped
