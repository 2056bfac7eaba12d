"""The computing time that several devices share, weighed against their energy: clocks in closed form.

A device that computes `C` cycles in a time `T` at the clock `f = C / T` spends `xi C f^2`. The longer the slowest may
take, the less all others spend (FEDL: Tran, Bao, Zomaya, Nguyen and Hong, IEEE INFOCOM 2019, sub-problem 1).
"""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats


def best_common_s(cycles: Floats, capacitance: Floats, second_j: float, least_hz: float, most_hz: Floats) -> float:
    """Return the time T that minimises `sum_n xi_n C_n f_n^2 + k T`, where no device computes for longer than T.

    As T falls, more and more devices have to leave their least clock, the one with the highest `C_n / f_min` first.
    While the first m have left it, T is best where `sum_m 2 xi C^3 / T^3 = k`; each m bounds T from below by that, or
    by the time at which it has m devices at all, and the best T is the highest bound.

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
