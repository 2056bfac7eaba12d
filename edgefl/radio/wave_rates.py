"""Rates in the slots of fading that is a sum of waves: each sub-band of a transfer's share has its own gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import channel
from channel.rate import Efficiency
from channel.waves import TILE_SLOTS, Waves
from edgefl.core.arrays import Complex, Floats, Ints, Rows

KEPT_TILES = 4  # of a transfer on a shared band: the slots to which a division comes back


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


class WaveGains:
    """The gains of one transfer whose share of the band changes; keeps the taps of the slots that are looked at."""

    def __init__(self, waves: Waves) -> None:
        self._waves = waves  # [1]
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
        if tile not in self._tiles:
            self._tiles[tile] = channel.waves.tap_tiles(self._waves, slot_s, tile, 1)
            while len(self._tiles) > KEPT_TILES:
                del self._tiles[min(self._tiles)]  # time goes on, so the earliest is over first
        return self._tiles[tile]
