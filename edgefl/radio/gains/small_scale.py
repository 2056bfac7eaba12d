"""Small-scale fading of transfers: its keyed draws, and its gains slot by slot."""

from collections.abc import Sequence

import numpy as np

import channel
from channel.transfer import Innovations
from channel.waves import Waves
from edgefl.core.arrays import Bools, Complex, Floats, Ids, Ints
from edgefl.core.errors import RunError
from edgefl.core.returns import ANYTHING, Array, Instance, called, check, is_trusted
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.block_gains import BlockGains
from edgefl.radio.drop import Drop
from edgefl.radio.fading import Fading, ScatteredPaths
from edgefl.radio.participants import Participants
from edgefl.radio.radio_section import Radio
from edgefl.radio.transfers import Way

INNOVATIONS: dict[Way, Purpose] = {"down": "fading_down", "up": "fading_up"}
ONE_ROW = np.array([0])


class FadingDraws:
    """Keyed draws of the small-scale fading, which do not depend on their order."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def complex_normals(self, purpose: Purpose, ids: Ids, index: int, count: int = 1) -> Complex:
        """Return draws of CN(0, 1) [n, count] by device."""
        parts = self._streams.normal(purpose, ids, index, count=2 * count)
        # CN(0, 1) has unit power, half of it in the real and half in the imaginary part.
        return np.asarray((parts[:, ::2] + 1j * parts[:, 1::2]) * np.sqrt(0.5))

    def waves(
        self, radio: Radio, drop: Drop, speed_mps: Floats, index: int, purpose: Purpose, number: int = 0
    ) -> Waves | None:
        """Return the fading of devices [n] as sums of waves; None where the model has none.

        Args:
            radio: the section `radio`.
            drop: their large-scale channel.
            speed_mps: [n] their speeds.
            index: of the selection that chose them.
            purpose: of the draws.
            number: of the base station in the participation, from 0; each takes the next draws of a device's sequence.
        """

        def draw(count: int) -> Floats:
            uniform = self._streams.uniform(purpose, drop.ids, index, count=(number + 1) * count)
            return np.asarray(uniform[:, number * count :])

        if type(radio.fading).waves is Fading.waves:  # which has none
            return None
        spread_s = radio.propagation.delay_spread_s(drop.los, drop.indoor, radio.carrier_hz)
        paths = ScatteredPaths(speed_mps, drop.los & ~drop.indoor, drop.k_factor, radio.carrier_hz, spread_s)
        waves = called(radio.fading.waves, ANYTHING, paths, draw)
        if waves is None:
            return None
        _check_waves(radio, waves, len(drop.ids))
        return waves

    def blocks(
        self, radio: Radio, drop: Drop, speed_mps: Floats, index: int, purpose: Purpose = "fading_blocks"
    ) -> BlockGains | None:
        """Return the fading of devices [n] as gains that hold in blocks; None where the model has none; see `waves`."""
        fading = radio.fading
        block_slots = called(fading.hold_slots, ANYTHING, speed_mps, radio.carrier_hz, radio.slot_s)
        if block_slots is None:
            return None
        must = Array(speed_mps.shape, "whole numbers [n] of slots from 1, or None", least=1, whole=True)
        check(fading, "hold_slots", block_slots, must)
        first_number = index if fading.new_in_each_round else 0
        # Streams of the whole run, so that separate messages, such as polls, meet the same blocks.
        return BlockGains(self._streams.whole, purpose, drop.ids, drop.cell, drop.k_factor, block_slots, first_number)

    def pauses(self, participants: Participants, turns: int) -> Complex:
        """Return draws of CN(0, 1) [n, turns - 1] that advance the fading over the pauses between turns."""
        return self.complex_normals("fading_gap", participants.drop.ids, participants.index, turns - 1)

    def innovations(self, way: Way, participants: Participants, number: int) -> Innovations:
        """Return the source of the draws during attempt `number` of each participant's transfer.

        Each attempt has its own stream, so a walk can be repeated up to any slot after an interrupt.
        """
        ids = participants.drop.ids
        attempt = participants.attempts_before + number

        def seed(row: int) -> bytes:
            return self._streams.sequence_seed(INNOVATIONS[way], int(ids[row]), participants.index, attempt)

        return channel.transfer.innovations_of_seeds(seed)


def coming_gains(
    draws: Sequence[Innovations],
    before: Complex,
    slots: int,
    *,
    correlation: Floats,
    hold_slots: Ints,
    constant: Bools,
    first_slot: Ints,
) -> Complex:
    """Return the fading gains [n, slots] of n transfers in the coming slots; each row depends only on itself.

    Args:
        draws: [n] of the transfers' attempts.
        before: [n] the gains in the slot before.
        slots: how many gains to return.
        correlation: [n] between neighbouring values.
        hold_slots: [n] number of slots that a value holds: `fast` walks slow fading in steps.
        constant: [n] whether the channel keeps its strength.
        first_slot: [n] the number of the first of these slots, from 0 at the beginning of each transfer.
    """
    gains = np.empty((len(before), slots), dtype=np.complex128)
    # With a correlation of 1 or -1 slots have no innovation; with an infinite K scatter does not matter.
    turning = np.flatnonzero(constant)
    if turning.size:
        gains[turning] = before[turning, None] * _powers(correlation[turning], slots)
    gauss_markov = np.flatnonzero(~constant & (hold_slots == 1))  # every slot takes a draw
    if gauss_markov.size:
        innovations = np.empty((gauss_markov.size, slots), dtype=np.complex128)
        for drawn, row in zip(innovations, gauss_markov.tolist(), strict=True):
            drawn[:] = draws[row](ONE_ROW, slots)[0]
        gains[gauss_markov] = channel.fading.gauss_markov(innovations, correlation[gauss_markov], before[gauss_markov])
    for row in np.flatnonzero(~constant & (hold_slots != 1)).tolist():
        gains[row] = _coming_steps(
            draws[row], before[row], slots, float(correlation[row]), int(hold_slots[row]), int(first_slot[row])
        )
    return gains


def _powers(correlation: Floats, slots: int) -> Floats:
    """Return the powers [n, slots] of correlations [n], from the first one on."""
    exponents = np.arange(1, slots + 1)
    if (np.abs(correlation) == 1.0).all():  # then a general power would take ten times as long
        return np.where(exponents % 2 == 1, correlation[:, None], 1.0)
    return np.asarray(correlation[:, None] ** exponents)


def _coming_steps(
    draws: Innovations, before: complex, slots: int, correlation: float, hold_slots: int, first_slot: int
) -> Complex:
    """Return the gains [slots] of one transfer whose values each hold for some slots."""
    step = (first_slot + np.arange(slots)) // hold_slots - (first_slot - 1) // hold_slots  # 0: of the slot before
    new_steps = int(step[-1]) if slots else 0
    # Only slots that begin a step take draws, so the stream does not depend on how far a call looks ahead.
    values = np.full(new_steps + 1, before)
    if new_steps:
        values[1:] = channel.fading.gauss_markov(draws(ONE_ROW, new_steps), correlation, [before])[0]
    return values[step]


def _check_waves(radio: Radio, waves: Waves, count: int) -> None:
    """Check the waves that a fading model has returned for `count` devices.

    Raises:
        RunError: `fast` does not know their law.
        WrongReturn: a model from outside did not return waves.
    """
    if radio.transfer == "fast":  # a model from outside may not have set `slots_only`
        raise RunError("radio.transfer: fast does not know how long payloads take under radio.fading: write slots")
    fading = radio.fading
    if is_trusted(fading):
        return
    what = "waves [n, taps, waves] of channel.waves, or None"
    check(fading, "waves", waves, Instance(Waves, what))
    shape = (count, *np.shape(waves.shift_hz)[1:])
    check(fading, "waves", waves.shift_hz, Array(shape, what))
    check(fading, "waves", np.abs(waves.amplitude), Array(shape, what, least=0.0))
    check(fading, "waves", waves.delay_s, Array(shape[:2], "delays [n, taps] from 0", least=0.0))
