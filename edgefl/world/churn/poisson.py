"""Devices that come at random times and stay for random times."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.streams import Streams
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.base import Churn, Presence
from edgefl.world.churn.stays import Stay, StaySeconds


class PoissonChurn(Churn):
    """Each device is away for exponential times and stays for `stay_s`: together nearly Poisson arrivals (Khintchine).

    The N devices arrive at `arrivals_per_s` in the mean, so by Little's law arrivals_per_s E[stay] of them are there:
    each is away for N / arrivals_per_s - E[stay] in the mean.
    """

    arrivals_per_s: Annotated[float, Field(ge=1e-12, le=1e9)]
    stay_s: StaySeconds

    def check(self, count: int) -> str | None:
        """Not more can be there than there are."""
        mean = self.arrivals_per_s * self.stay_s.mean_s
        if mean < count:
            return None
        text = f"arrivals_per_s times the mean stay of {self.stay_s.mean_s:g} s is {mean:g} devices there at a time"
        return f"{text}, more than devices.count = {count}: lower one of them"

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """The stationary process."""
        return _Stays(count, count / self.arrivals_per_s - self.stay_s.mean_s, self.stay_s, streams)


class _Stays(AlternatingPresence):
    """Alternating renewal processes, one a device."""

    def __init__(self, count: int, away_s: float, stay: Stay, streams: Streams) -> None:
        self._away_s, self._stay, self._streams = away_s, stay, streams
        super().__init__(np.full(count, stay.mean_s / (stay.mean_s + away_s)))

    def begin(self) -> tuple[Bools, Floats]:
        """Stationary: what is left of a stay has its equilibrium law, what is left of an absence its own."""
        u = self._streams.uniform("stay", np.arange(len(self.probabilities)), count=3)
        there = u[:, 0] < self.probabilities
        until = -self._away_s * np.log(u[:, 1])
        until[there] = self._stay.residual_s(u[there, 1:])
        return there, until

    def until_s(self, ids: Ids, there: Bools, since_s: Floats, turns: Ids) -> Floats:
        """A new duration for each."""
        u = self._streams.uniform("stay", ids + (turns << 40))  # a key a turn
        lasts = -self._away_s * np.log(u)
        lasts[there] = self._stay.quantile_s(u[there])
        return since_s + lasts
