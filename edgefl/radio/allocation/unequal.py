"""Random OFDMA shares."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from channel import allocation
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class UnequalAllocation(Allocation):
    """Shares by chance, as TCP's on one access point: weights are lognormal, drawn by device, round and direction."""

    by_draws: ClassVar[bool] = True

    # Standard deviation of a weight's logarithm; 0: equal shares. At 0.5 one of two devices has more than 1.6 times
    # the other's share in half of the rounds.
    sigma: Annotated[float, Field(ge=0, le=3)] = 0.5

    def weights(self, normal: Floats) -> Floats:
        """Return lognormal weights [n]."""
        return np.exp(self.sigma * normal)

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return equal shares, those expected before the weights are drawn."""
        return allocation.equal(band_hz, len(payload_bits))
