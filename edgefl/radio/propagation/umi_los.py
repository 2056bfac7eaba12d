"""UMi-Street Canyon, always line of sight."""

from types import ModuleType
from typing import ClassVar

import numpy as np

from channel import umi
from channel.tr38901 import LOS
from edgefl.core.arrays import Floats
from edgefl.radio.propagation.base import LargeScale, PathDraws, Propagation


class UmiLos(Propagation):
    """UMi-Street Canyon, always line of sight (3GPP TR 38.901 Table 7.4.1-1; dynamic-devices paper, eq. 35 to 37)."""

    label: ClassVar[str] = "umi_los"
    delay_scenario: ClassVar[str | None] = "umi"

    def physics(self) -> ModuleType:
        """Return `channel.umi`."""
        return umi

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; nothing is drawn."""
        distance = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        los = np.ones(distance.shape, dtype=bool)  # always, as the paper's published times assume
        return self.by_state(LOS, los, umi.path_loss_db(distance, carrier_hz, los, bs_height_m, ut_height_m))
