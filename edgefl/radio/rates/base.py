"""Base of the rate models: the spectral efficiency of a slot over its SNR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefl.core.catalogue import Member

if TYPE_CHECKING:
    from channel.rate import Efficiency


class Rate(Member):
    """Base of all rate models."""

    def efficiency(self) -> Efficiency:
        """Return the spectral efficiency as a function of the SNR."""
        raise NotImplementedError
