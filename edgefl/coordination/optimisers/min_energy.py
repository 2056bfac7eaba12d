"""Least energy under a deadline."""

from typing import ClassVar

import numpy as np
from pydantic import NonNegativeFloat

from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers.base import Optimiser, too_high
from edgefl.coordination.optimisers.shared_band import SharedBand
from edgefl.core.arrays import Floats
from edgefl.core.section import Seconds


class MinEnergy(Optimiser):
    """Band, powers and clocks of least energy under a deadline (Yang et al., IEEE TWC 2021)."""

    needs_shannon: ClassVar[bool] = True
    weighs_clocks: ClassVar[bool] = True

    deadline_s: Seconds | None = None  # Deadline of a round; by default server.deadline_s.
    min_clock_hz: NonNegativeFloat = 0.0  # Least clock.

    @property
    def needs_deadline(self) -> bool:
        """Return whether its own deadline is missing."""
        return self.deadline_s is None

    def decide(self, forecast: Forecast) -> Decisions:
        """Return shares of the band, powers and clocks.

        Raises:
            Infeasible: not all can finish by the deadline.
        """
        from edgefl.coordination.optimisers.least_energy import LeastEnergy

        deadline_s = min(forecast.deadline_s, self.deadline_s or np.inf)
        band = SharedBand.of(forecast)
        band.check_deadline(deadline_s, forecast.ids)
        best = LeastEnergy(band, deadline_s, self.min_clock_hz).solve()
        return Decisions(
            up_share=best.share, power_share=best.power_share, clock_share=np.minimum(best.clock_hz / band.cpu_hz, 1.0)
        )

    def refusal(self, tx_power_w: Floats, cpu_hz: Floats, compute_s: Floats) -> tuple[str, str] | None:
        """Refuse least clocks above what a device has, and deadlines before any device has computed."""
        if self.deadline_s is not None and compute_s.min() >= self.deadline_s:
            device = int(compute_s.argmin())
            late_s = compute_s[device] - self.deadline_s
            text = f"no device can compute in {self.deadline_s:g} s: device {device}, the fastest, misses it by"
            return "deadline_s", f"{text} {late_s:.4g} s before it uploads: allow more"
        return too_high("min_clock_hz", self.min_clock_hz, "Hz", cpu_hz)
