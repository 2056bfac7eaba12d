"""Equal OFDMA shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.allocation.base import Allocation


class EqualAllocation(Allocation):
    """Every participant gets the same share W/m for the whole round (dynamic-devices paper, section VI)."""

    def shares_hz(self, bandwidth_hz: float, payload_bits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """W/m each."""
        return np.full(len(payload_bits), bandwidth_hz / len(payload_bits))
