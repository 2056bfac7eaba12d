"""The progress of transfers on a band until its next division: slot by slot, or by the `fast` engine."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import channel
from channel.transfer import MAX_SLOTS
from edgefl.core.arrays import Floats, Ints, Rows
from edgefl.core.times import SAME_STEP
from edgefl.radio.bands.block_race import BlockRace
from edgefl.radio.bands.rows import BandRows
from edgefl.radio.prices.transmission import TransmissionEngine
from edgefl.radio.transfers import Way

LOOK_AHEAD_VALUES = 2**15  # slots of a race, all transfers together: bounds the memory
LEAST_AHEAD_SLOTS = 16  # of each transfer, however many share that memory
LOOK_AHEAD_MARGIN = 1.1  # slots looked ahead over those expected: fading makes transfers longer or shorter
LONG = 4.0  # times the length that `fast` needs: from here on it estimates a walked transfer again

SentBy = Callable[[int], Floats]
"""Returns the bits of each transfer [n] that are sent in some slots after a division."""


class Progress(NamedTuple):
    """The progress of transfers [n] that keep their shares."""

    ends: Floats  # [n] slots after which each ends; infinite: not known yet, or never
    known_slots: int  # how far the progress is known
    settle: SentBy  # [n], up to `known_slots`

    @property
    def slots(self) -> int:
        """The slots until the first transfer ends, or until more slots must be drawn."""
        return int(min(self.ends.min(initial=np.inf), self.known_slots))

    def goes_on(self) -> bool:
        """See BlockRace; here a division follows."""
        return False


class BandProgress:
    """The two engines on a band.

    `slots` walks all transfers. `fast` estimates those that are long enough (`channel.epochs`), has a closed form for
    channels that do not change, and walks the others. Most transfers end walked, as the rest of a long one gets short.
    """

    def __init__(self, engine: TransmissionEngine, way: Way) -> None:
        self._engine = engine
        self._budget = engine.budget
        self._way = way
        self._slot_s = engine.budget.radio.slot_s
        self._slot_shares = engine.budget.resources.slot_shares(way)  # [slots] of a frame; None: slots are alike

    def divide(self, rows: BandRows, share_hz: Floats, slot: int, horizon: int) -> Progress | BlockRace:
        """Return the progress of transfers [n] on new shares of the band.

        Args:
            rows: the transfers, with their new SNRs.
            share_hz: [n] bandwidth that carries payload, averaged over time.
            slot: number of the slot that begins, in the run.
            horizon: how many slots of progress are needed.
        """
        if self._engine.adaptation is not None:
            return BlockRace(
                adaptation=self._engine.adaptation,
                rows=rows,
                share_hz=share_hz,
                slot=slot,
                slot_s=self._slot_s,
                most_slots=horizon,
            )
        if not self._engine.fast or rows.in_time.all():
            rows.walked[:] = True
            return self._walk(rows, np.arange(len(rows)), share_hz, slot, horizon)
        if (rows.walked & (share_hz * LONG > rows.walked_hz)).all():  # all are short, and stay so
            rows.share_hz[:] = share_hz
            return self._walk(rows, np.arange(len(rows)), share_hz, slot, horizon)
        constant = rows.constant
        carries = share_hz > 0
        self._estimate(rows, np.flatnonzero(~constant & carries & (rows.mean_snr > 0)), share_hz)
        rows.share_hz[:] = share_hz
        if rows.walked.all():
            return self._walk(rows, np.arange(len(rows)), share_hz, slot, horizon)
        estimated = np.flatnonzero(~rows.walked & ~constant & carries & (rows.epoch >= 0))
        parts = [
            (np.flatnonzero(constant), self._go_on_steadily(rows, np.flatnonzero(constant), share_hz)),
            (estimated, self._flow(rows, estimated)),
            (np.flatnonzero(rows.walked), self._walk(rows, np.flatnonzero(rows.walked), share_hz, slot, horizon)),
        ]
        return _together(len(rows), parts)

    def mean_bps_hz(self, rows: BandRows, slot: int, ahead: int) -> Floats:
        """Return the mean spectral efficiencies [n] of transfers in the coming slots, if all are walked."""
        every = np.arange(len(rows))
        expected_slots = np.full(len(rows), float(LEAST_AHEAD_SLOTS))
        return np.asarray(self._coming_bps_hz(rows, every, slot, ahead, expected_slots).mean(axis=1))

    def _walk(self, rows: BandRows, walked: Rows, share_hz: Floats, slot: int, horizon: int) -> Progress:
        """Walk some rows slot by slot until the first one ends, or until more gains must be drawn."""
        if not walked.size:
            return _nothing(walked)
        began = time.perf_counter()
        left_bits = rows.left_bits[walked]
        hz = share_hz[walked]
        slot_bits = hz * self._slot_s * rows.mean_bps_hz[walked]
        never = np.full(walked.size, np.inf)
        # Mean rates decide how far to look ahead. Draws are keyed, so this does not change the fading of a slot. Sums
        # of bits restart with each look-ahead, so it changes them by rounding errors, and a duration only where a
        # payload ends within a rounding error of a slot's border.
        expected_slots = np.divide(left_bits, slot_bits, out=never, where=slot_bits > 0)
        room = max(LOOK_AHEAD_VALUES // walked.size, LEAST_AHEAD_SLOTS)
        ahead = int(max(1, min(room, LOOK_AHEAD_MARGIN * expected_slots.min() + LEAST_AHEAD_SLOTS, horizon)))
        bps_hz = self._coming_bps_hz(rows, walked, slot, ahead, expected_slots)
        race = channel.sharing.race_at(bps_hz, left_bits, hz, self._slot_s)
        self._engine.count_needless(time.perf_counter() - began)
        ends = np.where(race.needed <= ahead, race.needed, np.inf)
        return Progress(ends, ahead, lambda count: race.sent_bits[:, count - 1])

    def _coming_bps_hz(self, rows: BandRows, walked: Rows, slot: int, ahead: int, expected_slots: Floats) -> Floats:
        """Return the spectral efficiencies [r, ahead] of some rows in the coming slots."""
        efficiency = self._budget.efficiency
        in_time = rows.in_time[walked]
        if in_time.all():
            bps_hz = np.empty((walked.size, ahead))
        else:
            bps_hz = efficiency.bps_hz(rows.look_ahead(walked, ahead, expected_slots) * rows.mean_snr[walked, None])
        for position in np.flatnonzero(in_time).tolist():
            row = int(walked[position])
            bps_hz[position] = rows.bps_hz_in_time(row, slot, ahead, efficiency, self._slot_s)
        if self._slot_shares is not None:
            places = (slot + np.arange(ahead)) % self._slot_shares.size
            bps_hz = bps_hz * self._slot_shares[places]
        return bps_hz

    def _go_on_steadily(self, rows: BandRows, steady: Rows, share_hz: Floats) -> Progress:
        if not steady.size:
            return _nothing(steady)
        power = np.abs(channel.fading.ricean(rows.gain[steady], rows.k_factor[steady])) ** 2
        bps_hz = self._budget.efficiency.bps_hz(rows.mean_snr[steady] * power)
        slot_bits = share_hz[steady] * self._slot_s * bps_hz
        left_bits = rows.left_bits[steady]
        # A transfer that falls short of a slot boundary by a rounding error ends there.
        almost_bits = left_bits * (1.0 - SAME_STEP)
        never = np.full(steady.size, np.inf)
        slots = np.divide(almost_bits, slot_bits, out=never, where=slot_bits > 0)
        return Progress(
            np.ceil(slots),
            MAX_SLOTS,
            lambda count: np.where(slot_bits * count < almost_bits, slot_bits * count, left_bits),
        )

    def _estimate(self, rows: BandRows, fading: Rows, share_hz: Floats) -> None:
        """Decide which rows whose shares have changed are walked, and begin epochs of the others."""
        undecided = (rows.epoch[fading] < 0) & ~rows.walked[fading]
        new = fading[undecided]
        draws = self._engine.fast_draws(self._way, rows.device[new], rows.index[new], rows.attempt[new])
        rows.take_fast_draws(new, draws)
        changed = (share_hz[fading] != rows.share_hz[fading]) | (rows.mean_snr[fading] != rows.epoch_snr[fading])
        # A transfer short enough to be walked becomes long only on a much smaller share.
        stays = rows.walked[fading] & (share_hz[fading] * LONG > rows.walked_hz[fading])
        decides = undecided | (changed & ~stays)
        at = fading[decides]
        if not at.size:
            return
        # A walked transfer stays walked unless it has become long, when its present fading hardly matters.
        patience = np.where(rows.walked[at], LONG, 1.0)
        outlook = channel.epochs.outlook(
            rows.left_bits[at] / patience,
            rows.mean_snr[at],
            share_hz[at],
            self._slot_s,
            rows.correlation[at],
            self._budget.efficiency,
            rows.k_factor[at],
        )
        estimated = outlook.enough
        begins_walk = ~estimated & ~rows.walked[at]
        self._begin_walking(rows, at[begins_walk], outlook.one_rate_slots[begins_walk])
        rows.walked_hz[at[begins_walk]] = share_hz[at[begins_walk]]
        first = np.flatnonzero(estimated[undecided[decides]])
        if first.size:
            rows.epoch_normal[new[first]] = draws.of_durations(first)
        self._begin_epochs(rows, at[estimated])
        rows.epoch_snr[at] = rows.mean_snr[at]
        rows.sample_bits[at] = outlook.sample_bits
        rows.worth[at] = outlook.worth
        rows.lines[at] = channel.epochs.of_epoch(outlook.lines, rows.epoch[at] == 0).T

    def _begin_walking(self, rows: BandRows, at: Rows, one_rate_slots: Ints) -> None:
        rows.begin_walking(at)
        # As under a fixed share, some slots of slow fading are walked at one rate; only single slots can be cut.
        in_steps = rows.limit_slots[at] >= MAX_SLOTS
        steps = at[in_steps]
        rows.step_slots[steps] = one_rate_slots[in_steps]
        rows.step_correlation[steps] = rows.correlation[steps] ** one_rate_slots[in_steps]

    def _begin_epochs(self, rows: BandRows, at: Rows) -> None:
        """Begin new epochs of some rows, unless theirs have only just begun."""
        first = at[(rows.epoch[at] < 0) & ~rows.walked[at]]
        later = at[rows.walked[at] | ((rows.epoch[at] >= 0) & (rows.epoch_samples[at] >= channel.epochs.LEAST_SAMPLES))]
        rows.epoch[first] = 0
        rows.epoch_samples[first] = 0.0
        if not later.size:
            return
        rows.stop_walking(later[rows.walked[later]])
        rows.epoch[later] = np.maximum(rows.epoch[later], 0) + 1
        rows.epoch_samples[later] = 0.0
        rows.epoch_normal[later] = self._engine.later_normals(
            self._way, rows.device[later], rows.index[later], rows.attempt[later], rows.epoch[later]
        )

    def _flow(self, rows: BandRows, estimated: Rows) -> Progress:
        if not estimated.size:
            return _nothing(estimated)
        left_bits = rows.left_bits[estimated]
        sample_bits = rows.sample_bits[estimated]
        worth = rows.worth[estimated]
        normal = rows.epoch_normal[estimated]
        lines = rows.lines[estimated].T
        begun = rows.epoch_samples[estimated]
        before = channel.epochs.sent(begun, normal, lines)  # in this epoch
        ends = channel.epochs.ends(before + left_bits / sample_bits, normal, lines)
        slots = np.maximum(np.ceil((ends - begun) / worth), 1.0)
        most_bits = left_bits * (1.0 - SAME_STEP)  # before the end

        def sent_by(count: int) -> Floats:
            samples = channel.epochs.sent(begun + count * worth, normal, lines) - before
            return np.where(count >= slots, left_bits, np.clip(sample_bits * samples, 0.0, most_bits))

        return Progress(slots, MAX_SLOTS, sent_by)


def _together(count: int, parts: Sequence[tuple[Rows, Progress]]) -> Progress:
    def sent_by(slots: int) -> Floats:
        bits = np.zeros(count)
        for at, progress in parts:
            if at.size:
                bits[at] = progress.settle(slots)
        return bits

    ends = np.full(count, np.inf)
    for at, progress in parts:
        ends[at] = progress.ends
    return Progress(ends, min(progress.known_slots for _, progress in parts), sent_by)


def _nothing(rows: Rows) -> Progress:
    return Progress(np.zeros(rows.size), MAX_SLOTS, lambda _: np.zeros(rows.size))
