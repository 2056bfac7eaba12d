"""Rural macro cell."""

from dataclasses import replace
from types import ModuleType
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from channel import rma
from channel.tr38901 import O2I
from edgefl.core.arrays import Floats
from edgefl.radio.propagation.base import LargeScale, PathDraws
from edgefl.radio.propagation.outdoor import Outdoor

Surroundings = Annotated[float, Field(ge=5, le=50)]


class Rma(Outdoor):
    """RMa (rural macro), in line of sight or not, outdoors or in low-loss buildings (3GPP TR 38.901, clause 7.4)."""

    building_height_m: Surroundings = 5.0  # Average height of buildings, h.
    street_width_m: Surroundings = 20.0  # Average width of streets, W.

    label: ClassVar[str] = "rma"
    delay_scenario: ClassVar[str | None] = "rma"
    depth_m: ClassVar[float] = 10.0  # clause 7.4.3.1, where UMi and UMa have 25 m

    def physics(self) -> ModuleType:
        """Return `channel.rma`."""
        return rma

    def ground_range_m(self, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> tuple[Floats, Floats]:
        """Return the range where both states are defined: 10 km in line of sight, 5 km without."""
        shortest, longest = super().ground_range_m(carrier_hz, bs_height_m, ut_height_m)
        return shortest, np.minimum(longest, rma.NLOS_DISTANCE_M)

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; shadowing in line of sight is wider beyond the break point."""
        channel = super().large_scale(distance_2d_m, carrier_hz, bs_height_m, ut_height_m, draws)
        distance = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        outdoors = rma.shadowing_std_db(distance, carrier_hz, channel.los, bs_height_m, ut_height_m)
        # Only line of sight has a break point: indoors the standard deviation is constant.
        return replace(channel, shadowing_std_db=np.where(channel.state == O2I, channel.shadowing_std_db, outdoors))

    def surroundings(self, draws: PathDraws) -> tuple[Floats | float, ...]:
        """Return the scenario's mean height of buildings and width of streets."""
        return self.building_height_m, self.street_width_m
