"""Transmission time without walking the slots: the distribution of a first passage from the cumulants of a sum.

A transfer of `Z` bits is over in slot n or before exactly when `S_n`, the bits of its first n slots, has reached `Z`;
so the distribution of its length follows from those of `S_n`. `channel.cumulants` gives the first four cumulants of
`S_n`; the expansion of Cornish and Fisher (1938) turns them into quantiles. The number of slots for a standard normal
`z` is the smallest n at which the quantile of `S_n` for `z` reaches the payload. docs/channel/fast.md shows where this
is as good as walking.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Bools, Complex, Floats, Ints, Rows
from channel._checks import finite, vectors
from channel._transfers import MAX_SLOTS, Links, check_links, refuse_too_long
from channel.cumulants import HIGH_DB, LINES, LOW_DB, Tables, decibels, scaled_cumulants, slot_worth, tables_of
from channel.innovations import Innovations
from channel.rate import SHANNON, Efficiency
from channel.slot_walk import slots as walked_slots
from channel.slot_walk import walk_until

# A transfer is drawn rather than walked where the expansion is good enough; docs/channel/fast.md measures the bounds.
MIN_EFFECTIVE_SAMPLES = 8.0  # below, the remainder of r^n shows
MAX_SKEWNESS = 0.7  # of S_n; above, four cumulants are too few
MAX_EXCESS_KURTOSIS = 1.0  # of S_n

# Neighbouring slots of slow fading are nearly alike: where a transfer is walked, blocks of them share one rate.
BLOCK_EFFECTIVE_SAMPLES = 1.0 / 32.0  # of a block of equal slots
MIN_BLOCKS = 16  # in a payload at the mean rate

NEWTON_STEPS = 3  # slots are then right to 1e-7 of their standard deviation
CHUNK_TRANSFERS = 2**12  # transfers together: their temporary arrays fit into the cache


def fast(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    normal: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    max_slots: int = MAX_SLOTS,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
    *,
    refuses: bool = True,
) -> Floats:
    """Return durations distributed as those of `transfer.walk` (paper, eq. 26 and 41) from a stationary start.

    Long transfers cost one standard normal each. Those marked by `walked` are walked, in blocks of slots at one rate
    where fading is slow; channels that do not change have a closed form. A row's result depends only on its own
    arguments and draws.

    Args:
        payload_bits: bits to send [bit], [n] or a scalar; 0 takes no slot.
        mean_snr: signal-to-noise ratio at |h|^2 = 1 [1], [n] or a scalar.
        bandwidth_hz: bandwidth of each transfer [Hz], [n] or a scalar.
        slot_s: length of a slot [s].
        correlation: rho of the fading between neighbouring slots, [n] or a scalar.
        normal: a draw of the standard normal distribution for each transfer, [n]; larger is faster.
        innovations: source of the draws e of `transfer.walk`; called only for rows that are walked.
        start: h in the slot before the first, complex [n] or a scalar; has no effect on rows that are not walked.
        max_slots: limit on the length of a transfer [slots].
        efficiency: spectral efficiency over the SNR of a slot.
        k_factor: Ricean K [1], [n] or a scalar; 0 is Rayleigh fading. All others are walked.
        refuses: whether to raise TransferTooLong; otherwise walked transfers that are too long last infinitely.

    Returns:
        Durations [s], [n].

    Raises:
        TransferTooLong: a transfer takes more than `max_slots`, either by its mean rate or by its draws.
        ValueError: an argument is out of range or NaN, or `innovations` returns another shape.

    Example:
        The faster of two transfers has the larger normal.

        >>> durations_s = fast(1e8, 100.0, 1e6, 0.5e-3, 0.9667, normal=[-1.0, 1.0], innovations=None, start=1.0)
        >>> bool(durations_s[0] > durations_s[1])
        True
    """
    draws = finite("normal", normal)
    payload, _ = np.broadcast_arrays(payload_bits, draws)
    links = check_links(payload, mean_snr, bandwidth_hz, slot_s, correlation, k_factor)
    batch = _Batch(links, efficiency)
    draws = np.broadcast_to(draws, batch.payload.shape)

    slots = np.zeros(batch.payload.shape)
    to_walk = batch.constant.copy()
    block_slots = np.ones(batch.payload.shape, dtype=np.int64)
    for part in batch.chunks():
        ahead = batch.forecast(part)
        hopeless = ahead.covered & (ahead.mean_slots > max_slots)
        if refuses:
            refuse_too_long(batch.snr[part[hopeless]], max_slots)
        to_walk[part] = ~ahead.enough
        block_slots[part] = slots_at_one_rate(ahead.mean_slots, batch.correlation[part])

        drawn = part[ahead.enough]
        worth = ahead.worth[ahead.enough]
        mean_samples = ahead.mean_slots[ahead.enough] * worth
        samples = passage(mean_samples, draws[drawn], ahead.lines[:, ahead.enough])
        slots[drawn] = np.maximum(np.ceil(samples / worth), 1.0)
    if refuses:
        refuse_too_long(batch.snr[slots > max_slots], max_slots)

    durations_s = slots * slot_s
    rows = np.flatnonzero(to_walk)
    if rows.size:
        starts = np.broadcast_to(np.asarray(start), batch.payload.shape)

        def innovations_of_rows(at: Rows, count: int) -> Complex:
            return innovations(rows[at], count)

        # From one block of k slots to the next h has the correlation rho^k.
        arguments = (
            batch.payload[rows],
            batch.snr[rows],
            batch.bandwidth_hz[rows],
            slot_s,
            batch.correlation[rows] ** block_slots[rows],
            innovations_of_rows,
            starts[rows],
        )
        rest = (efficiency, batch.k_factor[rows], block_slots[rows])
        if refuses:
            durations_s[rows] = walked_slots(*arguments, max_slots, *rest)
        else:
            walk = walk_until(max_slots, *arguments, *rest)
            incomplete = walk.sent_bits < batch.payload[rows]
            durations_s[rows] = np.where(incomplete, np.inf, walk.slots * slot_s)
    return durations_s


def walked(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
) -> Bools:
    """Return which transfers `fast` walks: those of too few effective samples, and those its tables do not cover.

    `fast` describes the arguments.

    Returns:
        Bool [n]: true for transfers of fewer than 8 effective samples, of sums with a skewness above 0.7 or an excess
        kurtosis above 1, of a mean SNR outside -40 to 120 dB or in Ricean fading. False for a payload of 0 and for a
        channel that does not change.

    Example:
        >>> walked([1e3, 1e8], 100.0, 1e6, 0.5e-3, correlation=0.9667)
        array([ True, False])
    """
    links = check_links(payload_bits, mean_snr, bandwidth_hz, slot_s, correlation, k_factor)
    batch = _Batch(links, efficiency)
    mask = np.zeros(batch.payload.shape, dtype=np.bool_)
    for part in batch.chunks():
        mask[part] = ~batch.forecast(part).enough
    return mask


class Forecast(NamedTuple):
    """The tables' forecast of transfers before they begin, each [r] but `lines`."""

    mean_slots: Floats  # the payload at the mean rate
    worth: Floats  # effective samples in a slot
    lines: Floats  # of the cumulants, [6, r]: see `cumulants.scaled_cumulants`
    covered: Bools  # by the tables
    enough: Bools  # effective samples for the expansion


class _Batch:
    """Arguments of transfers that begin together, each [n]."""

    def __init__(self, links: Links, efficiency: Efficiency) -> None:
        columns = vectors(links.payload_bits, links.mean_snr, links.bandwidth_hz, links.correlation, links.k_factor)
        self.payload, self.snr, self.bandwidth_hz, self.correlation, self.k_factor = columns
        self.slot_s = links.slot_s
        self.tables = tables_of(efficiency)
        self.constant = (np.abs(self.correlation) == 1.0) | (self.k_factor == np.inf)

    def chunks(self) -> Iterator[Rows]:
        """Yield the rows with something to send over a channel that changes, some at a time."""
        rows = np.flatnonzero((self.payload > 0) & ~self.constant)
        for first in range(0, rows.size, CHUNK_TRANSFERS):
            yield rows[first : first + CHUNK_TRANSFERS]

    def forecast(self, rows: Rows) -> Forecast:
        """Look `rows` up in the tables."""
        return forecast(
            self.payload[rows],
            self.snr[rows],
            self.bandwidth_hz[rows] * self.slot_s,
            self.correlation[rows],
            self.k_factor[rows],
            self.tables,
        )


def forecast(
    payload: Floats, snr: Floats, slot_hz_s: Floats, correlation: Floats, k_factor: Floats, tables: Tables
) -> Forecast:
    """Look transfers [r] with something to send over a channel that changes up in the tables of an efficiency.

    Args:
        payload: bits to send [bit], [r].
        snr: mean SNR at |h|^2 = 1 [1], [r].
        slot_hz_s: bandwidth times the length of a slot [Hz s], [r].
        correlation: rho of the fading between neighbouring slots, inside (-1, 1), [r].
        k_factor: Ricean K [1], [r].
        tables: of the efficiency.
    """
    db = decibels(snr)
    mean_bits = slot_hz_s * np.exp(tables.log_mean(db))
    mean_slots = payload / mean_bits
    worth = slot_worth(correlation)
    samples = mean_slots * worth
    covered = (db >= LOW_DB) & (db <= HIGH_DB) & (k_factor == 0)
    if not (covered & (samples >= MIN_EFFECTIVE_SAMPLES)).any():  # all are walked, so their cumulants are not needed
        nothing = np.zeros((LINES, samples.size))
        return Forecast(mean_slots, worth, nothing, covered, np.zeros(samples.size, dtype=np.bool_))
    lines = tables.lines(db, worth)
    variance, third, fourth = scaled_cumulants(samples, lines)
    # Skewness and excess kurtosis, without a division by a variance that may be 0.
    enough = (
        covered
        & (samples >= MIN_EFFECTIVE_SAMPLES)
        & (third**2 <= MAX_SKEWNESS**2 * variance**3)
        & (np.abs(fourth) <= MAX_EXCESS_KURTOSIS * variance**2)
    )
    return Forecast(mean_slots, worth, lines, covered, enough)


def slots_at_one_rate(mean_slots: Floats, correlation: Floats) -> Ints:
    """Return the slots [r] walked at one rate: a small part of an effective sample, and of the transfer."""
    rho = np.clip(correlation, 1e-9, 1.0 - 1e-15)
    samples_per_slot = -2.0 * np.log(rho)  # of independence lost in a slot: r^k = exp(-k samples_per_slot)
    slots = np.minimum(BLOCK_EFFECTIVE_SAMPLES / samples_per_slot, mean_slots / MIN_BLOCKS)
    return np.maximum(slots, 1.0).astype(np.int64)


def passage(payload: Floats, normal: Floats, lines: Floats) -> Floats:
    """Return the effective samples t at which the quantile of the sum reaches `payload`, by Newton's method.

    The quantile is `t + s (z + g1 (z^2 - 1)/6 + g2 (z^3 - 3z)/24 - g1^2 (2z^3 - 5z)/36)` for a standard normal z, with
    the standard deviation `s`, skewness `g1` and excess kurtosis `g2` of the sum (Cornish and Fisher, 1938).

    Args:
        payload: in effective samples at the mean rate, [r].
        normal: z, [r].
        lines: of the cumulants, [6, r], from `cumulants.Tables.lines`.

    Returns:
        Effective samples, [r]; over their worth they are slots.
    """
    # Start from the normal law only, t + (v t)^(1/2) z = payload: a quadratic equation in t^(1/2).
    z = normal
    bends = _bends(z)
    v = np.exp(lines[0])
    root = 0.5 * (np.sqrt(v * (z * z) + 4.0 * payload) - np.sqrt(v) * z)
    t = root * root
    for _ in range(NEWTON_STEPS):
        reached, deviation = _quantile(t, z, bends, lines)
        # The slope of the normal law is close enough; both bounds keep t positive where z is far out.
        slope = np.maximum(1.0 + 0.5 * v * z / deviation, 0.25)
        t = np.maximum(t - (reached - payload) / slope, 0.25 * t)
    return np.asarray(t)


def quantile(samples: Floats, normal: Floats, lines: Floats) -> Floats:
    """Return the quantiles of the sums of `samples` effective samples at standard normals, [r]; see `passage`."""
    reached, _ = _quantile(samples, normal, _bends(normal), lines)
    return reached


def _bends(z: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the polynomials of the expansion of Cornish and Fisher, each [r]."""
    square = z * z
    return (square - 1.0) / 6.0, z * (square - 3.0) / 24.0, z * (2.0 * square - 5.0) / 36.0


def _quantile(t: Floats, z: Floats, bends: tuple[Floats, Floats, Floats], lines: Floats) -> tuple[Floats, Floats]:
    """Return the quantiles of the sums of t effective samples, and their standard deviations, each [r]."""
    he2, he3, he11 = bends
    variance, third, fourth = scaled_cumulants(t, lines)
    deviation = np.sqrt(variance)
    lean = third / variance  # s g1
    bend = z + (fourth * he3 - third * lean * he11) / (variance * variance)
    return t + deviation * bend + lean * he2, deviation
