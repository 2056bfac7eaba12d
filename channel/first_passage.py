"""Transmission time without walking the slots: the distribution of a first passage from the cumulants of a sum.

A transfer of Z bits is over in slot n or before exactly when S_n, the bits of its first n slots, has reached Z; so the
distribution of its length follows from those of S_n. Rates are functions of x = |h|^2 ~ Exp(1), and a step of the
Gauss-Markov process multiplies the Laguerre polynomial L_j(x) by r^j in the mean, r = rho^2 (Hardy-Hille formula). In
this basis the generating function of S_n is the power of a matrix, and its cumulants follow from the largest
eigenvalue. Cornish and Fisher's expansion turns them into quantiles.

Everything scales with d = 1 - r, the part of an independent sample that a slot is worth: n slots are n d *effective
samples*, and in these units the cumulants hardly depend on rho.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._checks import Floats, non_negative, positive, require, vectors, within
from channel.rate import SHANNON, Efficiency, mean_rayleigh_bps_hz

if TYPE_CHECKING:
    from channel.transfer import Innovations

MIN_EFFECTIVE_SAMPLES = 8.0  # below, what is left of r^n shows
MAX_SKEWNESS = 0.7  # of S_n; above, four cumulants are too few
MAX_EXCESS_KURTOSIS = 1.0  # of S_n
BLOCK_EFFECTIVE_SAMPLES = 1.0 / 32.0  # of a block of equal slots, where transfers are walked
MIN_BLOCKS = 16  # in a payload at the mean rate, where it is walked

LOW_DB, HIGH_DB = -40, 120  # mean SNRs of the tables, in steps of 1 dB; outside transfers are walked
STEPS = 12  # of the tables over the correlation, even in sqrt(d)
MODES, NODES = 48, 480  # Laguerre polynomials, and points at which functions of x are known
MEAN_STEPS = 4  # of the table of the mean within 1 dB
SILENT_BPS_HZ = 1e-12  # mean below which a link's cumulants do not matter: nothing gets through
ITERATIONS = 3  # of Newton's method: slots are then right to 1e-7 of their standard deviation
CHUNK = 2**12  # transfers at once: their temporary arrays stay in the cache


class Cumulants(NamedTuple):
    """First four cumulants of a sum, each of the shape of the arguments."""

    mean: Floats
    variance: Floats
    third: Floats
    fourth: Floats


def fast(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    normal: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    max_slots: int | None = None,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
) -> Floats:
    """Durations of transfers, distributed as those of `transfer.walk` (paper, eq. 26 and 41) from a stationary start.

    Long transfers cost one standard normal each: the number of slots is the smallest n at which the quantile of S_n
    for that normal reaches the payload. Those marked by `walked` are walked, in blocks of slots with one rate where
    fading is slow; channels that do not change have a closed form. A row's result depends on its own arguments and
    draws alone.

    Args:
        payload_bits: bits to send [bit], [n] or a scalar; 0 takes no slot.
        mean_snr: signal-to-noise ratio at |h|^2 = 1 [1], [n] or a scalar.
        bandwidth_hz: bandwidth of each transfer [Hz], [n] or a scalar.
        slot_s: length of a slot [s].
        correlation: rho of the fading between neighbouring slots, [n] or a scalar.
        normal: a draw of the standard normal distribution for each transfer, [n]; larger is faster.
        innovations: source of the draws e of `transfer.walk`; asked for rows that are walked only.
        start: h in the slot before the first, complex [n] or a scalar; of no effect on rows that are not walked.
        max_slots: limit on the length of a transfer [slots]; `transfer.MAX_SLOTS` if None.
        efficiency: spectral efficiency over the SNR of a slot.
        k_factor: Ricean K [1], [n] or a scalar; 0 is Rayleigh fading. All others are walked.

    Returns:
        Durations [s], [n].

    Raises:
        TransferTooLong: a transfer takes more than `max_slots`, either by its mean rate or by its draws.
        ValueError: an argument is out of range or NaN, or `innovations` returns another shape.
    """
    from channel import transfer

    limit = transfer.MAX_SLOTS if max_slots is None else max_slots
    draws = np.asarray(normal, dtype=np.float64)
    require(np.isfinite(draws), draws, "normal", "finite")
    payload, _ = np.broadcast_arrays(payload_bits, draws)
    rows = _Rows(payload, mean_snr, bandwidth_hz, slot_s, correlation, efficiency, k_factor)
    draws = np.broadcast_to(draws, rows.payload.shape)
    slots = np.zeros(rows.payload.shape)
    exact, hold = rows.constant.copy(), np.ones(rows.payload.shape, dtype=np.int64)
    for part in rows.chunks():
        link = rows.look_up(part)
        rows.refuse(part[link.covered & (link.mean_slots > limit)], limit)
        exact[part] = ~link.enough
        hold[part] = _block_slots(link.mean_slots, rows.correlation[part])
        many, worth = part[link.enough], link.worth[link.enough]
        samples = _passage(link.mean_slots[link.enough] * worth, draws[many], link.shape[:, link.enough])
        slots[many] = np.maximum(np.ceil(samples / worth), 1.0)
    rows.refuse(np.flatnonzero(slots > limit), limit)
    durations_s = slots * slot_s
    if exact.any():
        those = np.flatnonzero(exact)
        durations_s[those] = transfer.slots(
            rows.payload[those],
            rows.snr[those],
            rows.bandwidth_hz[those],
            slot_s,
            rows.correlation[those] ** hold[those],
            lambda at, count: innovations(those[at], count),
            np.broadcast_to(np.asarray(start), rows.payload.shape)[those],
            limit,
            efficiency,
            rows.k_factor[those],
            hold[those],
        )
    return durations_s


def walked(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
) -> NDArray[np.bool_]:
    """Which transfers `fast` walks, bool [n]: those of too few effective samples, and what its tables do not cover.

    Args:
        payload_bits: see `fast`, as all arguments.
        mean_snr: see there.
        bandwidth_hz: see there.
        slot_s: see there.
        correlation: see there.
        efficiency: see there.
        k_factor: see there.

    Returns:
        True for transfers of fewer than 8 effective samples, of sums with a skewness above 0.7 or an excess kurtosis
        above 1, of a mean SNR outside -40 to 120 dB or in Ricean fading. False for a payload of 0 and for a channel
        that does not change.

    Raises:
        ValueError: an argument is out of range or NaN.
    """
    rows = _Rows(payload_bits, mean_snr, bandwidth_hz, slot_s, correlation, efficiency, k_factor)
    mask = np.zeros(rows.payload.shape, dtype=np.bool_)
    for part in rows.chunks():
        mask[part] = ~rows.look_up(part).enough
    return mask


def sum_cumulants(
    mean_snr: ArrayLike, correlation: ArrayLike, slots: ArrayLike, efficiency: Efficiency = SHANNON
) -> Cumulants:
    """Cumulants of the sum of the spectral efficiencies of `slots` consecutive slots of Rayleigh fading.

    They leave out what falls as r^slots, r = correlation^2, so they need some effective samples.

    Args:
        mean_snr: mean signal-to-noise ratio [1], -40 to 120 dB.
        correlation: rho of the fading between neighbouring slots, inside (-1, 1).
        slots: number of slots, positive.
        efficiency: spectral efficiency over the SNR of a slot.

    Returns:
        Cumulants [(bit/s/Hz)^p, p = 1 to 4], of the broadcast shape of the arguments.

    Raises:
        ValueError: an argument is out of range or NaN.
    """
    rho = within("correlation", correlation, -1.0, 1.0)
    require(np.abs(rho) < 1, rho, "correlation", "inside (-1, 1)")
    snr, rho, n = np.broadcast_arrays(_table_snr(mean_snr), rho, positive("slots", slots))
    tables, worth = _tables(efficiency), _worth(rho)
    db = _decibels(snr)
    unit = np.exp(_log_mean(tables, db)) / worth  # an effective sample at the mean rate
    scaled = _cumulants(n * worth, _shape(tables, db.ravel(), worth.ravel()).reshape(-1, *n.shape))
    return Cumulants(unit * n * worth, *(unit**p * c for p, c in enumerate(scaled, 2)))


class _Links(NamedTuple):
    """What is known of transfers before they begin, each [r] but `shape`."""

    mean_slots: Floats  # the payload at the mean rate
    worth: Floats  # effective samples in a slot
    shape: Floats  # of the cumulants, [6, r]: see `_cumulants`
    covered: NDArray[np.bool_]  # by the tables
    enough: NDArray[np.bool_]  # effective samples for the expansion


class _Rows:
    """Checked arguments of transfers, each [n]."""

    def __init__(
        self,
        payload_bits: ArrayLike,
        mean_snr: ArrayLike,
        bandwidth_hz: ArrayLike,
        slot_s: float,
        correlation: ArrayLike,
        efficiency: Efficiency,
        k_factor: ArrayLike,
    ) -> None:
        k = np.asarray(k_factor, dtype=np.float64)
        require(k >= 0, k, "k_factor", "not below 0")
        columns = vectors(
            non_negative("payload_bits", payload_bits),
            non_negative("mean_snr", mean_snr),
            positive("bandwidth_hz", bandwidth_hz),
            within("correlation", correlation, -1.0, 1.0),
            k,
        )
        self.payload, self.snr, self.bandwidth_hz, self.correlation, self.k_factor = columns
        self.slot_s = positive("slot_s", slot_s)
        self.tables = _tables(efficiency)
        self.constant = (np.abs(self.correlation) == 1.0) | (self.k_factor == np.inf)

    def chunks(self) -> Iterator[NDArray[np.intp]]:
        """Rows with something to send over a channel that changes, some at a time."""
        rows = np.flatnonzero((self.payload > 0) & ~self.constant)
        return (rows[first : first + CHUNK] for first in range(0, rows.size, CHUNK))

    def look_up(self, rows: NDArray[np.intp]) -> _Links:
        """What the tables say of `rows`."""
        db = _decibels(self.snr[rows])
        mean_bits = self.bandwidth_hz[rows] * self.slot_s * np.exp(_log_mean(self.tables, db))
        mean_slots, worth = self.payload[rows] / mean_bits, _worth(self.correlation[rows])
        shape = _shape(self.tables, db, worth)
        variance, third, fourth = _cumulants(mean_slots * worth, shape)
        covered = (db >= LOW_DB) & (db <= HIGH_DB) & (self.k_factor[rows] == 0)
        enough = (
            covered
            & (mean_slots * worth >= MIN_EFFECTIVE_SAMPLES)
            & (third**2 <= MAX_SKEWNESS**2 * variance**3)
            & (np.abs(fourth) <= MAX_EXCESS_KURTOSIS * variance**2)
        )
        return _Links(mean_slots, worth, shape, covered, enough)

    def refuse(self, rows: NDArray[np.intp], max_slots: int) -> None:
        """Raise TransferTooLong if there are any such `rows`."""
        from channel.transfer import TransferTooLong

        if rows.size:
            lowest = self.snr[rows].min()
            raise TransferTooLong(
                f"{rows.size} transfer(s) need more than {max_slots} slots; lowest mean SNR {lowest:.3g}"
            )


def _worth(correlation: Floats) -> Floats:
    """Effective samples in a slot, d = 1 - rho^2, without cancellation near 1."""
    return np.asarray((1.0 - correlation) * (1.0 + correlation))


def _decibels(snr: Floats) -> Floats:
    return np.asarray(10.0 * np.log10(np.maximum(snr, 1e-30)))


def _block_slots(mean_slots: Floats, correlation: Floats) -> NDArray[np.int64]:
    """Slots walked at one rate: a small part of an effective sample, and of the transfer."""
    rho = np.clip(correlation, 1e-9, 1.0 - 1e-15)
    slots = np.minimum(BLOCK_EFFECTIVE_SAMPLES / (-2.0 * np.log(rho)), mean_slots / MIN_BLOCKS)
    return np.maximum(slots, 1.0).astype(np.int64)


def _cumulants(samples: Floats, shape: Floats) -> tuple[Floats, Floats, Floats]:
    """Second to fourth cumulant of S_n d / m over t = `samples` = n d effective samples.

    They are straight lines, V (t + A2), V (C3 t + B3) and V (C4 t + B4), and `shape` is [ln V, A2, C3, B3, C4, B4].
    """
    log_v, a2, c3, b3, c4, b4 = shape
    v = np.exp(log_v)
    return v * np.maximum(samples + a2, 0.25 * samples), v * (c3 * samples + b3), v * (c4 * samples + b4)


def _passage(payload: Floats, normal: Floats, shape: Floats) -> Floats:
    """Effective samples t at which the quantile of the sum reaches `payload`, by Newton's method.

    The quantile is t + s (z + g1 (z^2 - 1)/6 + g2 (z^3 - 3z)/24 - g1^2 (2z^3 - 5z)/36) for a standard normal z, with
    the standard deviation s, skewness g1 and excess kurtosis g2 of the sum (Cornish and Fisher, 1938).
    """
    z = normal
    square = z * z
    he2, he3, he11 = (square - 1.0) / 6.0, z * (square - 3.0) / 24.0, z * (2.0 * square - 5.0) / 36.0
    v = np.exp(shape[0])
    root = 0.5 * (np.sqrt(v * square + 4.0 * payload) - np.sqrt(v) * z)  # the normal law alone, t + (v t)^(1/2) z
    t = root * root
    for _ in range(ITERATIONS):
        variance, third, fourth = _cumulants(t, shape)
        deviation, lean = np.sqrt(variance), third / variance
        bend = z + (fourth * he3 - third * lean * he11) / (variance * variance)
        quantile = t + deviation * bend + lean * he2
        slope = np.maximum(1.0 + 0.5 * v * z / deviation, 0.25)
        t = np.maximum(t - (quantile - payload) / slope, 0.25 * t)
    return np.asarray(t)


class _Tables(NamedTuple):
    """Of one efficiency, over the mean SNR from `LOW_DB` to `HIGH_DB`."""

    log_mean: Floats  # ln E[e], `MEAN_STEPS` in 1 dB
    shape: Floats  # [6, dB * (STEPS + 1)]: see `_cumulants`; one in 1 dB, and over sqrt(d) from 0 to 1


@cache
def _tables(efficiency: Efficiency) -> _Tables:
    snr = 10.0 ** (np.arange(LOW_DB, HIGH_DB + 1) / 10.0)
    x, root, modes = _laguerre()
    values = np.asarray(efficiency.bps_hz(snr[:, None] * x))
    worth = np.clip(np.linspace(0.0, 1.0, STEPS + 1) ** 2, 1e-8, 1.0 - 1e-8)
    shape = np.stack([_scaled_shape(values, d, root, modes) for d in worth], axis=-1)
    fine_db = np.linspace(LOW_DB, HIGH_DB, MEAN_STEPS * (HIGH_DB - LOW_DB) + 1)
    means = mean_rayleigh_bps_hz(efficiency, 10.0 ** (fine_db / 10.0))
    return _Tables(np.log(np.maximum(means, SILENT_BPS_HZ)), shape.reshape(6, -1))


def _laguerre() -> tuple[Floats, Floats, Floats]:
    """Points x [q], roots of the weights of a quadrature over Exp(1) [q], and Laguerre polynomials times these [k, q].

    Points are even in t with x = ln(1 + e^t)^2: many in deep fades, and some to every wave of the polynomials.
    """
    t = np.linspace(-14.0, 16.5, NODES)
    amplitude = np.logaddexp(0.0, t)
    x = amplitude**2
    weight = np.exp(-x) * 2.0 * amplitude / (1.0 + np.exp(-t)) * (t[1] - t[0])
    modes = np.empty((MODES, NODES))
    modes[0], modes[1] = 1.0, 1.0 - x
    for j in range(1, MODES - 1):  # DLMF 18.9.1
        modes[j + 1] = ((2 * j + 1 - x) * modes[j] - j * modes[j - 1]) / (j + 1)
    root = np.sqrt(weight)
    return x, root, modes * root


def _scaled_shape(values: Floats, worth: float, root: Floats, modes: Floats) -> Floats:
    """[ln V, A2, C3, B3, C4, B4] of `_cumulants`, [6, s], of efficiencies `values` [s, q] at the points of `_laguerre`.

    E[exp(theta S_n)] = <1, (M D)^n 1>, where M multiplies by exp(theta e(x)) and D by r^j on the polynomial L_j. It
    tends to A(theta) lambda(theta)^n. With M D u = lambda u and <1, u> = 1, A = 1 / <u, D u>, since M and D are
    symmetric. Powers of theta are solved for one by one; cumulants are the Taylor coefficients of ln lambda and ln A.
    """
    mean = values @ root**2
    f = np.where(mean[:, None] > SILENT_BPS_HZ, values / np.maximum(mean, SILENT_BPS_HZ)[:, None] - 1.0, 0.0)
    decay = np.arange(1, MODES) * np.log1p(-worth)
    memory = np.exp(decay) / -np.expm1(decay)  # r^j / (1 - r^j)
    power = (np.ones_like(f), f, f**2 / 2.0, f**3 / 6.0, f**4 / 24.0)
    u = [np.broadcast_to(root, f.shape)]
    stepped = [u[0]]  # D u
    eigenvalue = [np.ones(len(f))]
    for p in range(1, 5):
        forced = sum((power[q] * stepped[p - q] for q in range(1, p + 1)), start=np.zeros_like(f))
        eigenvalue.append(forced @ root)
        rest = forced - sum((eigenvalue[q][:, None] * u[p - q] for q in range(1, p + 1)), start=np.zeros_like(f))
        u.append(rest + ((rest @ modes[1:].T) * memory) @ modes[1:])  # (1 - D) u = rest
        stepped.append(u[p] - rest)
    inner = {(p, q): np.einsum("sq,sq->s", u[p], stepped[q]) for p, q in ((1, 1), (1, 2), (2, 2), (1, 3))}
    norm2, norm3, norm4 = inner[1, 1], 2.0 * inner[1, 2], inner[2, 2] + 2.0 * inner[1, 3]
    k2, k3, k4 = 2.0 * eigenvalue[2], 6.0 * eigenvalue[3], 24.0 * (eigenvalue[4] - eigenvalue[2] ** 2 / 2.0)
    a2, a3, a4 = -2.0 * norm2, -6.0 * norm3, -24.0 * (norm4 - norm2**2 / 2.0)
    k2 = np.maximum(k2, 1e-30)  # a rate that does not vary
    ratios = np.stack([a2 * worth, k3 * worth, a3 * worth**2, k4 * worth**2, a4 * worth**3]) / k2
    return np.vstack([np.log(k2 * worth), ratios])


def _log_mean(tables: _Tables, db: Floats) -> Floats:
    """Logarithm of E[e] by the cubic through the four nearest entries."""
    table = tables.log_mean
    place = np.clip((db - LOW_DB) * MEAN_STEPS, 0.0, table.size - 1.0)
    at = np.clip(place.astype(np.intp), 1, table.size - 3)
    f = place - at
    low, high = f * (f - 1.0) / 6.0, (f + 1.0) * (f - 2.0) / 2.0
    return np.asarray(
        low * ((f + 1.0) * table[at + 2] - (f - 2.0) * table[at - 1])
        + high * ((f - 1.0) * table[at] - f * table[at + 1])
    )


def _shape(tables: _Tables, db: Floats, worth: Floats) -> Floats:
    """Shape of the cumulants, [6, n], linear between the four nearest entries."""
    row, column = np.clip(db - LOW_DB, 0.0, HIGH_DB - LOW_DB), np.sqrt(worth) * STEPS
    i = np.minimum(row.astype(np.intp), HIGH_DB - LOW_DB - 1)
    j = np.minimum(column.astype(np.intp), STEPS - 1)
    down, right, at = row - i, column - j, i * (STEPS + 1) + j
    upper = tables.shape.take(at, axis=1) * (1.0 - right) + tables.shape.take(at + 1, axis=1) * right
    at += STEPS + 1
    lower = tables.shape.take(at, axis=1) * (1.0 - right) + tables.shape.take(at + 1, axis=1) * right
    return np.asarray(upper * (1.0 - down) + lower * down)


def _table_snr(mean_snr: ArrayLike) -> Floats:
    return within("mean_snr", mean_snr, 10.0 ** (LOW_DB / 10), 10.0 ** (HIGH_DB / 10), 1e-9)
