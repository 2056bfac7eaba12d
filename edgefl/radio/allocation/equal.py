"""Equal OFDMA shares."""

from channel import allocation
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class EqualAllocation(Allocation):
    """Every transfer gets the same share W/n of the band (dynamic-devices paper, section VI)."""

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the shares of `channel.allocation.equal`."""
        return allocation.equal(band_hz, len(payload_bits))
