"""Block fading."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import model_validator

from channel.fading import coherence_s
from edgefl.core.arrays import Floats, Ints
from edgefl.core.section import Seconds, fault_at
from edgefl.radio.fading.base import LONGEST_SLOTS, Fading


class BlockFading(Fading):
    """Rayleigh, constant for a coherence time (Rappaport 2002, eq. 5.40.c) or a round, equal up and down, then new."""

    length: Literal["coherence_time", "round"] = "coherence_time"  # Length of a block, the coherence time, or a round.
    block_s: Seconds | None = None  # The coherence time; by default 0.423 / f_d at each device's speed.

    @model_validator(mode="after")
    def _consistent(self) -> BlockFading:
        if self.length == "round" and self.block_s is not None:
            raise fault_at(("block_s",), "needs length: coherence_time, because with round a block lasts for the round")
        return self

    @property
    def new_in_each_round(self) -> bool:
        """Return whether a block is a round."""
        return self.length == "round"

    def slot_correlation(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Floats:
        """Return 0 [n]: blocks are independent."""
        return np.zeros(speed_mps.shape)

    def hold_slots(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Ints:
        """Return the coherence time in whole slots [n], at least one; endless at rest, and if a block is a round."""
        if self.length == "round":
            return np.full(speed_mps.shape, LONGEST_SLOTS)
        block_s = coherence_s(speed_mps, carrier_hz)  # infinite at rest
        if self.block_s is not None:
            block_s = np.full(speed_mps.shape, self.block_s)
        slots = np.rint(block_s / slot_s)
        return np.clip(slots, 1, LONGEST_SLOTS).astype(np.int64)
