"""Base of the urban scenarios of TR 38.901: buildings with two kinds of walls, and with floors."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from channel import penetration
from edgefl.core.arrays import Floats
from edgefl.core.section import Share, fault_at
from edgefl.radio.propagation.base import PathDraws
from edgefl.radio.propagation.outdoor import Outdoor

Floors = Annotated[int, Field(ge=1, le=8)]  # the eighth is 22.5 m high, where the tables end


class Urban(Outdoor):
    """Base of UMi and UMa."""

    high_loss: Share = 0.0  # Share of the buildings with high loss; has an effect where walls does.
    # Loss of walls, one below 6 GHz (by_frequency), or that of glass and concrete always.
    walls: Literal["by_frequency", "materials"] = "by_frequency"
    # Release of 3GPP; 19 has another infrared-reflecting glass and shorter delay spreads.
    release: Literal[16, 19] = 16
    # Least and most floors of buildings with indoor devices; by default devices have devices.height_m.
    floors: Annotated[tuple[Floors, Floors], Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _check_floors(self) -> Urban:
        if self.floors is not None and self.floors[0] > self.floors[1]:
            text = f"must be the fewest floors of a building, then the most, got {list(self.floors)}"
            raise fault_at(("floors",), text)
        return self

    def heights_m(self, ut_height_m: Floats, draws: PathDraws) -> Floats:
        """Return the heights [...] of the antennas; devices in buildings are on their floors."""
        if self.floors is None:
            return ut_height_m

        return np.where(self.is_indoor(draws), penetration.floor_height_m(draws.floor, self.floors), ut_height_m)

    def height_span_m(self, lowest_m: float, highest_m: float) -> tuple[float, float]:
        """Return the lowest and the highest antenna of devices between two heights, on floors or not."""
        if self.floors is None or self.indoor == 0:
            return lowest_m, highest_m

        ground_m, roof_m = penetration.floor_height_m([[0.0, 0.0], [1.0, 1.0]], self.floors).tolist()
        if self.indoor == 1:
            return ground_m, roof_m
        return min(lowest_m, ground_m), max(highest_m, roof_m)

    def release_of_spreads(self) -> int:
        """Return the release that the scenario names."""
        return self.release

    def has_one_wall(self, carrier_hz: float) -> bool:
        """Return whether all walls have one loss (clause 7.4.3.1, below 6 GHz)."""
        return self.walls == "by_frequency" and carrier_hz < penetration.SINGLE_FREQUENCY_BELOW_HZ

    def way_inside(self, carrier_hz: float, draws: PathDraws) -> tuple[Floats, Floats]:
        """See Outdoor."""
        if self.has_one_wall(carrier_hz):
            # In Table 7.4.3-3 the depth belongs to the link, in the other tables to the device.
            inside = penetration.single_frequency_indoor_distance_m(draws.path_depth)
            return inside, penetration.single_frequency_loss_db(inside)
        inside = penetration.indoor_distance_m(draws.indoor_distance, self.depth_m)
        high_loss = draws.building < self.high_loss
        return inside, penetration.loss_db(carrier_hz, inside, high_loss, draws.penetration, self.release)
