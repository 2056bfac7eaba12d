"""Base of the allocations, which are rules for the share of the band that each of several concurrent transfers gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member

if TYPE_CHECKING:
    from channel.allocation import Shares
    from channel.rate import Efficiency


class Allocation(Member):
    """Base of all OFDMA allocations: disjoint shares that add up to the whole band."""

    in_turn: ClassVar[bool] = False  # whether transfers take turns, one at a time on the whole band
    by_snr: ClassVar[bool] = False  # whether shares depend on `snr_hz`, which is that of devices at full power

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return the bandwidths [n] and duties [n] of n concurrent transfers.

        Args:
            band_hz: the band to divide.
            payload_bits: [n] what each has to send, not negative.
            snr_hz: [n] received power over the noise density, P psi / N0.
            efficiency: the rate model.
            spread: whether one transmitter spreads its power over the whole band (downlink), instead of each
                concentrating its own on its share (uplink).
        """
        raise NotImplementedError
