"""A round's participants as the radio sees them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from channel.waves import Waves
from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.radio.block_gains import BlockGains
from edgefl.radio.drop import Drop


@dataclass(frozen=True)
class Participants:
    """The channel, the small-scale fading and the transmit power of a round's participants [n]."""

    index: int  # of the selection that chose them, from 0: part of the key of their draws
    drop: Drop
    correlation: Floats  # of the fading between neighbouring slots
    tx_power_w: Floats  # full powers, which power control may lower
    start: Complex  # fading gain in the slot before the first; has no effect if the fading is a function of time
    speed_mps: Floats
    first_slot: Ints  # number of the next slot of the clock: the time of waves and blocks, the place in the frame
    waves: Waves | None = None  # the fading as a sum of waves, a function of time
    blocks: BlockGains | None = None  # the fading in blocks, also a function of time; else a process of slots
    attempts_before: int = 0  # of each, in the same direction: part of the key of their draws

    def __len__(self) -> int:
        return len(self.drop.ids)

    @property
    def in_time(self) -> bool:
        """True if the fading is a function of time."""
        return self.waves is not None or self.blocks is not None

    @property
    def constant(self) -> Bools:
        """True [n] where the strength of the channel is constant, so that the fading draws nothing."""
        if self.waves is not None:
            return self.waves.constant
        if self.blocks is not None:
            return self.blocks.constant
        # A correlation of -1 turns the sign of h with each slot; its strength |h|^2 stays.
        return np.asarray((np.abs(self.correlation) == 1.0) | np.isinf(self.drop.k_factor))

    def only(self, rows: Rows) -> Participants:
        """Return the participants `rows` [r]."""
        waves = self.waves
        if waves is not None:
            waves = waves.only(rows)
        blocks = self.blocks
        if blocks is not None:
            blocks = blocks.only(rows)
        return replace(
            self,
            drop=self.drop.only(rows),
            correlation=self.correlation[rows],
            tx_power_w=self.tx_power_w[rows],
            start=self.start[rows],
            speed_mps=self.speed_mps[rows],
            first_slot=self.first_slot[rows],
            waves=waves,
            blocks=blocks,
        )
