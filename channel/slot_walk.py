"""Transfers walked slot by slot over a fading channel (dynamic-devices paper, eq. 26 and 41).

A transfer of `Z` bits ends after the smallest number of slots `N` with `sum_{i <= N} R[i] tau >= Z`. The rate of slot
`i` is `R[i] = W e(s |g[i]|^2)`: bandwidth `W`, spectral efficiency `e`, mean SNR `s` and the Ricean gain
`g = sqrt(K/(K+1)) + sqrt(1/(K+1)) h`, where `h` is the process of `fading.gauss_markov`.

Transfers are walked side by side, in chunks of slots that bound the memory. The result of a transfer does not depend on
the others or on the chunks, bit for bit, so an emulation can be replayed in another grouping.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel import _compiled
from channel._arrays import Bools, Complex, Floats, Ints, Rows
from channel._checks import require, vectors
from channel._transfers import MAX_SLOTS, Links, check_links, refuse_too_long
from channel.fading import gauss_markov
from channel.innovations import Innovations
from channel.rate import SHANNON, Efficiency, Shannon, mean_rayleigh_bps_hz

CHUNK_VALUES = 2**17  # complex values walked together, 2 MiB: bounds the memory for any payload
FEW_VALUES = 2**11  # this many draws take less time than the calls of one more step
GROUP_ROWS = 64  # transfers walked side by side, so that chunks are long


class Walk(NamedTuple):
    """The slots used, bits sent and last gains of transfers, each [n]."""

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
    """Return the durations [s] of transfers, [n]; arguments and errors are those of `walk`.

    Example:
        One megabit at 1 MHz and an SNR of 3 over a channel that does not change: 2 Mbit/s, so 0.5 s.

        >>> slots(1e6, 3.0, 1e6, 0.5e-3, correlation=1.0, innovations=None, start=1.0)
        array([0.5])
    """
    durations_s, _ = walk(
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
    )
    return durations_s


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
    """Return the durations of transfers that all end, and the fading gains at their ends (paper, eq. 26 and 41).

    Args:
        payload_bits: bits to send [bit], [n] or a scalar; 0 takes no slot.
        mean_snr: signal-to-noise ratio at |h|^2 = 1 [1], [n] or a scalar.
        bandwidth_hz: bandwidth of each transfer [Hz], [n] or a scalar.
        slot_s: length of a slot [s].
        correlation: rho of the fading between neighbouring slots, [n] or a scalar.
        innovations: source of the draws e; called only for rows (ascending indices) that are still under way.
        start: h in the slot before the first, complex [n] or a scalar.
        max_slots: limit on the length of a transfer [slots].
        efficiency: spectral efficiency over the SNR of a slot.
        k_factor: Ricean K [1], [n] or a scalar; 0 is Rayleigh fading, infinity none.
        hold_slots: number of slots that each value of h holds; see `walk_until`.

    Returns:
        Durations [s], [n], and h in the last slot used (`start` where none is), complex [n].

    Raises:
        TransferTooLong: a transfer takes more than `max_slots`, either by its mean rate over Rayleigh fading (known
            before the first slot) or when walked.
        ValueError: an argument is out of range or NaN, or `innovations` returns another shape.
    """
    links = check_links(payload_bits, mean_snr, bandwidth_hz, slot_s, correlation, k_factor)
    transfers = _Transfers(links, start, max_slots, efficiency, hold_slots)
    # The mean rate reveals a hopeless link before the first draw; it holds for Rayleigh fading that changes.
    rayleigh = (transfers.line == 0) & (np.abs(transfers.correlation) < 1)
    hopeless = rayleigh & (transfers.expected_slots > max_slots)
    refuse_too_long(transfers.snr[hopeless], max_slots)
    done = transfers.walk(innovations)
    incomplete = done.sent_bits < transfers.payload
    refuse_too_long(transfers.snr[incomplete], max_slots)
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
    """Walk transfers slot by slot; return the slots used and the bits sent until each is complete or at its limit.

    A row's result depends only on its own arguments and draws, not on the other rows, their order, or how calls of
    `innovations` group the slots. Draws come in groups, and those beyond a row's last slot are lost: give each transfer
    its own stream. A channel that does not change is not walked and draws nothing.

    Each value of h holds for `hold_slots` slots, from the first of the transfer on; with a correlation of 0 this is
    block fading. `limit_slots` is whole, [n] or a scalar, and may be infinite; `walk` describes the other arguments. A
    complete payload is sent exactly.

    Example:
        Cut after 100 slots of 0.5 ms at 2 Mbit/s, a transfer of 1 Mbit has sent 100 kbit.

        >>> float(walk_until(100, 1e6, 3.0, 1e6, 0.5e-3, 1.0, None, 1.0).sent_bits[0])
        100000.0
    """
    links = check_links(payload_bits, mean_snr, bandwidth_hz, slot_s, correlation, k_factor)
    return _Transfers(links, start, limit_slots, efficiency, hold_slots).walk(innovations)


class _Transfers:
    """Transfers under way: their arguments and their progress, each [n]."""

    def __init__(
        self, links: Links, start: ArrayLike, limit_slots: ArrayLike, efficiency: Efficiency, hold_slots: ArrayLike
    ) -> None:
        gain = np.asarray(start, dtype=np.complex128)
        require(np.isfinite(gain), gain, "start", "finite")
        columns = vectors(
            links.payload_bits,
            links.mean_snr,
            links.bandwidth_hz * links.slot_s,
            links.correlation,
            np.sqrt(1.0 - 1.0 / (links.k_factor + 1.0)),
            np.sqrt(1.0 / (links.k_factor + 1.0)),
            gain,
            _whole("limit_slots", limit_slots, 0),
            _whole("hold_slots", hold_slots, 1),
        )
        self.payload, self.snr, self.slot_hz_s, self.correlation = columns[:4]
        self.line, self.scatter = columns[4:6]  # amplitudes of the line of sight and of the scatter
        self.gain = columns[6].copy()  # updated in place, and `start` belongs to the caller
        self.limit, self.hold = columns[7:]
        self.efficiency = efficiency
        self.used = np.zeros(len(self.payload), dtype=np.int64)
        self.sent = np.zeros(len(self.payload))

    @cached_property
    def expected_slots(self) -> Floats:
        """The payload over the mean bits of a slot in Rayleigh fading; infinite where nothing gets through."""
        mean_bits = self.slot_hz_s * mean_rayleigh_bps_hz(self.efficiency, self.snr)
        never = np.where(self.payload > 0, np.inf, 0.0)
        return np.asarray(np.divide(self.payload, mean_bits, out=never, where=mean_bits > 0))

    def walk(self, innovations: Innovations) -> Walk:
        """Walk until every row is complete or at its limit."""
        under_way = (self.payload > 0) & (self.limit > 0)
        constant = under_way & self._keeps_its_power()
        self._finish_constant(np.flatnonzero(constant))
        # Fewer rows side by side leave room for longer chunks, which take fewer calls.
        rows = np.flatnonzero(under_way & ~constant)
        for first in range(0, rows.size, GROUP_ROWS):
            self._walk_group(rows[first : first + GROUP_ROWS], innovations)
        return Walk(self.used, np.minimum(self.sent, self.payload), self.gain)

    def _keeps_its_power(self) -> Bools:
        """Return whether |g| is the same in every slot, [n]."""
        # With rho = -1 the scatter turns by half a circle every slot: its power stays, but not its sum with a line.
        turning = (self.correlation == -1.0) & (self.line == 0.0)
        return np.asarray((self.correlation == 1.0) | turning | (self.scatter == 0.0))

    def _finish_constant(self, rows: Rows) -> None:
        bits = self._slot_bits(rows, self.gain[rows, None])[:, 0]
        exact = np.divide(self.payload[rows], bits, out=np.full(rows.size, np.inf), where=bits > 0)
        # An exact fill takes no other slot, also where the quotient was rounded up.
        needed = np.ceil(exact * (1.0 - 4.0 * np.finfo(float).eps)).clip(1.0)
        self.used[rows] = np.minimum(needed, self.limit[rows])
        self.sent[rows] = np.where(needed <= self.limit[rows], self.payload[rows], self.used[rows] * bits)
        # The gain may have turned nevertheless: once a block, where rho is -1.
        blocks = -(-self.used[rows] // self.hold[rows])
        self.gain[rows] *= np.where(self.scatter[rows] == 0.0, 1.0, self.correlation[rows] ** blocks)

    def _walk_group(self, rows: Rows, innovations: Innovations) -> None:
        """Walk a few rows side by side, one chunk of draws at a time, until none is under way."""
        # Only Shannon's bound has a compiled loop.
        compiled = _compiled.walk() if isinstance(self.efficiency, Shannon) else None
        while rows.size:
            slots_left = (np.minimum(self.expected_slots, self.limit) - self.used)[rows]
            blocks_left = slots_left / self.hold[rows]  # one draw each
            most_left = ((self.limit[rows] - self.used[rows]) / self.hold[rows]).max()
            draws = _drawn(innovations, rows, _chunk(blocks_left, most_left))
            if compiled is None:
                self._step(rows, draws)
            else:
                self._step_compiled(compiled, rows, draws)
            # NaN is not below a payload, so NaN among the draws would make transfers look complete.
            require(np.isfinite(self.gain[rows]), self.gain[rows], "innovations", "finite")
            under_way = (self.sent[rows] < self.payload[rows]) & (self.used[rows] < self.limit[rows])
            rows = rows[under_way]

    def _slot_bits(self, rows: Rows, h: Complex) -> Floats:
        """Return the bits [r, c] of slots with gains h [r, c]."""
        power = self._power(rows, h)
        power *= self.snr[rows, None]
        if self.efficiency == SHANNON:  # the common case, in place and without checks
            bits = np.log1p(power, out=power)
            bits /= np.log(2.0)
            bits *= self.slot_hz_s[rows, None]
            return bits
        return np.asarray(self.efficiency.bps_hz(power) * self.slot_hz_s[rows, None])

    def _power(self, rows: Rows, h: Complex) -> Floats:
        """Return the power |g|^2 [r, c] of gains whose scatter is h [r, c]."""
        line = self.line[rows, None]
        if not line.any():  # Rayleigh fading: the scatter has all the power, and there is nothing to scale
            return np.asarray(h.real**2 + h.imag**2)
        scatter = self.scatter[rows, None]
        return np.asarray((line + scatter * h.real) ** 2 + (scatter * h.imag) ** 2)

    def _step(self, rows: Rows, draws: Complex) -> None:
        """Walk `rows` over as many blocks as there are draws [r, c]; a block is one slot unless fading is in blocks."""
        payload = self.payload[rows]
        hold = self.hold[rows]
        sent_before = self.sent[rows]
        room = self.limit[rows] - self.used[rows]

        h = gauss_markov(draws, self.correlation[rows], self.gain[rows])
        slot_bits = self._slot_bits(rows, h)
        block_bits = slot_bits if (hold == 1).all() else slot_bits * hold[:, None]

        # The sum starts from the bits sent before, so that its rounding does not depend on where chunks begin.
        total = block_bits.copy()
        total[:, 0] += sent_before
        total.cumsum(axis=1, out=total)

        # The last block used: it reaches the payload or the limit, or the draws end with it.
        complete_blocks = (total < payload[:, None]).sum(axis=1)
        last_allowed = -(-room // hold) - 1
        last = np.minimum(np.minimum(complete_blocks, last_allowed), draws.shape[1] - 1)
        at_last = np.arange(rows.size), last
        sent_earlier = np.where(last > 0, total[at_last[0], last - 1], sent_before)

        # Every slot of that block carries the same bits, so a division gives the number that the payload needs.
        bits = slot_bits[at_last]
        needed = np.divide(payload - sent_earlier, bits, out=np.full(rows.size, np.inf), where=bits > 0)
        needed = np.ceil(needed).clip(1.0)
        most = np.minimum(hold, room - last * hold)
        inside = np.minimum(needed, most).astype(np.int64)
        sent_if_cut = np.where(needed <= most, payload, sent_earlier + inside * bits)

        self.used[rows] += last * hold + inside
        self.sent[rows] = np.where(inside == hold, total[at_last], sent_if_cut)
        self.gain[rows] = h[at_last]

    def _step_compiled(self, kernel: _compiled.Kernel, rows: Rows, draws: Complex) -> None:
        """Do the same as `_step` in the compiled loop."""
        model = self.efficiency
        assert isinstance(model, Shannon)  # noqa: S101 - `_walk_group` asks
        gain = self.gain[rows]
        sent = self.sent[rows]
        used = self.used[rows]
        kernel(
            draws,
            self.correlation[rows],
            self.line[rows],
            self.scatter[rows],
            self.snr[rows],
            self.slot_hz_s[rows],
            self.payload[rows],
            self.hold[rows],
            self.limit[rows],
            (model.attenuation, model.min_snr, model.max_bps_hz),
            gain,
            sent,
            used,
        )
        self.gain[rows] = gain
        self.sent[rows] = sent
        self.used[rows] = used


def _chunk(blocks_left: Floats, most_left: float) -> int:
    """Return the number of draws in one call: about as many as half of the rows still need, so that few are left over.

    The number is a multiple of the compiled loop's group, so that its sums do not depend on where chunks begin.

    Args:
        blocks_left: [r] draws that rows are expected to need.
        most_left: the most that any of them may need.
    """
    median = float(np.sort(blocks_left)[blocks_left.size // 2])  # np.median takes as long as a whole step
    few = min(FEW_VALUES // blocks_left.size, most_left)
    wanted = max(1.05 * median + 32, few)
    count = int(min(wanted, CHUNK_VALUES // blocks_left.size))
    return max(count - count % _compiled.GROUP_SLOTS, _compiled.GROUP_SLOTS)


def _whole(quantity: str, values: ArrayLike, least: int) -> Ints:
    """Return whole numbers, at least `least`; infinity becomes a number that no count of slots reaches."""
    count = np.asarray(values)
    require((count >= least) & (count == np.floor(count)), count, quantity, f"a whole number, at least {least}")
    return np.asarray(np.minimum(count, 2**62), dtype=np.int64)


def _drawn(innovations: Innovations, rows: Rows, count: int) -> Complex:
    """Return the next `count` draws of `rows`, complex [r, count], after checking their shape."""
    draws = innovations(rows, count)
    if draws.shape != (rows.size, count):
        raise ValueError(
            f"innovations returned shape {draws.shape} for {rows.size} rows and {count} slots: "
            f"it must return shape {(rows.size, count)}"
        )
    return draws
