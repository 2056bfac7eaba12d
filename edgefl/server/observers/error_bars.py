"""Error bars of time and energy, from the held-out errors of the laws that price the run."""

from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.world.error_draws import COVERAGE, ErrorDraws, interval

TIMES = ("time_low_s", "time_high_s")
ENERGIES = ("energy_low_j", "energy_high_j")


class ErrorBars(Observer):
    """Adds the interval of time and energy since the beginning, as far as laws have measured errors."""

    def __init__(self, draws: ErrorDraws) -> None:
        self._draws = draws
        self._time_s: Floats | float = 0.0  # [draws] since the beginning
        self._energy_j: Floats | float = 0.0  # as above
        self._last: RoundColumns = {}

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the ends of both intervals."""
        duration_s, energy_j = self._draws.of_round(ended.until_s - ended.since_s, ended.since_s, ended.devices)
        self._time_s = self._time_s + duration_s
        self._energy_j = self._energy_j + energy_j
        if self._draws.of_time:
            self._last = dict(zip(TIMES, interval(np.asarray(self._time_s)), strict=True))
        self._last = self._last | dict(zip(ENERGIES, interval(np.asarray(self._energy_j)), strict=True))
        return self._last

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return what participations that were cut off add to the interval of the energy."""
        before = self._last
        _, energy_j = self._draws.of_round(0.0, ended.since_s, ended.devices)
        self._energy_j = self._energy_j + energy_j
        self._last = before | dict(zip(ENERGIES, interval(np.asarray(self._energy_j)), strict=True))
        return {name: self._last[name] - before.get(name, 0.0) for name in ENERGIES}

    def quantities(self) -> dict[str, Any]:
        """Return the intervals of the whole run, and what they are made of."""
        draws = self._draws
        about = {"coverage": COVERAGE, "network": draws.network, "order": draws.order, "missing": draws.missing}
        return {**self._last, "held_out": about}
