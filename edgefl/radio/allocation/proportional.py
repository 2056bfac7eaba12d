"""OFDMA shares in proportion to the payload."""

from channel import allocation
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class ProportionalAllocation(Allocation):
    """Shares in proportion to the bits to send."""

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the shares of `channel.allocation.proportional`."""
        return allocation.proportional(band_hz, payload_bits)
