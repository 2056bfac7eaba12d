"""OFDMA shares that finish together."""

from typing import ClassVar

from channel import allocation
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class MinMakespan(Allocation):
    """Shares that let all finish at the same time under their mean rates, the soonest for the slowest of them."""

    by_snr: ClassVar[bool] = True

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the shares of `channel.allocation.min_makespan`."""
        # They finish together on average, as shares do not follow the fading.
        return allocation.min_makespan(band_hz, payload_bits, snr_hz, efficiency, spread=spread)
