"""What an allocation is: which part of the system bandwidth each participant gets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member


class Allocation(Member):
    """Base of all OFDMA allocations: disjoint shares that add up to the whole bandwidth."""

    def shares_hz(self, bandwidth_hz: float, payload_bits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Bandwidths [n] of n participants with payloads [n], fixed for the round."""
        raise NotImplementedError
