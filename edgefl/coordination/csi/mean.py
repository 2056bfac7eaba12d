"""Statistical channel state information."""

from typing import ClassVar

import numpy as np

from edgefl.coordination.csi.base import Gains, RequestedCsi


class MeanCsi(RequestedCsi):
    """Path loss, shadowing and antennas when the round begins, without the fading (statistical CSI)."""

    instantaneous: ClassVar[bool] = False

    def observe(self, gains: Gains) -> Gains:
        """Return the channel, averaged over the fading."""
        return gains._replace(fading=np.ones(len(gains.ids)))
