"""Base of the rate models: the spectral efficiency of a slot over its SNR."""

from channel.rate import Efficiency
from edgefl.core.catalogue import Member


class Rate(Member):
    """Base of all rate models."""

    def efficiency(self) -> Efficiency:
        """Return the spectral efficiency as a function of the SNR."""
        raise NotImplementedError
