"""Optimisers, healthy and broken."""

from __future__ import annotations

import numpy as np

from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers import OPTIMISERS, Optimiser


class Halves(Optimiser):
    """Gives out half of the band (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return halves of equal shares."""
        return Decisions(up_share=np.full(len(forecast), 0.5 / len(forecast)))


class Overdrives(Optimiser):
    """Sends at twice the power (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return powers of 2."""
        return Decisions(power_share=np.full(len(forecast), 2.0))


class Lists(Optimiser):
    """Returns no array (test)."""

    def decide(self, forecast: Forecast) -> Decisions:
        """Return a list."""
        return Decisions(clock_share=[1.0] * len(forecast))  # type: ignore[arg-type]


HEALTHY = [(OPTIMISERS.load(name), {}) for name in OPTIMISERS.members if name != "none"]
BROKEN = [
    (Halves, {}, "returns", "returned up_share that add up to 0.5, expected 1"),
    (Overdrives, {}, "returns", "as power_share, expected finite numbers [1] above 0 and at most 1"),
    (Lists, {}, "returns", "returned a list as clock_share, expected finite numbers [1]"),
]
