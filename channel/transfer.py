"""Transmission time: how many slots of a fading channel a payload takes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel import _compiled
from channel._checks import Floats, non_negative, positive, require, vectors, within
from channel.fading import gauss_markov
from channel.first_passage import fast
from channel.rate import SHANNON, Efficiency, Shannon, mean_rayleigh_bps_hz

__all__ = [
    "MAX_SLOTS",
    "Innovations",
    "TransferTooLong",
    "Walk",
    "fast",
    "innovations_of",
    "slots",
    "walk",
    "walk_until",
]

MAX_SLOTS = 20_000_000  # 10,000 s of 0.5 ms slots
CHUNK_VALUES = 2**17  # complex values walked at once, 2 MiB: bounds the memory, whatever the payload
FEW_SLOTS = 1000  # below, handing a generator to compiled code takes longer than NumPy's draws, which are the same
GROUP_ROWS = 64  # transfers walked side by side, so that chunks are long

Ints = NDArray[np.int64]
Complex = NDArray[np.complex128]
Innovations = Callable[[NDArray[np.intp], int], Complex]
"""`innovations(rows, count)`: the next `count` draws of CN(0, 1) of each of `rows`, complex [len(rows), count]."""


def innovations_of(generator: Callable[[int], np.random.Generator]) -> Innovations:
    """Draws from one NumPy generator a row; the caller owns their seeds.

    Args:
        generator: gives row i's generator, and the same object each time; asked only for rows that are walked.

    Returns:
        A source for `walk`. Real and imaginary parts alternate, so the draws do not depend on the counts asked for.
    """
    compiled = _compiled.normals()

    def draw(rows: NDArray[np.intp], count: int) -> Complex:
        draws = np.empty((rows.size, count), dtype=np.complex128)
        sources = zip(map(generator, rows.tolist()), draws.view(np.float64), strict=True)
        if compiled is None or count < FEW_SLOTS:
            for source, parts in sources:
                source.standard_normal(out=parts)
            draws *= np.sqrt(0.5)
        else:
            with _compiled.uninterrupted():
                for source, parts in sources:
                    compiled(source, parts)
        return draws

    return draw


class TransferTooLong(ValueError):  # noqa: N818 - the name says what happened
    """Transfers that take more slots than allowed: their links are too weak for their payloads."""


class Walk(NamedTuple):
    """How far transfers came, each [n]."""

    slots: Ints  # used
    sent_bits: Floats  # of the payload
    gain: Complex  # h in the last slot used; `start` where none is


def slots(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    max_slots: int = MAX_SLOTS,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
    hold_slots: ArrayLike = 1,
) -> Floats:
    """Durations [s] of transfers, [n]: `walk` without the gain at the end; same arguments, same errors."""
    return walk(
        payload_bits,
        mean_snr,
        bandwidth_hz,
        slot_s,
        correlation,
        innovations,
        start,
        max_slots,
        efficiency,
        k_factor,
        hold_slots,
    )[0]


def walk(
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    max_slots: int = MAX_SLOTS,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
    hold_slots: ArrayLike = 1,
) -> tuple[Floats, Complex]:
    """Durations of transfers, slot by slot, and the fading gain at their ends (paper, eq. 26 and 41).

    `walk_until` for transfers that are all to end.

    Args:
        payload_bits: bits to send [bit], [n] or a scalar; 0 takes no slot.
        mean_snr: signal-to-noise ratio at |h|^2 = 1 [1], [n] or a scalar.
        bandwidth_hz: bandwidth of each transfer [Hz], [n] or a scalar.
        slot_s: length of a slot [s].
        correlation: rho of the fading between neighbouring slots, [n] or a scalar.
        innovations: source of the draws e; asked only for rows (ascending indices) that are still under way.
        start: h in the slot before the first, complex [n] or a scalar.
        max_slots: limit on the length of a transfer [slots].
        efficiency: spectral efficiency over the SNR of a slot.
        k_factor: Ricean K [1], [n] or a scalar; 0 is Rayleigh fading, infinity none.
        hold_slots: see `walk_until`.

    Returns:
        Durations [s], [n], and h in the last slot used (`start` where none is), complex [n].

    Raises:
        TransferTooLong: a transfer takes more than `max_slots`, either by its mean rate over Rayleigh fading (known
            before the first slot) or when walked.
        ValueError: an argument is out of range or NaN, or `innovations` returns another shape.
    """
    link = (mean_snr, bandwidth_hz, slot_s, correlation)
    rows = _Rows(payload_bits, *link, start, max_slots, efficiency, k_factor, hold_slots)
    fading = (rows.line == 0) & (np.abs(rows.correlation) < 1)
    _refuse(rows.snr[fading & (rows.expected_slots() > max_slots)], max_slots)
    done = rows.walk(innovations)
    _refuse(rows.snr[done.sent_bits < rows.payload], max_slots)
    return np.asarray(done.slots * slot_s), done.gain


def walk_until(
    limit_slots: ArrayLike,
    payload_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    innovations: Innovations,
    start: ArrayLike,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
    hold_slots: ArrayLike = 1,
) -> Walk:
    """Walk transfers slot by slot until each is complete or has used its number of slots.

    A transfer is complete after the smallest number of slots whose bits R[n] tau add up to its payload, where
    R[n] = W e(mean_snr |g[n]|^2), e is the spectral efficiency, g = sqrt(K/(K+1)) + sqrt(1/(K+1)) h, and h is the
    process of `fading.gauss_markov`. A row's result depends on its own arguments and draws alone: not on the other
    rows, their order, or how slots are grouped into calls of `innovations`. Draws come in groups, so those beyond a
    row's last slot are lost: give each transfer its own stream. A channel that does not change is not walked and draws
    nothing.

    Args:
        limit_slots: the most slots that a transfer may use, whole, [n] or a scalar; infinity is no limit.
        payload_bits: see `walk`, as all that are not named here.
        mean_snr: see there.
        bandwidth_hz: see there.
        slot_s: see there.
        correlation: see there.
        innovations: see there.
        start: see there.
        efficiency: see there.
        k_factor: see there.
        hold_slots: block fading: for how many slots, from the first of the transfer on, each value of h holds, whole,
            [n] or a scalar. With a correlation of 0 blocks are independent.

    Returns:
        What each transfer used and sent; a payload that is complete is sent exactly.

    Raises:
        ValueError: an argument is out of range or NaN, or `innovations` returns another shape.
    """
    link = (mean_snr, bandwidth_hz, slot_s, correlation)
    return _Rows(payload_bits, *link, start, limit_slots, efficiency, k_factor, hold_slots).walk(innovations)


class _Rows:
    """Transfers under way: arguments and progress, each [n]."""

    def __init__(
        self,
        payload_bits: ArrayLike,
        mean_snr: ArrayLike,
        bandwidth_hz: ArrayLike,
        slot_s: float,
        correlation: ArrayLike,
        start: ArrayLike,
        limit_slots: ArrayLike,
        efficiency: Efficiency,
        k_factor: ArrayLike,
        hold_slots: ArrayLike,
    ) -> None:
        gain, k = np.asarray(start, dtype=np.complex128), np.asarray(k_factor, dtype=np.float64)
        require(np.isfinite(gain), gain, "start", "finite")
        require(k >= 0, k, "k_factor", "not below 0")
        columns = vectors(
            non_negative("payload_bits", payload_bits),
            non_negative("mean_snr", mean_snr),
            positive("bandwidth_hz", bandwidth_hz) * positive("slot_s", slot_s),
            within("correlation", correlation, -1.0, 1.0),
            np.sqrt(1.0 - 1.0 / (k + 1.0)),
            np.sqrt(1.0 / (k + 1.0)),
            gain,
            _whole("limit_slots", limit_slots, 0),
            _whole("hold_slots", hold_slots, 1),
        )
        self.payload, self.snr, self.slot_hz_s, self.correlation, self.line, self.scatter = columns[:6]
        self.gain, self.limit, self.hold = columns[6].copy(), columns[7], columns[8]
        self.efficiency = efficiency
        self.used, self.sent = np.zeros(len(self.payload), dtype=np.int64), np.zeros(len(self.payload))

    def expected_slots(self) -> Floats:
        """Payload over the mean bits of a slot in Rayleigh fading; infinite where nothing gets through."""
        mean_bits = self.slot_hz_s * mean_rayleigh_bps_hz(self.efficiency, self.snr)
        never = np.where(self.payload > 0, np.inf, 0.0)
        return np.asarray(np.divide(self.payload, mean_bits, out=never, where=mean_bits > 0))

    def walk(self, innovations: Innovations) -> Walk:
        """Go on until every row is complete or at its limit."""
        under_way = (self.payload > 0) & (self.limit > 0)
        turning = (self.correlation == -1.0) & (self.line == 0.0)  # the power stays; beside a line of sight it does not
        constant = under_way & ((self.correlation == 1.0) | turning | (self.scatter == 0.0))
        self._stand(np.flatnonzero(constant))
        rows = np.flatnonzero(under_way & ~constant)
        expected = self.expected_slots() if rows.size else self.sent
        for first in range(0, rows.size, GROUP_ROWS):
            self._walk_group(rows[first : first + GROUP_ROWS], expected, innovations)
        return Walk(self.used, np.minimum(self.sent, self.payload), self.gain)

    def _walk_group(self, rows: NDArray[np.intp], expected: Floats, innovations: Innovations) -> None:
        compiled = _compiled.walk() if isinstance(self.efficiency, Shannon) else None
        while rows.size:
            left = (np.minimum(expected, self.limit) - self.used)[rows] / self.hold[rows]
            draws = _drawn(innovations, rows, _chunk(left))
            if compiled is None:
                self._step(rows, draws)
            else:
                self._step_compiled(compiled, rows, draws)
            require(np.isfinite(self.gain[rows]), self.gain[rows], "innovations", "finite")
            rows = rows[(self.sent[rows] < self.payload[rows]) & (self.used[rows] < self.limit[rows])]

    def _slot_bits(self, rows: NDArray[np.intp], h: Complex) -> Floats:
        """Bits [r, c] of slots with gains h [r, c]."""
        line, scatter = self.line[rows, None], self.scatter[rows, None]
        power = (line + scatter * h.real) ** 2 + (scatter * h.imag) ** 2 if line.any() else h.real**2 + h.imag**2
        power *= self.snr[rows, None]
        if self.efficiency == SHANNON:  # the common case, in place and without checks
            bits = np.log1p(power, out=power)
            bits /= np.log(2.0)
            bits *= self.slot_hz_s[rows, None]
            return bits
        return np.asarray(self.efficiency.bps_hz(power) * self.slot_hz_s[rows, None])

    def _stand(self, rows: NDArray[np.intp]) -> None:
        """Finish rows whose channel does not change, without a draw."""
        bits = self._slot_bits(rows, self.gain[rows, None])[:, 0]
        whole = np.divide(self.payload[rows], bits, out=np.full(rows.size, np.inf), where=bits > 0)
        needed = np.ceil(whole * (1.0 - 4.0 * np.finfo(float).eps)).clip(1.0)  # an exact fill takes no further slot
        self.used[rows] = np.minimum(needed, self.limit[rows])
        self.sent[rows] = np.where(needed <= self.limit[rows], self.payload[rows], self.used[rows] * bits)
        blocks = -(-self.used[rows] // self.hold[rows])
        self.gain[rows] *= np.where(self.scatter[rows] == 0.0, 1.0, self.correlation[rows] ** blocks)

    def _step(self, rows: NDArray[np.intp], draws: Complex) -> None:
        """Walk `rows` over as many blocks as there are draws [r, c]; a block is one slot but in block fading."""
        h = gauss_markov(draws, self.correlation[rows], self.gain[rows])
        slot_bits, hold = self._slot_bits(rows, h), self.hold[rows]
        block_bits = slot_bits if (hold == 1).all() else slot_bits * hold[:, None]
        total = block_bits.copy()
        total[:, 0] += self.sent[rows]
        total.cumsum(axis=1, out=total)  # one after the other: where a chunk begins leaves no trace
        room = self.limit[rows] - self.used[rows]
        reached = (total < self.payload[rows, None]).sum(axis=1)
        last = np.minimum(np.minimum(reached, -(-room // hold) - 1), draws.shape[1] - 1)
        at = np.arange(rows.size), last
        before = np.where(last > 0, total[at[0], last - 1], self.sent[rows])
        bits = slot_bits[at]
        needed = np.divide(self.payload[rows] - before, bits, out=np.full(rows.size, np.inf), where=bits > 0)
        needed, most = np.ceil(needed).clip(1.0), np.minimum(hold, room - last * hold)
        inside = np.minimum(needed, most).astype(np.int64)
        part = np.where(needed <= most, self.payload[rows], before + inside * bits)  # of a block
        self.used[rows] += last * hold + inside
        self.sent[rows] = np.where(inside == hold, total[at], part)
        self.gain[rows] = h[at]

    def _step_compiled(self, kernel: _compiled.Kernel, rows: NDArray[np.intp], draws: Complex) -> None:
        """The same by a compiled loop."""
        model = self.efficiency
        assert isinstance(model, Shannon)  # noqa: S101 - `walk` asks
        progress = self.gain[rows], self.sent[rows], self.used[rows]
        kernel(
            draws,
            *(column[rows] for column in (self.correlation, self.line, self.scatter, self.snr, self.slot_hz_s)),
            *(column[rows] for column in (self.payload, self.hold, self.limit)),
            (model.attenuation, model.min_snr, model.max_bps_hz),
            *progress,
        )
        self.gain[rows], self.sent[rows], self.used[rows] = progress


def _refuse(snr: Floats, max_slots: int) -> None:
    """Raise TransferTooLong if there is any row to refuse, given the mean SNRs of those rows."""
    if snr.size:
        raise TransferTooLong(
            f"{snr.size} transfer(s) need more than {max_slots} slots; lowest mean SNR {snr.min():.3g}"
        )


def _chunk(left: Floats) -> int:
    """Draws to take at once: about what half of the rows still need, so that few are drawn in vain.

    Whole groups of the compiled loop, so that where a chunk begins leaves no trace in its sums either.
    """
    count = int(min(1.05 * max(np.median(left), 0.0) + 32, CHUNK_VALUES // left.size))
    return max(count - count % _compiled.GROUP, _compiled.GROUP)


def _whole(quantity: str, values: ArrayLike, least: int) -> Ints:
    count = np.asarray(values)
    require((count >= least) & (count == np.floor(count)), count, quantity, f"a whole number, at least {least}")
    return np.asarray(np.minimum(count, 2**62), dtype=np.int64)


def _drawn(innovations: Innovations, rows: NDArray[np.intp], count: int) -> Complex:
    draws = innovations(rows, count)
    if draws.shape != (rows.size, count):
        raise ValueError(f"innovations returned shape {draws.shape} for {rows.size} rows and {count} slots")
    return draws
