"""Devices that arrive at random times and stay for random times."""

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.streams import Streams
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.base import Churn, Presence
from edgefl.world.churn.stays import Stay, StaySeconds

CHANGE_BITS = 40  # a change's draws are keyed by its number above the bits of the ids, which are below 2^40


class PoissonChurn(Churn):
    """Each device is away for exponential times and stays for `stay_s`: together nearly Poisson arrivals (Khintchine).

    The N devices arrive at `arrivals_per_s` on average, so by Little's law ``arrivals_per_s E[stay]`` of them are
    present, and each is away for ``N / arrivals_per_s - E[stay]`` on average.
    """

    arrivals_per_s: Annotated[float, Field(ge=1e-12, le=1e9)]  # Arrivals of all devices together, on average over time.
    stay_s: StaySeconds  # Law of how long each device stays.

    def check(self, count: int) -> str | None:
        """Return why more devices would be present than exist; None if not."""
        mean = self.arrivals_per_s * self.stay_s.mean_s
        if mean < count:
            return None
        text = f"arrivals_per_s times the mean stay of {self.stay_s.mean_s:g} s is {mean:g} devices present on average"
        return f"{text}, more than devices.count = {count}: lower arrivals_per_s or stay_s"

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return the stationary process of each device."""
        away_s = count / self.arrivals_per_s - self.stay_s.mean_s
        return _RenewalPresence(count, away_s, self.stay_s, streams)


class _RenewalPresence(AlternatingPresence):
    """One alternating renewal process for each device."""

    def __init__(self, count: int, away_s: float, stay: Stay, streams: Streams) -> None:
        self._away_s = away_s
        self._stay = stay
        self._streams = streams
        # The share of the time that a renewal process spends in one state is that state's part of a mean cycle.
        super().__init__(np.full(count, stay.mean_s / (stay.mean_s + away_s)))

    def initial_state(self) -> tuple[Bools, Floats]:
        """Return a stationary state: the rest of a stay has its equilibrium law.

        An exponential time has no memory, so the rest of an absence has the law of a whole one.
        """
        u = self._streams.uniform("stay", np.arange(len(self.probabilities)), count=3)
        present = u[:, 0] < self.probabilities
        until_s = -self._away_s * np.log(u[:, 1])  # by the inverse of the exponential distribution function
        until_s[present] = self._stay.residual_s(u[present, 1:])
        return present, until_s

    def next_change_s(self, ids: Ids, present: Bools, since_s: Floats, number: Ids) -> Floats:
        # Keyed by the device and the number of its change, so that the order of questions does not matter.
        u = self._streams.uniform("stay", ids + (number << CHANGE_BITS))
        lasts_s = -self._away_s * np.log(u)
        lasts_s[present] = self._stay.quantile_s(u[present])
        return since_s + lasts_s
