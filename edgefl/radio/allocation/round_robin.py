"""Transfers that take turns on the whole band."""

from typing import ClassVar

from channel import allocation
from channel.allocation import Shares
from channel.rate import Efficiency
from edgefl.core.arrays import Floats
from edgefl.radio.allocation.base import Allocation


class RoundRobinAllocation(Allocation):
    """Each transfer in turn has the whole band, 1/n of the time (processor sharing in time)."""

    in_turn: ClassVar[bool] = True

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the shares of `channel.allocation.round_robin`."""
        # In its turn a device spreads its power over the whole band, so its SNR is lower than on a share of 1/n.
        return allocation.round_robin(band_hz, len(payload_bits))
