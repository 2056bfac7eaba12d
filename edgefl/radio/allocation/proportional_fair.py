"""Proportionally fair OFDMA shares."""

from typing import ClassVar

from channel import allocation
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class ProportionalFair(Allocation):
    """Shares that maximise the sum of the logarithms of the mean rates (Kelly, Eur. Trans. Telecomm. 1997)."""

    by_snr: ClassVar[bool] = True

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the shares of `channel.allocation.proportional_fair`."""
        # By mean rates: shares do not follow the fading, so without multi-user diversity.
        return allocation.proportional_fair(band_hz, snr_hz, efficiency, spread=spread)
