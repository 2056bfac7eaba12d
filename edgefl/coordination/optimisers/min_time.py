"""Least completion time."""

from typing import ClassVar

import numpy as np

from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers.base import Optimiser
from edgefl.coordination.optimisers.shared_band import SharedBand


class MinTime(Optimiser):
    """Shares of the band that end a round soonest, full powers and clocks (Yang et al., IEEE TWC 2021)."""

    needs_shannon: ClassVar[bool] = True

    def decide(self, forecast: Forecast) -> Decisions:
        """Return shares that let all finish at the same time, the earliest that they can."""
        band = SharedBand.of(forecast)
        share = band.least_share(band.least_time_s() - band.before_s)
        ones = np.ones(len(forecast))
        return Decisions(up_share=share / share.sum(), power_share=ones, clock_share=ones)
