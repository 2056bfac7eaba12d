"""FEDL's weighing of time against energy."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat

from channel import airtime
from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers.base import Optimiser, too_high
from edgefl.coordination.optimisers.common_time import best_common_s, clocks_hz
from edgefl.core.arrays import Floats


class Fedl(Optimiser):
    """FEDL: energy plus kappa times the time of computing and of uploading in turn (Tran et al., INFOCOM 2019)."""

    allocation: ClassVar[str] = "round_robin"
    needs_shannon: ClassVar[bool] = True
    weighs_clocks: ClassVar[bool] = True

    kappa: PositiveFloat = 1.0  # what a second of the round is worth [J]
    min_power_w: NonNegativeFloat = 0.0  # least transmit power
    min_clock_hz: NonNegativeFloat = 0.0  # least clock

    def decide(self, forecast: Forecast) -> Decisions:
        """Return turns, powers and clocks: two sub-problems, each solved in closed form."""
        airtime_s, power_share = self._uploads(forecast)
        cycles = forecast.flops / forecast.flops_per_cycle
        time_s = best_common_s(cycles, forecast.capacitance, self.kappa, self.min_clock_hz, forecast.cpu_hz)
        clock_hz = clocks_hz(cycles, time_s, self.min_clock_hz, forecast.cpu_hz)
        return Decisions(
            up_share=airtime_s / airtime_s.sum(),
            power_share=power_share,
            clock_share=np.minimum(clock_hz / forecast.cpu_hz, 1.0),
        )

    def _uploads(self, forecast: Forecast) -> tuple[Floats, Floats]:
        """Return airtimes [n] and powers over full powers [n]."""
        up = forecast.up
        full_w = forecast.tx_power_w
        bits_per_hz = forecast.up_bits / (up.band_hz * up.payload_share)
        unit_snr_w = full_w * up.band_hz / forecast.steady_up_snr_hz()
        # Uploads take turns, so a second on the air is a second of the round, or more if the frame has other parts.
        round_second_w = self.kappa / (up.time_share * up.free_share)
        # The amplifier draws more than it sends, so the battery's energy is worth less in sent power.
        efficiency = full_w / forecast.amplifier_w
        second_w = efficiency * (round_second_w + forecast.circuit_w)
        airtime_s = airtime.best_airtime_s(bits_per_hz, unit_snr_w, second_w, self.min_power_w, full_w)
        power_w = airtime.power_w(bits_per_hz, unit_snr_w, airtime_s)
        return airtime_s, np.minimum(power_w / full_w, 1.0)

    def refusal(self, tx_power_w: Floats, cpu_hz: Floats, compute_s: Floats) -> tuple[str, str] | None:
        """Refuse least powers and clocks above what a device has."""
        return too_high("min_power_w", self.min_power_w, "W", tx_power_w) or too_high(
            "min_clock_hz", self.min_clock_hz, "Hz", cpu_hz
        )
