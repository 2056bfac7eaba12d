"""Block fading."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveFloat

from edgefl.core.arrays import Floats, Ints
from edgefl.radio.fading.base import Fading


class BlockFading(Fading):
    """Rayleigh, constant for a coherence time of 0.423 / f_d, then independent (Rappaport 2002, eq. 5.40.c)."""

    block_s: PositiveFloat | None = None  # the coherence time of each device's speed where not given

    def hold_slots(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Ints | None:
        """To the nearest whole slot, at least one; 2^62 for a device at rest."""
        from channel.fading import coherence_s

        block_s = coherence_s(speed_mps, carrier_hz) if self.block_s is None else np.full(speed_mps.shape, self.block_s)
        return np.clip(np.rint(block_s / slot_s), 1, 2**62).astype(np.int64)
