"""Gains that hold for blocks of slots, a function of the device, its base station and the block's number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import channel
from edgefl.core.arrays import Bools, Complex, Floats, Ids, Ints, Rows
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.fading.base import LONGEST_SLOTS

LENGTHS = 2**31  # block lengths that differ by this have the same keys, as have
NUMBERS = 2**32  # block numbers that differ by this: no run is that long
LENGTH_BITS = 32  # a block's length stands above its device's number in the key of a draw


@dataclass(frozen=True)
class BlockGains:
    """The fading of devices [n] in blocks, Rayleigh or Ricean, with one independent gain a block.

    The gain does not depend on what is sent, when or in what direction: draws do not follow the order of events.
    """

    streams: Streams
    purpose: Purpose
    ids: Ids  # [n]
    cell: Ids  # [n] the base station at the other end
    k_factor: Floats  # [n]
    block_slots: Ints  # [n] slots of the clock in a block
    first_number: int = 0  # of the clock's first block

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, rows: Rows) -> BlockGains:
        """Return the fading of the devices `rows` [r]."""
        return replace(
            self,
            ids=self.ids[rows],
            cell=self.cell[rows],
            k_factor=self.k_factor[rows],
            block_slots=self.block_slots[rows],
        )

    @property
    def constant(self) -> Bools:
        """True [n] where the gain never changes."""
        return np.asarray((self.block_slots == LONGEST_SLOTS) | np.isinf(self.k_factor))

    def power(self, first_slot: Ints, slots: int) -> Floats:
        """Return |h|^2 [n, slots] in the slots from number `first_slot` [n] of the clock on."""
        return np.asarray(np.abs(self.gain(first_slot, slots)) ** 2)

    def gain(self, first_slot: Ints, slots: int) -> Complex:
        """Return h [n, slots] in the slots from number `first_slot` [n] of the clock on."""
        block = (first_slot[:, None] + np.arange(slots)) // self.block_slots[:, None]
        block[self.block_slots == LONGEST_SLOTS] = 0  # also before the run begins, where slots are negative
        begin = block[:, :1]
        blocks = int((block[:, -1:] - begin).max(initial=0)) + 1
        scatter = self._scatter(begin + np.arange(blocks))
        return channel.fading.ricean(np.take_along_axis(scatter, block - begin, axis=1), self.k_factor[:, None])

    def _scatter(self, block: Ints) -> Complex:
        """Return draws of CN(0, 1) [n, b] for the numbers [n, b] of blocks."""
        # Blocks of another length are other blocks, though their numbers may be the same.
        entity = self.ids + ((self.block_slots % LENGTHS) << LENGTH_BITS)
        position = 2 * ((self.first_number + block) % NUMBERS)[..., None] + np.arange(2)
        parts = self.streams.normal_at(self.purpose, entity[:, None, None], self.cell[:, None, None], position)
        return np.asarray((parts[..., 0] + 1j * parts[..., 1]) * np.sqrt(0.5))
