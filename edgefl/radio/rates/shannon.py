"""Shannon's bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefl.radio.rates.base import Rate

if TYPE_CHECKING:
    from channel.rate import Efficiency


class ShannonRate(Rate):
    """Shannon's bound log2(1 + SNR), as in the dynamic-devices paper (eq. 24 and 25)."""

    def efficiency(self) -> Efficiency:
        """Return `channel.rate.SHANNON`."""
        from channel import rate

        return rate.SHANNON
