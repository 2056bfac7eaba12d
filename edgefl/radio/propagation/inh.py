"""Indoor office."""

from types import ModuleType
from typing import ClassVar, Literal

import numpy as np

from channel import inh
from channel.tr38901 import LOS, NLOS
from edgefl.core.arrays import Floats
from edgefl.radio.propagation.base import LargeScale, PathDraws, Propagation, on_the_ground_m


class Inh(Propagation):
    """InH-Office, mixed or open, base station and devices in one room or floor (3GPP TR 38.901, clause 7.4)."""

    office: Literal["mixed", "open"] = "mixed"  # Kind of office, which sets the probability of line of sight.

    label: ClassVar[str] = "inh"
    delay_scenario: ClassVar[str | None] = "inh"
    has_states: ClassVar[bool] = True

    def physics(self) -> ModuleType:
        """Return `channel.inh`."""
        return inh

    def ground_range_m(self, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> tuple[Floats, Floats]:
        """Return the range from 1 m to 150 m between the antennas."""
        # The table limits the distance between the antennas in an office, and the ground distance outdoors.
        return on_the_ground_m(self.validity().distance_m, bs_height_m, ut_height_m)

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; line of sight is by chance."""
        distance = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        los = draws.los < inh.los_probability(distance, self.office)
        loss = inh.path_loss_db(distance, carrier_hz, los, bs_height_m, ut_height_m)
        return self.by_state(np.where(los, LOS, NLOS), los, loss)
