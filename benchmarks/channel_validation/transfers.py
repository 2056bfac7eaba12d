"""Transmission time: the distribution that `fast` draws from against transfers walked slot by slot."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

from channel import fading, first_passage, rate, transfer
from channel._arrays import Complex, Floats, Rows
from channel.cumulants import sum_cumulants, tables_of
from channel.units import db_to_linear
from channel_validation.report import CARRIER_HZ, KS_ONE_PERCENT, SLOT_S, Check, even_shares, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BANDWIDTH_HZ = 1e6
TRANSFERS = 20_000  # on each side of a comparison
KS_LIMIT = KS_ONE_PERCENT * np.sqrt(2.0 / TRANSFERS)  # of two samples


class Case(NamedTuple):
    """A transfer: mean SNR, speed and payload, the latter in slots at the mean rate."""

    snr_db: float
    speed_mps: float
    slots: int


CASES = (
    Case(-5.0, 0.5, 300),
    Case(-5.0, 30.0, 300),
    Case(20.0, 3.0, 600),
    Case(20.0, 10.0, 300),
    Case(50.0, 10.0, 300),
)
SERIES = {-5.0: "tab:red", 10.0: "tab:blue", 40.0: "tab:green"}  # mean SNR [dB]
SERIES_SLOTS = (50, 75, 100, 150, 200, 300, 500)
SERIES_SPEED_MPS = 10.0


def checks() -> list[Check]:
    """Check distances within what 20,000 transfers a side allow at 1 %, means within 0.5 %, and known cumulants."""
    found = []
    for case in CASES:
        drawn = _drawn(case)
        walks = _walked(case)
        name = f"{case.snr_db:g} dB, {case.speed_mps:g} m/s, {case.slots} slots"
        found.append(Check(f"KS distance at {name}", _distance(drawn, walks), 0.0, KS_LIMIT))
        # Where the simulated mean itself is not known to 0.5 %, three standard errors are allowed.
        noise = np.hypot(drawn.std(), walks.std()) / np.sqrt(TRANSFERS) / walks.mean()
        ratio = drawn.mean() / walks.mean()
        found.append(Check(f"mean over mean at {name}", ratio, 1.0, max(0.005, 3 * noise)))
    snr = float(db_to_linear(10.0))
    rho = _rho(10.0)
    # The mean has a closed form, and the variance is simulated.
    cumulants = sum_cumulants(snr, rho, 500)
    exact = 500 * float(rate.mean_rayleigh_bps(1.0, snr))
    found.append(Check("mean of 500 slots at 10 dB", float(cumulants.mean), exact, 1e-4))
    spread = np.sqrt(float(cumulants.variance))
    simulated = float(_sums(snr, rho, 500).std())
    found.append(Check("standard deviation of 500 slots at 10 dB", spread, simulated, 0.02 * spread))
    return found


def figures() -> dict[str, Figure]:
    """Draw distributions by both engines, and the distance between them over the number of effective samples."""
    return {"transfers-cdf": _cdf_figure(), "transfers-distance": _distance_figure()}


def _cdf_figure() -> Figure:
    drawing, axes = figure("Duration of a transfer", "Duration over payload / mean rate", "Share below")
    share = even_shares(TRANSFERS)
    # Both sides are sorted, so equal positions are equal quantiles; a few markers show the walked side.
    marks = np.linspace(0, TRANSFERS - 1, 23).astype(int)
    for case in CASES:
        label = f"{case.snr_db:g} dB, {case.speed_mps:g} m/s, {case.slots} slots"
        if first_passage.walked(*_link(case))[0]:
            label += " (in blocks)"
        (line,) = axes.plot(np.sort(_drawn(case)) / case.slots, share, label=label)
        by_slots = np.sort(_walked(case)) / case.slots
        axes.plot(by_slots[marks], share[marks], "o", ms=4, color=line.get_color())
    axes.set(xlim=(0.3, 2.5))
    axes.legend(title="lines: fast, markers: slots")
    return drawing


def _distance_figure() -> Figure:
    drawing, axes = figure(
        f"Distance to {TRANSFERS:,} walked transfers, {SERIES_SPEED_MPS:g} m/s",
        "Effective samples (1 − ρ²) Z / E[bits of a slot]",
        "Kolmogorov-Smirnov distance",
    )
    for snr_db, colour in SERIES.items():
        _draw_distances(axes, snr_db, colour)
    axes.axhline(KS_ONE_PERCENT / np.sqrt(TRANSFERS), color="k", lw=1, ls="--", label="1 % by chance")
    axes.axvline(first_passage.MIN_EFFECTIVE_SAMPLES, color="grey", lw=1)
    axes.set(xscale="log", yscale="log", ylim=(2e-3, 1.5))
    ticks = [3, 4, 6, 8, 12, 20, 30]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.legend(fontsize="small", ncols=2, title="hollow: walked by fast")
    return drawing


def _draw_distances(axes: Axes, snr_db: float, colour: str) -> None:
    """Draw the distances of the expansion with four cumulants and with two, the normal law, at one mean SNR."""
    cases = [Case(snr_db, SERIES_SPEED_MPS, slots) for slots in SERIES_SLOTS]
    samples = np.array(SERIES_SLOTS) * (1.0 - _rho(SERIES_SPEED_MPS) ** 2)
    walked = np.array([first_passage.walked(*_link(case))[0] for case in cases])
    by_four = np.array([_distance(_expansion(case, four=True), _walked(case)) for case in cases])
    by_two = np.array([_distance(_expansion(case, four=False), _walked(case)) for case in cases])
    axes.plot(samples, by_four, "-", color=colour, label=f"{snr_db:g} dB, four cumulants")
    axes.plot(samples[walked], by_four[walked], "o", mfc="white", color=colour)
    axes.plot(samples[~walked], by_four[~walked], "o", color=colour)
    axes.plot(samples, by_two, ":", color=colour, label=f"{snr_db:g} dB, normal")


def _expansion(case: Case, *, four: bool) -> Floats:
    """Return slots at even quantiles by the expansion with two or four cumulants, never walked."""
    worth = np.full(100_000, 1.0 - _rho(case.speed_mps) ** 2)
    lines = tables_of(rate.SHANNON).lines(np.full(worth.size, case.snr_db), worth)
    if not four:
        lines[1:] = 0.0  # what is left is a variance in proportion to time, the normal law
    samples = first_passage.passage(case.slots * worth, ndtri(even_shares(worth.size)), lines)
    # Far below the bounds of `fast` the expansion may have no solution: such a transfer counts as endless.
    whole = np.nan_to_num(np.ceil(samples / worth), nan=np.inf)
    return np.asarray(np.maximum(whole, 1.0))


def _distance(one: Floats, other: Floats) -> float:
    from scipy import stats

    return float(stats.ks_2samp(one, other, method="asymp").statistic)


@cache
def _drawn(case: Case) -> Floats:
    """Return the slots of transfers by `fast`."""
    generator = np.random.default_rng(3)
    start = _normals(generator, TRANSFERS)
    normal = generator.standard_normal(TRANSFERS)
    durations_s = transfer.fast(*_link(case), normal, _source(generator), start)
    return np.asarray(np.rint(durations_s / SLOT_S))


@cache
def _walked(case: Case) -> Floats:
    """Return the slots of transfers that were walked."""
    generator = np.random.default_rng(4)  # not the seed of `_drawn`: the two sides are independent samples
    start = _normals(generator, TRANSFERS)
    durations_s = transfer.slots(*_link(case), _source(generator), start)
    return np.asarray(np.rint(durations_s / SLOT_S))


def _sums(snr: float, rho: float, slots: int) -> Floats:
    """Return simulated sums [TRANSFERS] of the spectral efficiencies of consecutive slots."""
    generator = np.random.default_rng(5)
    total = np.zeros(TRANSFERS)
    # The process word for word, apart from `fading.gauss_markov`.
    h = _normals(generator, TRANSFERS)
    for _ in range(slots):
        h = rho * h + np.sqrt(1.0 - rho**2) * _normals(generator, TRANSFERS)
        total += np.log2(1.0 + snr * np.abs(h) ** 2)
    return total


def _link(case: Case) -> tuple[float, float, float, float, float]:
    """Return the first arguments of both engines, from the payload to the correlation."""
    snr = float(db_to_linear(case.snr_db))
    payload_bits = case.slots * float(rate.mean_rayleigh_bps(BANDWIDTH_HZ, snr)) * SLOT_S
    return payload_bits, snr, BANDWIDTH_HZ, SLOT_S, _rho(case.speed_mps)


def _rho(speed_mps: float) -> float:
    return float(fading.doppler_correlation(speed_mps, CARRIER_HZ, SLOT_S))


def _source(generator: np.random.Generator) -> transfer.Innovations:
    def draw(rows: Rows, count: int) -> Complex:
        return _normals(generator, rows.size, count)

    return draw


def _normals(generator: np.random.Generator, *shape: int) -> Complex:
    """Return draws of CN(0, 1)."""
    pairs = generator.standard_normal((*shape[:-1], 2 * shape[-1])) * np.sqrt(0.5)
    return np.asarray(pairs.view(np.complex128))
