"""The transfers under way on a clock of a band: their channels and their progress in arrays, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

import channel
from channel import link_columns, link_race
from channel.cumulants import LINES
from channel.link_race import Table, Words
from channel.rate import Efficiency
from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.gains.small_scale import ONE_ROW, coming_gains
from edgefl.radio.prices.fast_draws import FastDraws

Objects = npt.NDArray[np.object_]

KNOWN_VALUES = 2**20  # fading gains in memory, all rows together
DRAWN_TOGETHER = 2**14  # of these, as many as fit into a processor's cache
DRAW_MARGIN = 1.1  # slots drawn over the expected need of the median row
LEAST_DRAWN_SLOTS = 16

# Columns that begin with the attributes of a transfer, by type.
OF_TRANSFERS: dict[type, tuple[str, ...]] = {
    np.int64: ("device", "cell", "limit_slots", "slots"),
    np.float64: (
        *("path_gain", "all_gains", "tx_power_w", "k_factor", "correlation", "left_bits", "sent_bits", "bits_over_snr"),
        *("air", "air_slots", "full_power_slots", "band_slots", "sinr_slots"),
    ),
    np.bool_: ("constant",),
    np.complex128: ("gain",),
}
# Columns that begin with one value.
AT_FIRST = (
    (0.0, ("full_power_air", "occupancy", "sinr_air", "epoch_normal", "epoch_samples", "sample_bits", "worth")),
    (np.nan, ("bandwidth_hz", "mean_snr", "mean_bps_hz", "share_hz", "walked_hz", "epoch_snr")),
    (0, ("walked_from", "fast_place", "drawn", "used")),
    (1, ("step_slots",)),
    (-1, ("epoch",)),
    (False, ("walked",)),
    (None, ("fast_draws",)),
)


@dataclass
class BandRows:
    """The state of n transfers; each field [n] in the order of devices, and of the rounds they take part in."""

    transfers: Objects  # BandTransfer
    device: Ints
    index: Ints  # of the selection that chose the participant
    cell: Ints
    path_gain: Floats
    all_gains: Floats  # [n, sites]
    tx_power_w: Floats
    k_factor: Floats
    correlation: Floats
    constant: Bools
    in_time: Bools  # where the fading is a function of time
    limit_slots: Ints
    left_bits: Floats
    sent_bits: Floats
    bits_over_snr: Floats  # the bits of each slot over its mean SNR
    slots: Ints  # so far, pauses of handovers included
    air: Floats  # share of the time that it is served, since the last division
    full_power_air: Floats  # the same, times its power over its transmitter's full power
    air_slots: Floats  # of the time so far with the radio on
    full_power_slots: Floats  # slots at full power that would have taken as much energy so far
    occupancy: Floats  # part of the direction's band that it occupies, averaged over time, since the last division
    band_slots: Floats  # slots on the whole band that would have occupied as much of it so far
    sinr_air: Floats  # share of the time that it is served, times its SNR with interference, before fading
    sinr_slots: Floats  # sum over its slots so far of the same
    gain: Complex  # of the fading in the slot before the first that is drawn
    bandwidth_hz: Floats  # that it occupies in its turn, since the last division; nan before the first
    mean_snr: Floats  # at the last division; nan before the first
    mean_bps_hz: Floats  # over Rayleigh fading, at `mean_snr`
    share_hz: Floats  # that carries payload, at the last division; nan before the first
    attempt: Ints  # number of the attempt among all of the participant's in this direction: part of the draws' key
    walked: Bools  # slot by slot; otherwise by the `fast` engine
    walked_from: Ints  # number of the first slot that is walked
    walked_hz: Floats  # its share when that began
    walked_until: Ints  # number of the slot to which it has been walked: `gain` holds before it
    step_slots: Ints  # with one gain: those that `fast` walks at one rate
    step_correlation: Floats  # of the fading from one such step to the next
    fast_draws: Objects  # FastDraws of the `fast` engine, for the attempts that began with it; None: it has none
    fast_place: Ints  # its place among these attempts
    epoch: Ints  # of the `fast` engine (channel.epochs), from 0; -1 before the first
    epoch_normal: Floats  # its standard normal
    epoch_samples: Floats  # effective samples since it began
    epoch_snr: Floats  # `mean_snr` that the next three are of
    lines: Floats  # [n, 6] of the sum's cumulants
    sample_bits: Floats  # of an effective sample at the mean rate
    worth: Floats  # effective samples in a slot
    gains: Objects  # arrays [drawn]: of the slots that have been drawn
    powers: Objects  # arrays [drawn]: |h|^2 in these slots
    drawn: Ints  # slots
    used: Ints  # of the slots drawn, those that are over
    sources: Ints  # of the fading, see channel.link_race; this and the rest only with link adaptation
    block_state: Floats  # [n, k], as the next four, the columns of channel.link_race.Table
    block_gains: Complex
    block_draws: Floats
    fading_words: Words
    block_words: Words

    @classmethod
    def of(cls, transfers: Sequence[BandTransfer], sites: int, blocks: Table | None = None) -> BandRows:
        """Return the rows of transfers that have just begun, in a layout of so many base stations.

        Args:
            transfers: [n] of them.
            sites: base stations.
            blocks: their processes of transport blocks [n]; None without link adaptation.
        """
        count = len(transfers)
        if blocks is None:
            blocks = Table._make(np.empty((count, 0)) for _ in Table._fields)

        def column(name: str, kind: type) -> Any:
            return np.array([getattr(transfer, name) for transfer in transfers], dtype=kind)

        columns = {name: column(name, kind) for kind, names in OF_TRANSFERS.items() for name in names}
        columns |= {name: np.full(count, value) for value, names in AT_FIRST for name in names}
        columns["all_gains"] = columns["all_gains"].reshape(count, sites)
        return cls(
            **columns,
            transfers=_objects(transfers),
            index=np.array([transfer.participant.index for transfer in transfers], dtype=np.int64),
            in_time=np.array([transfer.gains_in_time is not None for transfer in transfers], dtype=np.bool_),
            attempt=column("attempt_in_round", np.int64),
            walked_until=column("slots", np.int64),
            step_correlation=column("correlation", np.float64),
            lines=np.zeros((count, LINES)),
            gains=_objects([np.empty(0, dtype=np.complex128)] * count),
            powers=_objects([np.empty(0)] * count),
            sources=np.array([_source(transfer) for transfer in transfers], dtype=np.int64),
            block_state=blocks.state,
            block_gains=blocks.gains,
            block_draws=blocks.draws,
            fading_words=blocks.fading,
            block_words=blocks.chance,
        )

    def __len__(self) -> int:
        return len(self.device)

    @property
    def blocks(self) -> Table:
        """The processes of transport blocks [n]."""
        return Table(self.block_state, self.block_gains, self.block_draws, self.fading_words, self.block_words)

    @property
    def through(self) -> Bools:
        """True [n] where a transfer is complete or at its limit."""
        return np.asarray((self.left_bits == 0) | (self.slots >= self.limit_slots))

    def only(self, rows: Rows | Bools) -> BandRows:
        """Return some of the rows."""
        return BandRows(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def with_more(self, transfers: Sequence[BandTransfer], blocks: Table | None) -> BandRows:
        """Return these rows and those of transfers that have just begun, in order; see `of`.

        Sums and draws take the transfers in this order, whatever the order of the events that brought them.
        """
        more = BandRows.of(transfers, self.all_gains.shape[1], blocks)
        both = {field.name: (getattr(self, field.name), getattr(more, field.name)) for field in fields(self)}
        joined = BandRows(**{name: np.concatenate(parts) for name, parts in both.items()})
        return joined.only(np.lexsort((joined.index, joined.device)))

    def row(self, transfer: BandTransfer) -> int | None:
        """Return the row of a transfer; None where it has none."""
        for row in np.flatnonzero(self.device == transfer.device).tolist():
            if self.transfers[row] is transfer:
                return row
        return None

    def move(self, row: int, failing_slots: int | None) -> None:
        """Take the present large-scale channel of a row's transfer, over which it may fail after some slots."""
        transfer = self.transfers[row]
        transfer.note_slots(int(self.slots[row]))
        transfer.expect_failure(failing_slots)
        self.limit_slots[row] = transfer.limit_slots
        self.path_gain[row] = transfer.path_gain
        self.all_gains[row] = transfer.all_gains
        if self.k_factor[row] != transfer.k_factor:
            # The scatter continues as drawn; only the line of sight changes.
            self.k_factor[row] = transfer.k_factor
            self.powers[row] = np.abs(channel.fading.ricean(self.gains[row], transfer.k_factor)) ** 2

    def write_back(self, rows: Rows) -> None:
        """Write the progress of some rows back to their transfers."""
        for row, last_gain in zip(rows.tolist(), self.last_gain(rows).tolist(), strict=True):
            self.transfers[row].take_progress(
                float(self.left_bits[row]),
                float(self.sent_bits[row]),
                float(self.bits_over_snr[row]),
                int(self.slots[row]),
                float(self.air_slots[row]),
                float(self.full_power_slots[row]),
                float(self.band_slots[row]),
                float(self.sinr_slots[row]),
                self._ended_gain(row, last_gain),
                *self._first_blocks(row),
            )

    def _first_blocks(self, row: int) -> tuple[int, int]:
        """Return the blocks that a row has sent for the first time, and those of them that were lost then."""
        if not self.block_state.size:
            return 0, 0
        first = self.block_state[row]
        return int(first[link_columns.FIRST_SENT]), int(first[link_columns.FIRST_LOST])

    def _ended_gain(self, row: int, last_gain: complex) -> Callable[[], complex]:
        """Return a function of the fading's gain after the transfer of a row, whose last slot had `last_gain`."""
        draws: FastDraws | None = self.fast_draws[row]
        # As under a fixed share: the fading afterwards is a new draw.
        if draws is None:
            return lambda: last_gain
        place = int(self.fast_place[row])
        return lambda: complex(draws.gains[place])

    def take_fast_draws(self, rows: Rows, draws: FastDraws) -> None:
        """Take the draws [r] of the `fast` engine for the attempts of some rows."""
        self.fast_draws[rows] = draws
        self.fast_place[rows] = np.arange(rows.size)

    def advance(self, count: int, sent_bits: Floats) -> None:
        """Account for `count` slots and up to `sent_bits` [n] sent in them."""
        bits = np.minimum(sent_bits, self.left_bits)
        self.left_bits -= bits
        self.sent_bits += bits
        self.bits_over_snr += np.divide(bits, self.mean_snr, out=np.zeros(len(self)), where=self.mean_snr > 0)
        self.slots += count
        self.air_slots += self.air * count
        self.full_power_slots += self.full_power_air * count
        self.band_slots += self.occupancy * count
        self.sinr_slots += self.sinr_air * count
        # Fading that is a function of time draws nothing; neither does the `fast` engine unless it walks.
        self.used = np.minimum(self.used + count, self.drawn)
        self.epoch_samples += count * self.worth

    def begin_walking(self, rows: Rows) -> None:
        """Walk some rows slot by slot from now on; their fading has gone on since they were walked before."""
        paused = rows[self.slots[rows] > self.walked_until[rows]]
        if paused.size:
            pause_slots = self.slots[paused] - self.walked_until[paused]
            draws = np.array([self.transfers[row].draws(ONE_ROW, 1)[0, 0] for row in paused.tolist()])
            self.gain[paused] = channel.fading.advance(self.gain[paused], self.correlation[paused], pause_slots, draws)
        self.walked[rows] = True
        self.walked_from[rows] = self.slots[rows]

    def stop_walking(self, rows: Rows) -> None:
        """Forget the slots that have been drawn for some rows, which are not walked from now on."""
        self.gain[rows] = self.last_gain(rows)
        self.walked[rows] = False
        self.walked_until[rows] = self.slots[rows]
        self.drawn[rows] = 0
        self.used[rows] = 0

    def last_gain(self, rows: Rows) -> Complex:
        """Return the fading's gains in the last slot of some rows [r]."""
        if self.block_state.size:
            return link_race.last_gains(self.blocks)[rows]
        last = self.gain[rows]
        for position, row in enumerate(rows.tolist()):
            if self.used[row]:
                last[position] = self.gains[row][self.used[row] - 1]
        return np.asarray(last)

    def look_ahead(self, rows: Rows, slots: int, expected_slots: Floats) -> Floats:
        """Return the fading powers |h|^2 [r, slots] of some rows in the coming slots.

        Args:
            rows: the rows.
            slots: number of slots.
            expected_slots: [r] that each row still needs; decides how many are drawn together.
        """
        known = self.drawn[rows] - self.used[rows]
        short = np.flatnonzero(known < slots)
        if short.size:
            left_slots = int((self.limit_slots[rows] - self.slots[rows]).max())  # the most that any row takes
            most = max(min(KNOWN_VALUES // len(rows), left_slots), slots)
            wanted = DRAW_MARGIN * float(np.median(expected_slots[short])) + LEAST_DRAWN_SLOTS
            target = int(max(slots, min(most, wanted)))
            for held in np.unique(known[short]).tolist():
                self._draw(rows[short[known[short] == held]], held, target)
        if not rows.size:
            return np.empty((0, slots))
        windows = zip(self.powers[rows], self.used[rows].tolist(), strict=True)
        # np.stack would be slower, as it checks each row several times.
        return np.concatenate([powers[first : first + slots] for powers, first in windows]).reshape(rows.size, slots)

    def bps_hz_in_time(self, row: int, first: int, slots: int, efficiency: Efficiency, slot_s: float) -> Floats:
        """Return the spectral efficiencies [slots] of a row with fading in time, from slot `first` on."""
        transfer = self.transfers[row]
        mean_snr = float(self.mean_snr[row])
        bandwidth_hz = float(self.bandwidth_hz[row])
        bps_hz: Floats = transfer.gains_in_time.bps_hz(efficiency, slot_s, mean_snr, bandwidth_hz, first, slots)
        return bps_hz

    def _draw(self, rows: Rows, held: int, target: int) -> None:
        """Extend the gains of rows that all know those of `held` coming slots to `target` slots."""
        together = max(DRAWN_TOGETHER // (target - held), 1)
        for first in range(0, rows.size, together):
            self._draw_together(rows[first : first + together], held, target)

    def _draw_together(self, rows: Rows, held: int, target: int) -> None:
        """Do the same as `_draw` for few enough rows."""
        last = self.last_gain(rows)
        before = last
        if held:
            # The process continues from the last known gain, not from the last slot that is over.
            before = np.array([self.gains[row][-1] for row in rows])
        more = coming_gains(
            [self.transfers[row].draws for row in rows],
            before,
            target - held,
            correlation=self.step_correlation[rows],
            hold_slots=self.step_slots[rows],
            constant=self.constant[rows],
            first_slot=self.slots[rows] - self.walked_from[rows] + held,
        )
        power = np.abs(channel.fading.ricean(more, self.k_factor[rows, None])) ** 2
        for row, gains, powers in zip(rows.tolist(), more, power, strict=True):
            used = self.used[row]
            self.gains[row] = np.concatenate([self.gains[row][used:], gains]) if held else gains
            self.powers[row] = np.concatenate([self.powers[row][used:], powers]) if held else powers
        self.gain[rows] = last
        self.drawn[rows] = target
        self.used[rows] = 0


def _source(transfer: BandTransfer) -> int:
    """Return where the fading of a transfer comes from."""
    if transfer.gains_in_time is not None:
        return link_columns.GIVEN
    return link_columns.CONSTANT if transfer.constant else link_columns.PROCESS


def _objects(values: Sequence[object]) -> Objects:
    """Return an array [n] of Python objects, which may themselves be arrays."""
    array = np.empty(len(values), dtype=np.object_)
    for position, value in enumerate(values):
        array[position] = value
    return array
