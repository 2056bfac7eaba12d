"""Transmission time: how many slots of a fading channel a payload takes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._checks import Floats, non_negative, positive, require, within
from channel.fading import gauss_markov
from channel.rate import mean_rayleigh_bps, shannon_bps

MAX_SLOTS = 20_000_000  # 10,000 s of 0.5 ms slots
CHUNK_VALUES = 2**18  # complex values walked at once: bounds the memory, whatever the payload

Innovations = Callable[[NDArray[np.intp], int], NDArray[np.complex128]]
"""`innovations(rows, count)`: the next `count` draws of CN(0, 1) of each of `rows`, complex [len(rows), count]."""


class TransferTooLong(ValueError):  # noqa: N818 - the name says what happened
    """Transfers that take more slots than allowed: their links are too weak for their payloads."""


def slots(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    max_slots: int = MAX_SLOTS,
) -> Floats:
    """Durations [s] of transfers, [n]: `walk` without the gain at the end; same arguments, same errors."""
    return walk(payload_bits, mean_snr, bandwidth_hz, slot_s, correlation, innovations, start, max_slots)[0]


def walk(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    max_slots: int = MAX_SLOTS,
) -> tuple[Floats, NDArray[np.complex128]]:
    """Durations of transfers, slot by slot, and the fading gain at their ends (paper, eq. 26 and 41).

    A transfer takes the smallest number of slots whose bits R[n] tau add up to its payload, where
    R[n] = W log2(1 + mean_snr |h[n]|^2) and h is the process of `fading.gauss_markov`. A row's result depends on its
    own arguments and draws alone: not on the other rows, their order, or how slots are grouped into calls of
    `innovations`. Draws come in groups, so those beyond a row's last slot are lost: give each transfer its own stream.

    Args:
        payload_bits: bits to send [bit], [n] or a scalar; 0 takes no slot.
        mean_snr: signal-to-noise ratio at |h|^2 = 1 [1], [n] or a scalar.
        bandwidth_hz: bandwidth of each transfer [Hz], [n] or a scalar.
        slot_s: length of a slot [s].
        correlation: rho of the fading between neighbouring slots, [n] or a scalar.
        innovations: source of the draws e; asked only for rows (ascending indices) that are still under way.
        start: h in the slot before the first, complex [n] or a scalar.
        max_slots: limit on the length of a transfer [slots].

    Returns:
        Durations [s], [n], and h in the last slot used (`start` where none is), complex [n].

    Raises:
        TransferTooLong: a transfer takes more than `max_slots`, either by its mean rate over Rayleigh fading (known
            before the first slot) or when walked.
        ValueError: an argument is out of range or NaN, or `innovations` returns another shape.
    """
    payload, snr, bandwidth, rho, gain = _checked(payload_bits, mean_snr, bandwidth_hz, correlation, start)
    mean_slot_bits = mean_rayleigh_bps(bandwidth, snr) * positive("slot_s", slot_s)
    used, sent = np.zeros(payload.size, dtype=np.int64), np.zeros(payload.size)
    rows, walked = np.flatnonzero(payload > 0), 0
    _refuse(snr[payload > mean_slot_bits * max_slots], max_slots)
    while rows.size:
        if walked == max_slots:
            _refuse(snr[rows], max_slots)
        count = min(_chunk_slots((payload - sent)[rows] / mean_slot_bits[rows]), max_slots - walked)
        h = gauss_markov(_drawn(innovations, rows, count), rho[rows], gain[rows])
        bits = shannon_bps(bandwidth[rows, None], snr[rows, None] * (h.real**2 + h.imag**2)) * slot_s
        bits[:, 0] += sent[rows]
        bits.cumsum(axis=1, out=bits)  # one after the other: where a chunk begins leaves no trace
        last = np.minimum((bits < payload[rows, None]).sum(axis=1), count - 1)
        used[rows] += last + 1
        gain[rows] = h[np.arange(rows.size), last]
        sent[rows] = bits[:, -1]
        rows, walked = rows[sent[rows] < payload[rows]], walked + count
    return np.asarray(used * slot_s), gain


def _checked(
    payload_bits: ArrayLike, mean_snr: ArrayLike, bandwidth_hz: ArrayLike, correlation: ArrayLike, start: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.complex128]]:
    """The rows' arguments as arrays of one length; `start` as a copy, to be overwritten."""
    gain = np.asarray(start, dtype=np.complex128)
    require(np.isfinite(gain), gain, "start", "finite")
    payload, snr, bandwidth, rho, gain = np.broadcast_arrays(
        np.atleast_1d(non_negative("payload_bits", payload_bits)),
        non_negative("mean_snr", mean_snr),
        positive("bandwidth_hz", bandwidth_hz),
        within("correlation", correlation, -1.0, 1.0),
        gain,
    )
    if payload.ndim != 1:
        raise ValueError(f"transfers must form a vector, but the arguments have shape {payload.shape}")
    return payload, snr, bandwidth, rho, gain.copy()


def _refuse(snr: Floats, max_slots: int) -> None:
    """Raise TransferTooLong if there is any row to refuse, given the mean SNRs of those rows."""
    if snr.size:
        raise TransferTooLong(
            f"{snr.size} transfer(s) need more than {max_slots} slots; lowest mean SNR {snr.min():.3g}"
        )


def _chunk_slots(expected: Floats) -> int:
    """Slots to walk at once: about what half of the rows still need, so that few are drawn in vain."""
    return int(min(1.05 * np.median(expected) + 32, max(1, CHUNK_VALUES // expected.size)))


def _drawn(innovations: Innovations, rows: NDArray[np.intp], count: int) -> NDArray[np.complex128]:
    draws = innovations(rows, count)
    if draws.shape != (rows.size, count):
        raise ValueError(f"innovations returned shape {draws.shape} for {rows.size} rows and {count} slots")
    return draws
