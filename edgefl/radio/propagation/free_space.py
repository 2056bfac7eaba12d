"""Free space."""

from types import ModuleType
from typing import ClassVar

import numpy as np

from channel import free_space, geometry
from channel.tr38901 import LOS
from edgefl.core.arrays import Floats
from edgefl.radio.propagation.base import LargeScale, PathDraws, Propagation, on_the_ground_m


class FreeSpace(Propagation):
    """Free space: no obstacles, no shadowing (Friis, Proc. IRE 34(5), 1946)."""

    label: ClassVar[str] = "free_space"

    def physics(self) -> ModuleType:
        """Return `channel.free_space`."""
        return free_space

    def ground_range_m(self, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> tuple[Floats, Floats]:
        """Return the range from one wavelength between the antennas on."""
        # Friis's formula holds in the far field, beyond a wavelength.
        return on_the_ground_m((float(free_space.wavelength_m(carrier_hz)), np.inf), bs_height_m, ut_height_m)

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; nothing is drawn."""
        distance = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        distance_3d = geometry.distance_3d_m(distance, bs_height_m, ut_height_m)
        loss = free_space.path_loss_db(distance_3d, carrier_hz)
        return self.by_state(LOS, np.ones(loss.shape, dtype=bool), loss)
