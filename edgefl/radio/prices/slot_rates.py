"""Rates slot by slot: of fading that is a function of time, and of any fading in a frame's slots of one direction."""

from dataclasses import dataclass
from functools import partial

import numpy as np

import channel
from channel.given_slots import SlotBits
from channel.rate import Efficiency
from channel.transfer import Innovations
from channel.waves import TILE_SLOTS, Waves
from edgefl.core.arrays import Complex, Floats, Ints, Rows
from edgefl.radio.block_gains import BlockGains
from edgefl.radio.gains.small_scale import coming_gains
from edgefl.radio.participants import Participants

KEPT_TILES = 4  # of a transfer on a shared band: slots that a division needs again


@dataclass(frozen=True)
class WaveRates:
    """The coming slots of transfers [n] whose shares of the band hold."""

    waves: Waves
    efficiency: Efficiency
    slot_s: float
    bandwidth_hz: Floats
    mean_snr: Floats
    first_slot: Ints  # number of each transfer's first slot, the time of its waves

    def slot_bits(self, rows: Rows, first: Ints, count: int) -> Floats:
        """Return the bits [r, count] of transfers `rows` [r] in their slots `first` [r] and after."""
        subbands = channel.waves.subbands(self.waves.only(rows), self.bandwidth_hz[rows])
        bits = np.empty((rows.size, count))
        for number in np.unique(subbands).tolist():
            at = np.flatnonzero(subbands == number)
            same = rows[at]
            power = channel.waves.subband_power(
                self.waves.only(same),
                self.slot_s,
                self.bandwidth_hz[same],
                number,
                self.first_slot[same] + first[at],
                count,
            )
            bps_hz = channel.waves.mean_bps_hz(self.efficiency, self.mean_snr[same, None], power)
            bits[at] = bps_hz * (self.bandwidth_hz[same] * self.slot_s)[:, None]
        return bits


@dataclass(frozen=True)
class BlockRates:
    """The coming slots of transfers [n] whose fading holds in blocks, and whose shares of the band hold."""

    blocks: BlockGains
    efficiency: Efficiency
    slot_s: float
    bandwidth_hz: Floats
    mean_snr: Floats
    first_slot: Ints  # number of each transfer's first slot on the clock's grid

    def slot_bits(self, rows: Rows, first: Ints, count: int) -> Floats:
        """Return the bits [r, count] of transfers `rows` [r] in their slots `first` [r] and after."""
        power = self.blocks.only(rows).power(self.first_slot[rows] + first, count)
        bps_hz = self.efficiency.bps_hz(power * self.mean_snr[rows, None])
        return np.asarray(bps_hz * (self.bandwidth_hz[rows] * self.slot_s)[:, None])


RatesInTime = WaveRates | BlockRates
"""The rates of slots where the fading is a function of time."""


def rates_in_time(
    participants: Participants, efficiency: Efficiency, slot_s: float, bandwidth_hz: Floats, mean_snr: Floats
) -> RatesInTime | None:
    """Return the rates of the slots of transfers [n]; None where the fading is a process of slots."""
    rest = (efficiency, slot_s, bandwidth_hz, mean_snr, participants.first_slot)
    if participants.waves is not None:
        return WaveRates(participants.waves, *rest)
    if participants.blocks is not None:
        return BlockRates(participants.blocks, *rest)
    return None


class ProcessRates:
    """The coming slots of transfers [n] whose fading is a process of slots, and whose shares of the band hold.

    Draws are taken in the order of each row's slots.
    """

    def __init__(
        self,
        *,
        participants: Participants,
        draws: Innovations,
        efficiency: Efficiency,
        slot_s: float,
        bandwidth_hz: Floats,
        mean_snr: Floats,
    ) -> None:
        self._participants = participants
        self._draws = draws
        self._efficiency = efficiency
        self._slot_hz_s = bandwidth_hz * slot_s
        self._mean_snr = mean_snr
        self._last: dict[int, Complex] = {}  # by row, the gains of the latest slots
        self._first = np.zeros(len(participants), dtype=np.int64)  # number of the first of these

    def slot_bits(self, rows: Rows, first: Ints, count: int) -> Floats:
        """Return the bits [r, count] of transfers `rows` [r] in their slots `first` [r] and after."""
        participants = self._participants
        before = participants.start[rows]
        for place, row in enumerate(rows.tolist()):
            if row in self._last:
                before[place] = self._last[row][-1]
        gains = coming_gains(
            [partial(self._draw, row) for row in rows.tolist()],
            before,
            count,
            correlation=participants.correlation[rows],
            hold_slots=np.ones_like(first),
            constant=participants.constant[rows],
            first_slot=first,
        )
        self._last.update(zip(rows.tolist(), gains, strict=True))
        self._first[rows] = first
        power = np.abs(channel.fading.ricean(gains, participants.drop.k_factor[rows, None])) ** 2
        bps_hz = self._efficiency.bps_hz(power * self._mean_snr[rows, None])
        return np.asarray(bps_hz * self._slot_hz_s[rows, None])

    def gain(self, row: int, used_slots: int) -> complex:
        """Return the gain of a transfer in the last slot that it has used."""
        if used_slots == 0 or row not in self._last:
            return complex(self._participants.start[row])
        return complex(self._last[row][used_slots - 1 - self._first[row]])

    def _draw(self, row: int, _rows: Rows, count: int) -> Complex:
        """Return the next draws [1, count] of a row."""
        return self._draws(np.array([row]), count)


@dataclass(frozen=True)
class FramedRates:
    """Slots that a frame divides between the directions.

    Args:
        bare_slot_bits: returns the bits of slots that belong to the direction as a whole.
        shares: [slots] of each slot of a period that belongs to the direction.
        first_slot: [n] number of each transfer's first slot on the clock's grid.
    """

    bare_slot_bits: SlotBits
    shares: Floats
    first_slot: Ints

    def slot_bits(self, rows: Rows, first: Ints, count: int) -> Floats:
        """Return the bits [r, count] of transfers `rows` [r] in their slots `first` [r] and after."""
        return np.asarray(self.bare_slot_bits(rows, first, count) * self.shares[self._places(rows, first, count)])

    def period_bits(self, row: int, slot_bits: float) -> Floats:
        """Return the bits [slots] of a period from a row's first slot on, if all whole slots carry `slot_bits`."""
        places = self._places(np.array([row]), np.zeros(1, dtype=np.int64), self.shares.size)[0]
        return np.asarray(slot_bits * self.shares[places])

    def _places(self, rows: Rows, first: Ints, count: int) -> Ints:
        """Return the places of slots [r, count] in the period."""
        return np.asarray(((self.first_slot[rows] + first)[:, None] + np.arange(count)) % self.shares.size)


class WaveGains:
    """The gains of one transfer whose share of the band changes; keeps the taps of recent slots."""

    def __init__(self, waves: Waves) -> None:
        self._waves = waves  # [1]
        self._turns: channel.waves.Turns | None = None
        self._tiles: dict[int, Complex] = {}

    def bps_hz(
        self, efficiency: Efficiency, slot_s: float, mean_snr: float, bandwidth_hz: float, first: int, count: int
    ) -> Floats:
        """Return the spectral efficiencies [count] of slots from number `first` on, on a share of the band."""
        subbands = int(channel.waves.subbands(self._waves, np.array([bandwidth_hz]))[0])
        begin = first // TILE_SLOTS
        end = -(-(first + count) // TILE_SLOTS)
        taps = np.concatenate([self._tile(slot_s, tile) for tile in range(begin, end)], axis=1)
        power = channel.waves.tile_power(self._waves, np.array([bandwidth_hz]), subbands, taps)[0]
        offset = first - begin * TILE_SLOTS
        return channel.waves.mean_bps_hz(efficiency, mean_snr, power[offset : offset + count])

    def _tile(self, slot_s: float, tile: int) -> Complex:
        """Return the gains [1, 1, taps, slots] of a tile of slots."""
        if tile in self._tiles:
            return self._tiles[tile]
        if self._turns is None:
            self._turns = channel.waves.turns(self._waves, slot_s)
        taps = channel.waves.tap_tiles(self._waves, slot_s, tile, 1, self._turns)
        self._tiles[tile] = taps
        while len(self._tiles) > KEPT_TILES:
            del self._tiles[min(self._tiles)]  # the earliest is over first
        return taps


class BlockPowers:
    """The gains of one transfer whose share of the band changes, and whose fading holds in blocks."""

    def __init__(self, blocks: BlockGains) -> None:
        self._blocks = blocks  # [1]

    def bps_hz(
        self, efficiency: Efficiency, slot_s: float, mean_snr: float, bandwidth_hz: float, first: int, count: int
    ) -> Floats:
        """Return the spectral efficiencies [count] of slots from number `first` on, the same on any share."""
        power = self._blocks.power(np.array([first]), count)[0]
        return np.asarray(efficiency.bps_hz(power * mean_snr))


GainsInTime = WaveGains | BlockPowers
"""The gains of one transfer where the fading is a function of time."""


def gains_in_time(participant: Participants) -> GainsInTime | None:
    """Return the gains of the transfer of one participant [1]; None where its fading is a process of slots."""
    if participant.waves is not None:
        return WaveGains(participant.waves)
    if participant.blocks is not None:
        return BlockPowers(participant.blocks)
    return None
