"""The same gain in all directions."""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.world.antennas.base import Antenna, GainDbi


class Omni(Antenna):
    """The same gain in all directions; 0 dBi is what the dynamic-devices paper assumes."""

    directional: ClassVar[bool] = False

    gain_dbi: GainDbi = 0.0  # Gain in every direction.

    def pattern_dbi(self, zenith_deg: Floats, azimuth_deg: Floats) -> Floats:
        """Return the same gain for all directions [...]."""
        return np.full(np.broadcast_shapes(zenith_deg.shape, azimuth_deg.shape), self.gain_dbi)
