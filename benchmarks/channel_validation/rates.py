"""Rate models: efficiency over the SNR, its mean over Rayleigh fading, the rate's distribution."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from channel import rate, units
from channel._arrays import Floats
from channel.mcs import TABLES, Mcs
from channel.rate import SHANNON, TRUNCATED, Efficiency
from channel_validation.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS: dict[str, Efficiency] = {
    "Shannon": SHANNON,
    "truncated Shannon": TRUNCATED,
    "MCS, 256QAM table": Mcs(),
    "MCS, 64QAM table": Mcs(table="64qam"),
}
POWER_DRAWS = 200_000


def checks() -> list[Check]:
    """Check means by Monte Carlo and quadrature, and thresholds by what the constellations can carry."""
    found = []
    power = _powers()
    for name, model in MODELS.items():
        for snr_db in (0.0, 20.0):
            snr = float(units.db_to_linear(snr_db))
            sample = model.bps_hz(snr * power)
            tolerance = 4.0 * float(sample.std()) / math.sqrt(POWER_DRAWS)
            exact = float(rate.mean_rayleigh_bps_hz(model, snr))
            found.append(Check(f"{name}, mean at {snr_db:g} dB [b/s/Hz]", exact, float(sample.mean()), tolerance))
    # One SNR below the border of the series, one above it, and one where e^(1/s) is nearly 1.
    for snr in (1e-3, 1.0, 1e6):
        exact = float(rate.mean_rayleigh_bps(1.0, snr))
        found.append(Check(f"ergodic capacity at {snr:g} [b/s/Hz]", exact, _quadrature_bps_hz(snr), 1e-9 * exact))
    # A scheme below what its constellation can carry would be better than any code.
    slack_db = units.linear_to_db(Mcs().thresholds) - _needed_db()
    found.append(Check("lowest MCS above what its constellation needs [dB]", float(slack_db[0]), 3.0, 0.05))
    found.append(Check("highest MCS above what its constellation needs [dB]", float(slack_db[-1]), 1.26, 0.05))
    return found


def figures() -> dict[str, Figure]:
    """Draw the efficiency over the SNR, its mean over the mean SNR, and the distribution of Shannon's rate."""
    return {
        "rate-efficiency": _efficiency_figure(),
        "rate-mean": _mean_figure(),
        "rate-distribution": _distribution_figure(),
    }


def constellation_snr(order: int, bits: float) -> float:
    """Return the least SNR [1] for 2^order-QAM over AWGN to carry `bits` bits a symbol, whatever the code.

    The mutual information of the constellation by Gauss-Hermite quadrature, inverted by bisection.
    """
    unit = np.arange(1.0 - 2 ** (order // 2), 2 ** (order // 2), 2.0)  # amplitudes of one quadrature
    unit /= math.sqrt(2.0 * float(np.mean(unit**2)))  # both quadratures together have power 1
    low = 1e-2
    high = 1e4
    for _ in range(50):
        middle = math.sqrt(low * high)
        if _constellation_bits(order, math.sqrt(middle) * unit) < bits:
            low = middle
        else:
            high = middle
    return high


def _constellation_bits(order: int, levels: Floats) -> float:
    """Return the mutual information [bit] of 2^order-QAM with these amplitudes [a] of one quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(60)
    # Axes: noise, amplitude that was sent, amplitude that it may be taken for.
    distance = nodes[:, None] + levels[:, None, None] - levels
    confusion = np.log2(np.exp(nodes[:, None] ** 2 - distance**2).sum(-1))
    penalty = confusion @ weights / math.sqrt(math.pi)
    # The quadratures are alike: each loses the penalty once.
    return order - 2.0 * float(penalty.mean())


@cache
def _needed_db() -> Floats:
    """Return the SNR [dB] that the constellation of each scheme of the 256QAM table needs, in the table's order."""
    needed = [constellation_snr(order, order * code_rate / 1024.0) for order, code_rate in TABLES["256qam"]]
    return units.linear_to_db(needed)


def _efficiency_figure() -> Figure:
    drawing, axes = figure("Spectral efficiency of a slot", "SNR [dB]", "spectral efficiency [bit/s/Hz]")
    snr_db = np.linspace(-12.0, 35.0, 2_000)
    for name, model in MODELS.items():
        axes.plot(snr_db, model.bps_hz(units.db_to_linear(snr_db)), label=name, zorder=2)
    carried = [order * code_rate / 1024.0 for order, code_rate in TABLES["256qam"]]
    axes.plot(_needed_db(), carried, "k.", markersize=4, label="limit of each constellation (256QAM table)")
    # Above -10 dB, below which the report's curve is 0.
    few_db = np.arange(-9.0, 31.0, 3.0)
    by_hand = [min(0.6 * math.log2(1.0 + 10.0 ** (x / 10.0)), 4.4) for x in few_db]
    axes.plot(few_db, by_hand, "kx", markersize=5, label="TR 36.942, Annex A.2")
    axes.set_ylim(0.0, 9.0)
    axes.legend(fontsize="small")
    return drawing


def _mean_figure() -> Figure:
    drawing, axes = figure("Mean over Rayleigh fading", "mean SNR [dB]", "mean spectral efficiency [bit/s/Hz]")
    snr_db = np.linspace(-15.0, 45.0, 400)
    few_db = np.arange(-12.0, 45.0, 6.0)
    power = _powers()
    for name, model in MODELS.items():
        (line,) = axes.plot(snr_db, rate.mean_rayleigh_bps_hz(model, units.db_to_linear(snr_db)), label=name)
        simulated = [model.bps_hz(units.db_to_linear(x) * power).mean() for x in few_db]
        axes.plot(few_db, simulated, "o", color=line.get_color(), markersize=4)
    axes.plot([], [], "ko", markersize=4, label=f"mean of {POWER_DRAWS:,} draws")
    axes.legend(fontsize="small")
    return drawing


def _distribution_figure() -> Figure:
    drawing, axes = figure("Shannon's rate under Rayleigh fading", "rate [bit/s/Hz]", "probability of a lower rate")
    # Few draws, and every 50th of them as a marker: a smooth curve would hide the law under it.
    sample = _powers()[:2_000]
    r = np.linspace(0.0, 14.0, 400)
    for snr_db in (0.0, 10.0, 20.0, 30.0):
        snr = float(units.db_to_linear(snr_db))
        (line,) = axes.plot(r, 1.0 - np.exp(-(2.0**r - 1.0) / snr), label=f"mean SNR {snr_db:g} dB")
        rates = np.sort(SHANNON.bps_hz(snr * sample))[::50]
        axes.plot(rates, (np.arange(rates.size) * 50 + 0.5) / sample.size, "o", color=line.get_color(), markersize=4)
    axes.plot([], [], "ko", markersize=4, label="2,000 draws")
    axes.legend(fontsize="small")
    return drawing


def _powers() -> Floats:
    """Return draws of |h|^2."""
    return np.random.default_rng(1).standard_exponential(POWER_DRAWS)


def _quadrature_bps_hz(snr: float) -> float:
    """Return E[log2(1 + s x)] of x ~ Exp(1) by the trapezoidal rule over ln x, where it converges exponentially."""
    t = np.linspace(-45.0, 5.0, 4_001)
    return float(np.sum(np.log1p(snr * np.exp(t)) * np.exp(t - np.exp(t))) * (t[1] - t[0])) / math.log(2.0)
