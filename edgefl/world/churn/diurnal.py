"""Devices that follow the day."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.distributions import Constant
from edgefl.core.per_device import PEAK_S, PeakS, draw
from edgefl.core.section import fault_at
from edgefl.core.streams import Streams
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.base import Churn, Presence

DAY_BITS = 40  # a day's draws are keyed by its number above the bits of the ids, which are below 2^40
LEAST_SWING = 1e-12  # where high is low, the curve is flat: dividing by this sends each draw above or below it

NO_WINDOW = 0.0  # half a window's length, in days, where a device is away for the whole day
WHOLE_DAY = 0.5  # and where it is present for the whole day


class DiurnalChurn(Churn):
    """The chance of being present swings between `low` and `high` over the day (Bonawitz et al., MLSys 2019, fig. 5).

    The curve is ``p(t) = low + (high - low) (1 + cos(2 pi (t - peak_s) / period_s)) / 2``. Each day a device draws a
    number and is present while the curve lies above it: one window around its peak, and on average exactly p(t).
    """

    low: Annotated[float, Field(ge=0, le=0.99)] = 0.1  # Probability of being present at the trough.
    high: Annotated[float, Field(ge=0.01, le=1)] = 0.9  # Probability of being present at the peak.
    period_s: Annotated[float, Field(ge=1, le=1e9)] = 86_400.0  # Length of a day.
    # Time at which the curve is highest; if drawn, each device has its own time zone.
    peak_s: PeakS = Constant(value=0.0)

    @model_validator(mode="after")
    def _check_order(self) -> DiurnalChurn:
        if self.low > self.high:
            raise fault_at(("low",), f"must be <= high = {self.high:g}, got {self.low:g}")
        return self

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return a population whose peaks are drawn once, and whose windows are drawn every day."""
        peaks_s = draw("peak", self.peak_s, PEAK_S, np.arange(count), streams)
        return _DailyWindows(self, peaks_s % self.period_s, streams)


class _DailyWindows(AlternatingPresence):
    """One window for each device and day.

    A device's day lasts from trough to trough of its curve, with the peak in its middle. Day 0 is the one whose peak
    lies before time 0.
    """

    def __init__(self, churn: DiurnalChurn, peaks_s: Floats, streams: Streams) -> None:
        self._churn = churn
        self._peaks_s = peaks_s
        self._streams = streams
        self._day = np.empty(0, dtype=np.int64)  # [devices] the first that can hold a device's next change
        super().__init__(np.full(len(peaks_s), (churn.low + churn.high) / 2))  # the curve's mean over a day

    def _half_window(self, ids: Ids, day: Ids) -> Floats:
        """Return half the lengths [n] of windows, in days: from NO_WINDOW to WHOLE_DAY."""
        u = self._streams.uniform("day", ids + (day << DAY_BITS))
        low = self._churn.low
        high = self._churn.high
        # The window ends where p(t) = u, which is an arc cosine.
        cosine = (2 * u - low - high) / max(high - low, LEAST_SWING)
        return np.asarray(np.arccos(np.clip(cosine, -1, 1)) / (2 * np.pi))

    def _time_s(self, ids: Ids, days: Floats) -> Floats:
        """Return the times [n] that are so many days after the peak of each device's day 0."""
        return self._peaks_s[ids] + (days - 1) * self._churn.period_s

    def initial_state(self) -> tuple[Bools, Floats]:
        """Return which devices are in their windows at time 0, and until when that lasts."""
        ids = np.arange(len(self.probabilities))
        days = 1 - self._peaks_s / self._churn.period_s  # since the peak of day 0
        self._day = np.floor(days + 0.5).astype(np.int64)
        half = self._half_window(ids, self._day)
        present = np.abs(days - self._day) < half
        window_is_over = ~present & (days > self._day)
        self._day += window_is_over
        return present, self.next_change_s(ids, present, np.zeros(len(ids)), ids)

    def next_change_s(self, ids: Ids, present: Bools, since_s: Floats, number: Ids) -> Floats:
        until_s = np.empty(len(ids))
        until_s[present] = self._window_ends_s(ids[present])
        until_s[~present] = self._window_begins_s(ids[~present])
        return until_s

    def _window_ends_s(self, ids: Ids) -> Floats:
        """Return when [n] devices that are present leave.

        A window that fills its day runs into the next day. Then the device leaves at the trough before the first day
        whose window is shorter, and may come back on that day.
        """
        skipped = self._skip_days(ids, WHOLE_DAY)
        half = self._half_window(ids, self._day[ids])
        end_days = np.where(skipped, self._day[ids] - 0.5, self._day[ids] + half)
        ends_s = self._time_s(ids, end_days)
        self._day[ids] += ~skipped
        return ends_s

    def _window_begins_s(self, ids: Ids) -> Floats:
        """Return when [n] devices that are away arrive: with the next window that is not empty."""
        self._skip_days(ids, NO_WINDOW)
        return self._time_s(ids, self._day[ids] - self._half_window(ids, self._day[ids]))

    def _skip_days(self, ids: Ids, half: float) -> Bools:
        """Skip days whose window has that half length; return which devices [n] have skipped any."""
        skipped = np.zeros(len(ids), dtype=bool)
        rows = np.arange(len(ids))
        while True:
            same = self._half_window(ids[rows], self._day[ids[rows]]) == half
            rows = rows[same]
            if not rows.size:
                return skipped
            skipped[rows] = True
            self._day[ids[rows]] += 1
