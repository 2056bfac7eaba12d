"""The age of updates."""

import math
from typing import ClassVar

import numpy as np
from pydantic import NonNegativeFloat

from edgefl.coordination.forecast import Forecast
from edgefl.coordination.selection.base import Selection, draws
from edgefl.coordination.server_view import DeviceReports, ServerView
from edgefl.core.arrays import Floats, Ids, Rows
from edgefl.core.errors import RunError
from edgefl.core.section import Count, Seconds
from edgefl.core.streams import Streams


class AgeOfUpdate(Selection):
    """Oldest updates first, by alpha-fair age a channel (ABS: Yang, Arafa, Quek & Poor, ICASSP 2020).

    The age of a device's update is the number of rounds since the server received the last one: 1 in the round after
    it. A device that takes part will be of age 1 instead of one more than it is, which saves f(age + 1) - f(1). With
    `upload_s`, a device needs as many of the `channels` as let it upload in that time. Devices that save most a channel
    come first, until the channels are used up.
    """

    memory_width: ClassVar[int] = 1  # the number of rounds since each device's last update, less one

    # Fairness. 0 counts rounds, 1 their logarithm, and more makes ever less of long absence.
    alpha: NonNegativeFloat = 1.0
    channels: Count | None = None  # Number of equal parts of the band; by default server.participants.
    upload_s: Seconds | None = None  # Longest time of an upload; by default each device takes one channel.

    @property
    def needs_csi(self) -> bool:
        """True if the number of channels that a device needs depends on its channel."""
        return self.upload_s is not None

    @property
    def count_varies(self) -> bool:
        """True if devices with weak channels take the place of several."""
        return self.upload_s is not None

    def expected(self, participants: int, present: float) -> float:
        """Return the number of participants if each takes one channel."""
        return min(participants, self.channels or participants, present)

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices that save most age a channel; ties are drawn.

        Raises:
            RunError: no device could upload in time, not even on all channels.
        """
        channels = self.channels or participants
        needed = np.ones(len(present))
        if self.upload_s is not None:
            needed = self._needed(view.forecast_of(present), channels, self.upload_s)
        age = view.memory[present, 0] + 1
        saved = alpha_fair(age + 1, self.alpha) - alpha_fair(np.ones(len(present)), self.alpha)
        return present[packed(saved, needed, channels, draws(present, index, streams))[:participants]]

    def remember(self, memory: Floats, reports: DeviceReports, view: ServerView) -> Floats:
        """Return the ages, less one: 0 where an update has just arrived."""
        older = memory + 1
        older[reports.ids[reports.received]] = 0.0
        return older

    def _needed(self, forecast: Forecast, channels: int, upload_s: float) -> Floats:
        """Return how many channels each device [n] needs; 1 if its channel is unknown, inf if all channels are too few.

        Raises:
            RunError: all of them are too few for every device.
        """
        whole_s = np.nan_to_num(forecast.upload_s(1.0), nan=0.0)
        in_time = whole_s <= upload_s
        if not in_time.any():
            first = int(np.argmin(whole_s))
            raise RunError(
                f"server.selection.upload_s: no device can upload within {upload_s:g} s; the first would be device "
                f"{forecast.ids[first]}, on the whole band, after {whole_s[first]:.4g} s"
            )
        too_few = np.zeros(len(forecast))
        enough = np.full(len(forecast), float(channels))
        while (enough - too_few > 1).any():  # a larger share never takes longer
            middle = np.maximum((too_few + enough) // 2, 1)
            suffices = np.nan_to_num(forecast.upload_s(middle / channels), nan=0.0) <= upload_s
            enough = np.where(suffices, middle, enough)
            too_few = np.where(suffices, too_few, middle)
        return np.where(in_time, enough, np.inf)


def alpha_fair(age: Floats, alpha: float) -> Floats:
    """Return the alpha-fair value [n] of ages [n] >= 1: age^(1 - alpha) / (1 - alpha), or log(age) at alpha = 1."""
    if math.isclose(alpha, 1.0):
        return np.asarray(np.log(age))
    return np.asarray(age ** (1 - alpha) / (1 - alpha))


def packed(value: Floats, cost: Floats, budget: float, draw: Floats) -> Rows:
    """Return rows of [n], by value over cost, highest first, while their costs together are in the budget.

    Rows that cost too much are skipped. The lower draw comes first in a tie.
    """
    order = np.lexsort((draw, -value / cost))
    chosen = []
    for row in order.tolist():
        if cost[row] <= budget:
            chosen.append(row)
            budget -= cost[row]
    return np.array(chosen, dtype=np.intp)
