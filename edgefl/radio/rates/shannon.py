"""Shannon's bound."""

from channel import rate
from channel.rate import Efficiency
from edgefl.radio.rates.base import Rate


class ShannonRate(Rate):
    """Shannon's bound log2(1 + SNR), as in the dynamic-devices paper (eq. 24 and 25)."""

    def efficiency(self) -> Efficiency:
        """Return `channel.rate.SHANNON`."""
        return rate.SHANNON
