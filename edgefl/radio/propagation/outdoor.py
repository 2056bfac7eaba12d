"""Base of the outdoor scenarios of TR 38.901: line of sight by chance, and devices in buildings."""

from typing import ClassVar

import numpy as np

from channel import penetration
from channel.tr38901 import LOS, NLOS, O2I
from edgefl.core.arrays import Bools, Floats
from edgefl.core.section import Share
from edgefl.radio.propagation.base import LargeScale, PathDraws, Propagation


class Outdoor(Propagation):
    """Base of UMi, UMa and RMa."""

    indoor: Share = 0.0  # Share of the devices that are indoors.

    has_states: ClassVar[bool] = True
    depth_m: ClassVar[float] = 25.0  # the largest depth of a device in its building

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel.

        Indoors, line of sight is that of the outdoor part, and the path loss that of the whole path (7.4.3.1).
        """
        distance = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        indoor = self.is_indoor(draws)
        depth, entry = self.way_inside(carrier_hz, draws)
        inside = np.where(indoor, depth, 0.0)
        # The depth is drawn independently of the distance and may exceed it: then no part of the path is outdoors.
        los = draws.los < self.los_probability(np.maximum(distance - inside, 0.0), ut_height_m)
        loss = self.physics().path_loss_db(
            distance, carrier_hz, los, bs_height_m, ut_height_m, *self.surroundings(draws)
        )
        # Shadowing indoors is of the state O2I, whatever the path outdoors.
        state = np.where(indoor, O2I, np.where(los, LOS, NLOS))
        return self.by_state(state, los, loss + np.where(indoor, entry, 0.0))

    def is_indoor(self, draws: PathDraws) -> Bools:
        """Return which devices [...] are in buildings."""
        return np.asarray(draws.indoor < self.indoor)

    def way_inside(self, carrier_hz: float, draws: PathDraws) -> tuple[Floats, Floats]:
        """Return the distances [...] inside the building [m], and the penetration losses [...] [dB]."""
        inside = penetration.indoor_distance_m(draws.indoor_distance, self.depth_m)
        low_loss = np.zeros(np.shape(draws.building), dtype=bool)
        return inside, penetration.loss_db(carrier_hz, inside, low_loss, draws.penetration)

    def los_probability(self, outdoor_m: Floats, ut_height_m: Floats) -> Floats:
        """Return the probability [...] of line of sight over the outdoor part of the path [...]."""
        return np.asarray(self.physics().los_probability(outdoor_m))

    def surroundings(self, draws: PathDraws) -> tuple[Floats | float, ...]:
        """Return what the path loss outdoors depends on besides distance, carrier, line of sight and heights."""
        return ()
