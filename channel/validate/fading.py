"""Small-scale fading: autocorrelation and power of `channel.fading` against their closed forms."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from channel import fading
from channel._arrays import Floats
from channel.units import db_to_linear, linear_to_db
from channel.validate.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPEED_MPS, CARRIER_HZ, SLOT_S = 10.0, 3.5e9, 0.5e-3
ROWS, SLOTS = 20_000, 61
K_DB = (3.0, 9.0)


def checks() -> list[Check]:
    """Autocorrelations within 4 standard errors; Kolmogorov-Smirnov at 1 %."""
    from scipy import stats

    gain, rho = _gains(), _jakes(np.array([1]))[0]
    out = [
        Check("lag 1 of h: J0", _correlation(gain, 1), rho, 4 * np.sqrt((1 + rho**2) / 2 / ROWS)),
        Check("coherence time x f_d", float(fading.coherence_s(3.0, 1e8)), 0.423, 5e-4),
    ]
    for lag in (5, 10, 20, 60):
        error = np.sqrt((1 + rho ** (2 * lag)) / 2 / ROWS)
        out.append(Check(f"lag {lag} of h: rho^{lag}", _correlation(gain, lag), rho**lag, 4 * error))
    limit = 1.63 / np.sqrt(ROWS)
    power = np.abs(gain[:, -1]) ** 2
    out.append(Check("KS distance of |h|^2 to Exp(1)", float(stats.kstest(power, "expon").statistic), 0.0, limit))
    for k_db in K_DB:
        k = float(db_to_linear(k_db))
        law = stats.ncx2(2, 2 * k, scale=0.5 / (k + 1))
        distance = float(stats.kstest(np.abs(fading.ricean(gain[:, -1], k)) ** 2, law.cdf).statistic)
        out.append(Check(f"KS distance of |h|^2 to Rice, K = {k_db:g} dB", distance, 0.0, limit))
    blocks = fading.block(_normals(3, ROWS, SLOTS), 7, 0.0)
    for lag in (6, 7):  # slots 0 to 6 are a block
        expected = float(lag < 7)
        out.append(Check(f"lag {lag} of blocks of 7", _correlation(blocks, lag), expected, 4 / np.sqrt(ROWS)))
    return out


def figures() -> dict[str, Figure]:
    """An envelope of each model, the autocorrelation of h, and the distribution of its power."""
    return {
        "fading-envelope": _envelope_figure(),
        "fading-autocorrelation": _autocorrelation_figure(),
        "fading-power": _power_figure(),
    }


def _envelope_figure() -> Figure:
    drawing, axes = figure("Fading at 10 m/s, 3.5 GHz, slots of 0.5 ms", "Time [ms]", "Power |h|² [dB]")
    noise, start = _normals(11, 1, 200), _normals(12, 1)
    rayleigh = fading.gauss_markov(noise, fading.doppler_correlation(SPEED_MPS, CARRIER_HZ, SLOT_S), start)
    hold = np.rint(fading.coherence_s(SPEED_MPS, CARRIER_HZ) / SLOT_S)
    time_ms = 1e3 * SLOT_S * np.arange(200)
    for label, gain in (
        ("Rayleigh", rayleigh),
        ("Ricean, K = 9 dB", fading.ricean(rayleigh, db_to_linear(9.0))),
        (f"block of {hold:g} slots", fading.block(noise, hold, start)),
    ):
        axes.step(time_ms, linear_to_db(np.abs(gain[0]) ** 2), where="post", label=label, lw=1)
    axes.set(ylim=(-24, 10))
    axes.legend(loc="upper left", ncols=3)
    return drawing


def _autocorrelation_figure() -> Figure:
    drawing, axes = figure("Autocorrelation of h at 10 m/s, 3.5 GHz, slots of 0.5 ms", "Lag [slots]", "Autocorrelation")
    lags = np.arange(SLOTS)
    rho = fading.doppler_correlation(SPEED_MPS, CARRIER_HZ, SLOT_S)
    fine = np.linspace(0, SLOTS - 1, 400)
    axes.plot(fine, _jakes(fine), "--", color="tab:orange", label="Jakes: J0(2π f_d k τ)")
    axes.plot(lags, rho**lags, "k-", label="Gauss-Markov: ρ^k")
    simulated = [_correlation(_gains(), int(lag)) for lag in lags[::2]]
    axes.plot(lags[::2], simulated, "o", ms=4, label=f"gauss_markov, {ROWS:,} runs")
    axes.legend()
    return drawing


def _power_figure() -> Figure:
    from scipy import stats

    drawing, axes = figure("Power of the gain", "|h|² [dB]", "Share below")
    level_db = np.linspace(-25, 8, 23)
    level = db_to_linear(level_db)
    share = (np.arange(ROWS) + 0.5) / ROWS
    for k_db in (None, *K_DB):
        k = 0.0 if k_db is None else float(db_to_linear(k_db))
        label = "Rayleigh" if k_db is None else f"Ricean, K = {k_db:g} dB"
        power = np.sort(np.abs(fading.ricean(_gains()[:, -1], k)) ** 2)
        (line,) = axes.plot(linear_to_db(power), share, label=label)
        law = -np.expm1(-level) if k == 0 else stats.ncx2.cdf(level, 2, 2 * k, scale=0.5 / (k + 1))
        axes.plot(level_db, law, "o", ms=4, color=line.get_color())
    axes.set(yscale="log", xlim=(-26, 9), ylim=(3e-4, 1.5))
    axes.legend(loc="upper left", title="lines: channel.fading, markers: theory")
    return drawing


def _jakes(lags: Floats | NDArray[np.int64]) -> Floats:
    """The function J0(2 pi f_d k tau) by its integral (DLMF 10.9.1), apart from the library's Bessel function."""
    x = 2 * np.pi * SPEED_MPS * CARRIER_HZ / 3.0e8 * SLOT_S * lags
    angles = np.pi * (np.arange(400) + 0.5) / 400  # the midpoint rule converges geometrically here
    return np.asarray(np.cos(x[:, None] * np.sin(angles)).mean(axis=1))


@cache
def _gains() -> NDArray[np.complex128]:
    rho = fading.doppler_correlation(SPEED_MPS, CARRIER_HZ, SLOT_S)
    return fading.gauss_markov(_normals(1, ROWS, SLOTS), rho, _normals(2, ROWS))


def _correlation(gain: NDArray[np.complex128], lag: int) -> float:
    """E Re(h[0]* h[lag]) over the rows."""
    return float(np.mean(gain[:, 0].conj() * gain[:, lag]).real)


def _normals(seed: int, *shape: int) -> NDArray[np.complex128]:
    """Draws of CN(0, 1)."""
    parts = np.random.default_rng(seed).standard_normal((*shape, 2)) * np.sqrt(0.5)
    return np.asarray(parts[..., 0] + 1j * parts[..., 1])
