"""Transmission time: the distribution that `fast` draws from against transfers walked slot by slot."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from channel import fading, rate, transfer
from channel._arrays import Floats
from channel.cumulants import sum_cumulants, tables_of
from channel.first_passage import MIN_EFFECTIVE_SAMPLES, _passage, walked
from channel.units import db_to_linear
from channel.validate.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CARRIER_HZ, SLOT_S, BANDWIDTH_HZ = 3.5e9, 0.5e-3, 1e6
ROWS = 20_000
LIMIT = 1.63 * np.sqrt(2.0 / ROWS)  # Kolmogorov-Smirnov, two samples, 1 %
LINKS = ((-5.0, 0.5, 300), (-5.0, 30.0, 300), (20.0, 3.0, 600), (20.0, 10.0, 300), (50.0, 10.0, 300))
SERIES = {-5.0: "tab:red", 10.0: "tab:blue", 40.0: "tab:green"}  # mean SNR [dB]
SERIES_SLOTS = (50, 75, 100, 150, 200, 300, 500)
SERIES_SPEED_MPS = 10.0


def checks() -> list[Check]:
    """Distances within what 20,000 transfers a side allow at 1 %; means within 0.5 %; cumulants of a known case."""
    out = []
    for link in LINKS:
        drawn, walks = _drawn(*link), _walked(*link)
        name = "{:g} dB, {:g} m/s, {} slots".format(*link)
        out.append(Check(f"KS distance at {name}", _distance(drawn, walks), 0.0, LIMIT))
        noise = np.hypot(drawn.std(), walks.std()) / np.sqrt(ROWS) / walks.mean()
        out.append(Check(f"mean over mean at {name}", drawn.mean() / walks.mean(), 1.0, max(0.005, 3 * noise)))
    snr, rho = float(db_to_linear(10.0)), _rho(10.0)
    mean = float(sum_cumulants(snr, rho, 500).mean)
    out.append(Check("mean of 500 slots at 10 dB", mean, 500 * float(rate.mean_rayleigh_bps(1.0, snr)), 1e-4))
    spread = np.sqrt(float(sum_cumulants(snr, rho, 500).variance))
    simulated = _sums(snr, rho, 500)
    out.append(Check("standard deviation of 500 slots at 10 dB", spread, float(simulated.std()), 0.02 * spread))
    return out


def figures() -> dict[str, Figure]:
    """Distributions by both engines, and the distance between them over the number of effective samples."""
    return {"transfers-cdf": _cdf_figure(), "transfers-distance": _distance_figure()}


def _cdf_figure() -> Figure:
    drawing, axes = figure("Duration of a transfer", "Duration over payload / mean rate", "Share below")
    share = (np.arange(ROWS) + 0.5) / ROWS
    marks = np.linspace(0, ROWS - 1, 23).astype(int)
    for snr_db, speed_mps, slots in LINKS:
        arguments = _link(snr_db, speed_mps, slots)
        label = f"{snr_db:g} dB, {speed_mps:g} m/s, {slots} slots" + (" (in blocks)" if walked(*arguments)[0] else "")
        (line,) = axes.plot(np.sort(_drawn(snr_db, speed_mps, slots)) / slots, share, label=label)
        by_slots = np.sort(_walked(snr_db, speed_mps, slots)) / slots
        axes.plot(by_slots[marks], share[marks], "o", ms=4, color=line.get_color())
    axes.set(xlim=(0.3, 2.5))
    axes.legend(title="lines: fast, markers: slots")
    return drawing


def _distance_figure() -> Figure:
    drawing, axes = figure(
        f"Distance to {ROWS:,} walked transfers, {SERIES_SPEED_MPS:g} m/s",
        "Effective samples (1 − ρ²) Z / E[bits of a slot]",
        "Kolmogorov-Smirnov distance",
    )
    samples = np.array(SERIES_SLOTS) * (1.0 - _rho(SERIES_SPEED_MPS) ** 2)
    for snr_db, colour in SERIES.items():
        by_slots = [_walked(snr_db, SERIES_SPEED_MPS, slots) for slots in SERIES_SLOTS]
        taken = [walked(*_link(snr_db, SERIES_SPEED_MPS, slots))[0] for slots in SERIES_SLOTS]
        for four, style in ((True, "-"), (False, ":")):
            distance = np.array(
                [
                    _distance(_expansion(snr_db, slots, four=four), walks)
                    for slots, walks in zip(SERIES_SLOTS, by_slots, strict=True)
                ]
            )
            label = f"{snr_db:g} dB, " + ("four cumulants" if four else "normal")
            axes.plot(samples, distance, style, color=colour, label=label)
            if four:
                axes.plot(samples[taken], distance[taken], "o", mfc="white", color=colour)
                axes.plot(samples[np.logical_not(taken)], distance[np.logical_not(taken)], "o", color=colour)
    axes.axhline(1.63 / np.sqrt(ROWS), color="k", lw=1, ls="--", label="1 % by chance")
    axes.axvline(MIN_EFFECTIVE_SAMPLES, color="grey", lw=1)
    axes.set(xscale="log", yscale="log", ylim=(2e-3, 1.5))
    axes.set_xticks(ticks := [3, 4, 6, 8, 12, 20, 30], [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.legend(fontsize="small", ncols=2, title="hollow: walked by fast")
    return drawing


def _expansion(snr_db: float, slots: int, *, four: bool) -> Floats:
    """Slots at even quantiles by the expansion with two or four cumulants, never walked."""
    worth = np.full(100_000, 1.0 - _rho(SERIES_SPEED_MPS) ** 2)
    shape = tables_of(rate.SHANNON).lines(np.full(worth.size, snr_db), worth)
    if not four:
        shape[1:] = 0.0
    normal = ndtri((np.arange(worth.size) + 0.5) / worth.size)
    samples = _passage(slots * worth, normal, shape)
    whole = np.nan_to_num(np.ceil(samples / worth), nan=np.inf)
    return np.asarray(np.maximum(whole, 1.0))


def _distance(one: Floats, other: Floats) -> float:
    from scipy import stats

    return float(stats.ks_2samp(one, other, method="asymp").statistic)


@cache
def _drawn(snr_db: float, speed_mps: float, slots: int) -> Floats:
    generator = np.random.default_rng(3)
    start, normal = _normals(generator, ROWS), generator.standard_normal(ROWS)
    durations_s = transfer.fast(*_link(snr_db, speed_mps, slots), normal, _source(generator), start)
    return np.asarray(np.rint(durations_s / SLOT_S))


@cache
def _walked(snr_db: float, speed_mps: float, slots: int) -> Floats:
    generator = np.random.default_rng(4)
    start = _normals(generator, ROWS)
    durations_s = transfer.slots(*_link(snr_db, speed_mps, slots), _source(generator), start)
    return np.asarray(np.rint(durations_s / SLOT_S))


def _sums(snr: float, rho: float, slots: int) -> Floats:
    generator, total = np.random.default_rng(5), np.zeros(ROWS)
    h = _normals(generator, ROWS)
    for _ in range(slots):
        h = rho * h + np.sqrt(1.0 - rho**2) * _normals(generator, ROWS)
        total += np.log2(1.0 + snr * np.abs(h) ** 2)
    return total


def _link(snr_db: float, speed_mps: float, slots: int) -> tuple[float, float, float, float, float]:
    snr = float(db_to_linear(snr_db))
    payload_bits = slots * float(rate.mean_rayleigh_bps(BANDWIDTH_HZ, snr)) * SLOT_S
    return payload_bits, snr, BANDWIDTH_HZ, SLOT_S, _rho(speed_mps)


def _rho(speed_mps: float) -> float:
    return float(fading.doppler_correlation(speed_mps, CARRIER_HZ, SLOT_S))


def _source(generator: np.random.Generator) -> transfer.Innovations:
    return lambda rows, count: _normals(generator, rows.size, count)


def _normals(generator: np.random.Generator, *shape: int) -> NDArray[np.complex128]:
    pairs = generator.standard_normal((*shape[:-1], 2 * shape[-1])) * np.sqrt(0.5)
    return np.asarray(pairs.view(np.complex128))
