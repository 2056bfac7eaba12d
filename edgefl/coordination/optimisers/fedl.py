"""FEDL's weighing of time against energy.

A device that computes `C` cycles in a time `T` at the clock `f = C / T` spends `xi C f^2`. The longer the slowest may
take, the less all others spend (Tran, Bao, Zomaya, Nguyen and Hong, IEEE INFOCOM 2019, sub-problem 1).
"""

from typing import ClassVar

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat

from channel import airtime
from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers.base import Optimiser, too_high
from edgefl.core.arrays import Floats


class Fedl(Optimiser):
    """FEDL: energy plus kappa times the time of computing and of uploading in turn (Tran et al., INFOCOM 2019)."""

    allocation: ClassVar[str] = "round_robin"
    needs_shannon: ClassVar[bool] = True
    weighs_clocks: ClassVar[bool] = True

    kappa: PositiveFloat = 1.0  # Joules that a second of the round is worth.
    min_power_w: NonNegativeFloat = 0.0  # Least transmit power.
    min_clock_hz: NonNegativeFloat = 0.0  # Least clock.

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


def best_common_s(cycles: Floats, capacitance: Floats, second_j: float, least_hz: float, most_hz: Floats) -> float:
    """Return the time T that minimises `sum_n xi_n C_n f_n^2 + k T`, where no device computes for longer than T.

    As T falls, more and more devices have to leave their least clock, the one with the highest `C_n / f_min` first.
    While the first m have left it, T is best where `sum_m 2 xi C^3 / T^3 = k`; each m bounds T from below by that, or
    by the time at which m devices have left it, and the best T is the highest bound.

    Args:
        cycles: C [n].
        capacitance: effective switched capacitance xi [n].
        second_j: price of a second, k [J].
        least_hz: least clock of all.
        most_hz: highest clocks [n], not below the least.
    """
    if not cycles.any():
        return 0.0
    fastest_s = float((cycles / most_hz).max())
    slowest_first = np.argsort(-cycles, kind="stable")
    leaves_s = np.full(len(cycles), np.inf)  # the time below which a device needs more than its least clock
    if least_hz > 0:
        leaves_s = cycles[slowest_first] / least_hz
    pull = np.cumsum((2.0 * capacitance * cycles**3)[slowest_first])
    bounds_s = np.minimum(np.cbrt(pull / second_j), leaves_s)
    return max(fastest_s, float(bounds_s.max()))


def clocks_hz(cycles: Floats, time_s: float, least_hz: float, most_hz: Floats) -> Floats:
    """Return the lowest clocks [n] at which devices compute `cycles` [n] within a time, or their bounds."""
    wanted_hz = np.divide(cycles, time_s, out=most_hz.copy(), where=cycles > 0)
    return np.clip(wanted_hz, least_hz, most_hz)
