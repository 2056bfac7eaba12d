"""No fading."""

import numpy as np

from edgefl.core.arrays import Bools, Floats
from edgefl.radio.fading.base import Fading


class NoFading(Fading):
    """The mean gain in every slot, |h| = 1: path loss and shadowing only."""

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """Return infinity [n]: a line of sight without scatter."""
        # The physics takes K = inf without a special case: |h| = 1, and no draw.
        return np.full(los.shape, np.inf)
