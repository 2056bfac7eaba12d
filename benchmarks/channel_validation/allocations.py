"""Allocations: when the transfers of one population finish under each, and how the optima compare with a search."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from channel import allocation, geometry, rate, sum_rate, umi, units
from channel._arrays import Floats
from channel.allocation import Shares
from channel.rate import SHANNON
from channel_validation.report import Check, even_shares, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAND_HZ = 100e6
UPLOADS = 20
# About the model for SVHN of the dynamic-devices paper's Table I: 667,178 parameters of 32 bits.
PAYLOAD_BITS = np.full(UPLOADS, 21e6)


def checks() -> list[Check]:
    """Check that each allocation gives out the whole band, and the two optima by what makes them optimal."""
    found = []
    for name, shares in _shares().items():
        given_out_hz = float((shares.bandwidth_hz * shares.duty).sum())
        found.append(Check(f"{name}, band given out [MHz]", given_out_hz / 1e6, BAND_HZ / 1e6, 1e-9))
    # All finish together, and at the time that a search without tables or Newton steps finds.
    finish_s = _finish_s(_shares()["min_makespan"])
    last_over_first = float(finish_s.max() / finish_s.min())
    found.append(Check("min_makespan, last over first to finish", last_over_first, 1.0, 1e-9))
    found.append(Check("min_makespan, the time [s]", float(finish_s.max()), _searched_makespan_s(), 1e-6))
    # At the optimum the logarithms of all rates gain alike from a little more bandwidth: R'/R by a difference.
    share_hz = _shares()["proportional_fair"].bandwidth_hz
    with_more = np.log(_mean_bps(share_hz * (1.0 + 1e-4)))
    with_less = np.log(_mean_bps(share_hz * (1.0 - 1e-4)))
    pull = (with_more - with_less) / share_hz
    found.append(Check("proportional_fair, R'/R, highest over lowest", float(pull.max() / pull.min()), 1.0, 1e-3))
    # The sum of concave rates is highest where all SNRs are equal, and is then that of one link (Jensen).
    sum_bps = float(_mean_bps(sum_rate.max_rate(BAND_HZ, _snr_hz()).bandwidth_hz).sum())
    together = rate.mean_rayleigh_bps(BAND_HZ, _snr_hz().sum() / BAND_HZ)
    found.append(Check("max_rate, the sum of rates [Gb/s]", sum_bps / 1e9, float(together) / 1e9, 1e-9))
    return found


def figures() -> dict[str, Figure]:
    """Draw the finishing times of one population under each allocation."""
    drawing, axes = figure(
        "20 uploads of 21 Mbit in 100 MHz", "terminal, by distance from the base station", "mean finishing time [s]"
    )
    number = np.arange(1, UPLOADS + 1)
    for name, shares in _shares().items():
        axes.plot(number, _finish_s(shares), label=name)
    searched_s = np.full(UPLOADS, _searched_makespan_s())
    axes.plot(number, searched_s, "kx", markersize=5, label="min_makespan by a plain search")
    axes.set_xticks(number)
    axes.set_ylim(bottom=0.0)
    axes.legend(fontsize="small")
    return {"allocation-finish": drawing}


def _snr_hz() -> Floats:
    """Return P psi / N0 of 200 mW, outdoors, without line of sight, from the centre of the cell to its border."""
    distance_m = geometry.annulus_distance_m(even_shares(UPLOADS), 10.0, 250.0)
    loss_db = umi.path_loss_db(distance_m, 3.5e9, np.zeros(UPLOADS, dtype=bool))
    # On 1 Hz the mean SNR is P psi / N0.
    return rate.mean_snr(0.2, units.db_to_linear(-loss_db), rate.noise_w_hz(-174.0, 5.0), 1.0)


@cache
def _shares() -> dict[str, Shares]:
    snr_hz = _snr_hz()
    return {
        "equal": allocation.equal(BAND_HZ, snr_hz.size),
        "round_robin": allocation.round_robin(BAND_HZ, snr_hz.size),
        "proportional_fair": allocation.proportional_fair(BAND_HZ, snr_hz),
        "min_makespan": allocation.min_makespan(BAND_HZ, PAYLOAD_BITS, snr_hz),
    }


def _mean_bps(share_hz: Floats) -> Floats:
    return np.asarray(share_hz * rate.mean_rayleigh_bps_hz(SHANNON, _snr_hz() / share_hz))


def _finish_s(shares: Shares) -> Floats:
    return np.asarray(PAYLOAD_BITS / (shares.duty * _mean_bps(shares.bandwidth_hz)))


@cache
def _searched_makespan_s() -> float:
    """Return the time that makes the least bandwidths add up to the band, by bisection in bisection."""
    low_s = 1e-3
    high_s = 1e3
    for _ in range(50):
        middle_s = np.sqrt(low_s * high_s)  # in the middle of the logarithms: the ends are decades apart
        if _least_hz(middle_s).sum() > BAND_HZ:
            low_s = middle_s
        else:
            high_s = middle_s
    return float(high_s)


def _least_hz(time_s: float) -> Floats:
    """Return the least bandwidth [n] that lets each transfer finish in a time."""
    least = np.full(UPLOADS, 1.0)
    most = np.full(UPLOADS, 1e12)
    for _ in range(60):
        middle = np.sqrt(least * most)
        too_slow = _mean_bps(middle) < PAYLOAD_BITS / time_s
        least = np.where(too_slow, middle, least)
        most = np.where(too_slow, most, middle)
    return most
