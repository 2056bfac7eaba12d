"""Outage: an attempt fails if its signal-to-noise ratio lies below a threshold."""

from typing import Annotated

from pydantic import Field

from channel import packet_errors, units
from edgefl.core.arrays import Floats
from edgefl.radio.errors.base import PacketErrors


class Outage(PacketErrors):
    """An attempt fails with probability 1 - exp(-m (I + N) / (P h)) (Chen et al., IEEE TWC 2021, section II)."""

    threshold_db: Annotated[float, Field(ge=-100, le=100)] = 0.023  # The paper's waterfall threshold, m.

    def failure_probability(self, mean_snr: Floats, k_factor: Floats) -> Floats:
        """See PacketErrors."""
        return packet_errors.outage_probability(units.db_to_linear(self.threshold_db), mean_snr, k_factor)
