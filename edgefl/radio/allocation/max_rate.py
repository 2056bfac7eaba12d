"""OFDMA shares with the highest sum of rates."""

from typing import Annotated, ClassVar

from pydantic import Field

from channel import sum_rate
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class MaxRate(Allocation):
    """Shares that maximise the sum of the mean rates, in proportion to the received powers (Jensen's inequality)."""

    by_snr: ClassVar[bool] = True

    # Least share of each transfer over the equal share. If a base station spreads its power over the band, the
    # strongest transfer gets the rest.
    min_share: Annotated[float, Field(ge=1e-6, le=1)] = 0.1

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the shares of `channel.sum_rate.max_rate`."""
        return sum_rate.max_rate(band_hz, snr_hz, least_share=self.min_share, spread=spread)
