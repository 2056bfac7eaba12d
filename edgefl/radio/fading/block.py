"""Block fading."""

from __future__ import annotations

import numpy as np

from channel.fading import coherence_s
from edgefl.core.arrays import Floats, Ints
from edgefl.core.section import Seconds
from edgefl.radio.fading.base import Fading

LONGEST_SLOTS = 2**62  # a block of a device at rest, whose coherence time is infinite


class BlockFading(Fading):
    """Rayleigh, constant for a coherence time of 0.423 / f_d, then independent (Rappaport 2002, eq. 5.40.c)."""

    block_s: Seconds | None = None  # the coherence time of each device's speed where not given

    def slot_correlation(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Floats:
        """Return 0 [n]: blocks are independent."""
        return np.zeros(speed_mps.shape)

    def hold_slots(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Ints:
        """Return the coherence time to the nearest whole slot [n], at least one; 2^62 for a device at rest."""
        block_s = coherence_s(speed_mps, carrier_hz)  # infinite at rest
        if self.block_s is not None:
            block_s = np.full(speed_mps.shape, self.block_s)
        slots = np.rint(block_s / slot_s)
        return np.clip(slots, 1, LONGEST_SLOTS).astype(np.int64)
