"""Allocations: when the transfers of one population finish under each, and how the optima compare with a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from channel import allocation, geometry, rate, umi, units
from channel.allocation import Shares
from channel.rate import SHANNON
from channel.validate.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from channel._arrays import Floats

BAND_HZ = 100e6
PAYLOAD_BITS = np.full(20, 21e6)


def checks() -> list[Check]:
    """The two optima, and that each allocation gives out the whole band."""
    snr_hz = _snr_hz()
    results = [
        Check(f"{name}, band given out [MHz]", float((s.bandwidth_hz * s.duty).sum()) / 1e6, BAND_HZ / 1e6, 1e-9)
        for name, s in _shares().items()
    ]
    finish_s = _finish_s(_shares()["min_makespan"])
    results.append(Check("min_makespan, last over first to finish", float(finish_s.max() / finish_s.min()), 1.0, 1e-9))
    results.append(Check("min_makespan, the time [s]", float(finish_s.max()), _searched_makespan_s(), 1e-6))
    share_hz = allocation.proportional_fair(BAND_HZ, snr_hz).bandwidth_hz
    up, down = (np.log(_mean_bps(share_hz * factor)) for factor in (1.0 + 1e-4, 1.0 - 1e-4))
    pull = (up - down) / share_hz
    results.append(Check("proportional_fair, R'/R, highest over lowest", float(pull.max() / pull.min()), 1.0, 1e-3))
    return results


def figures() -> dict[str, Figure]:
    """Finishing times of one population under each allocation."""
    drawing, axes = figure(
        "20 uploads of 21 Mbit in 100 MHz", "terminal, by distance from the base station", "mean finishing time [s]"
    )
    place = np.arange(1, PAYLOAD_BITS.size + 1)
    for name, shares in _shares().items():
        axes.plot(place, _finish_s(shares), label=name)
    searched_s = np.full(place.size, _searched_makespan_s())
    axes.plot(place, searched_s, "kx", markersize=5, label="min_makespan by a plain search")
    axes.set_xticks(place)
    axes.set_ylim(bottom=0.0)
    axes.legend(fontsize="small")
    return {"allocation-finish": drawing}


def _snr_hz() -> Floats:
    """P psi / N0 of 200 mW, outdoors, without line of sight, from the centre of the cell to its border."""
    distance_m = geometry.annulus_distance_m((np.arange(20) + 0.5) / 20.0, 10.0, 250.0)
    gain = units.db_to_linear(-umi.path_loss_db(distance_m, 3.5e9, np.zeros(20, dtype=bool)))
    return np.asarray(0.2 * gain / rate.noise_w_hz(-174.0, 5.0))


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


def _searched_makespan_s() -> float:
    """The time for which the least bandwidths add up to the band, by bisection in bisection."""
    low_s, high_s = 1e-3, 1e3
    for _ in range(50):
        middle_s = np.sqrt(low_s * high_s)
        least, most = np.full(PAYLOAD_BITS.size, 1.0), np.full(PAYLOAD_BITS.size, 1e12)
        for _ in range(60):
            share = np.sqrt(least * most)
            short = _mean_bps(share) < PAYLOAD_BITS / middle_s
            least, most = np.where(short, share, least), np.where(short, most, share)
        low_s, high_s = (middle_s, high_s) if most.sum() > BAND_HZ else (low_s, middle_s)
    return float(high_s)
