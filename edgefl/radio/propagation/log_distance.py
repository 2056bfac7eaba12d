"""Log-distance path loss."""

from dataclasses import replace
from types import ModuleType
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from channel import free_space, geometry, log_distance
from channel.tr38901 import LOS, Statistics
from edgefl.core.arrays import Floats
from edgefl.radio.propagation.base import Decibels, LargeScale, PathDraws, Propagation, on_the_ground_m

Length = Annotated[float, Field(gt=0, le=1e5)]


class LogDistance(Propagation):
    """Log-distance: PL(d0) + 10 n log10(d/d0), log-normal shadowing (Rappaport, Wireless Communications, sec. 4.9)."""

    # Path-loss exponent, n; 2 in free space, 2.7 to 3.5 in cities.
    exponent: Annotated[float, Field(gt=0, le=20)] = 3.0
    # Distance between the antennas at which the loss is quoted, d0; not a limit of the model.
    reference_m: Length = 1.0
    reference_loss_db: Decibels | None = None  # Loss at the reference distance; by default that of free space.
    # Standard deviation of the shadowing; 6 to 10 are common outdoors.
    shadowing_db: Annotated[float, Field(ge=0, le=100)] = 8.0
    decorrelation_m: Length = 20.0  # Decorrelation distance of the shadowing.

    label: ClassVar[str] = "log_distance"

    def physics(self) -> ModuleType:
        """Return `channel.log_distance`."""
        return log_distance

    def statistics(self) -> Statistics:
        """Return the statistics with the scenario's shadowing."""
        usual = super().statistics()
        return replace(usual, shadowing_db=(self.shadowing_db,), decorrelation_m=(self.decorrelation_m,))

    def ground_range_m(self, carrier_hz: float, bs_height_m: float, ut_height_m: Floats) -> tuple[Floats, Floats]:
        """Return the range where the loss is at least 0 dB."""
        shortest = log_distance.shortest_m(carrier_hz, self.exponent, self.reference_m, self.reference_loss_db)
        return on_the_ground_m((float(shortest), np.inf), bs_height_m, ut_height_m)

    def check(
        self,
        min_distance_m: float,
        max_distance_m: float,
        carrier_hz: float,
        bs_height_m: float,
        ut_height_m: tuple[float, float] = (1.5, 1.5),
    ) -> str | None:
        """Return why the model does not hold; free space must hold at the reference distance, too."""
        # Friis's loss at the reference holds from a wavelength on.
        wavelength_m = float(free_space.wavelength_m(carrier_hz))
        if self.reference_loss_db is None and self.reference_m < wavelength_m:
            return (
                f"log_distance needs reference_m of at least a wavelength, {wavelength_m:.3g} m, or reference_loss_db"
            )
        return super().check(min_distance_m, max_distance_m, carrier_hz, bs_height_m, ut_height_m)

    def large_scale(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats, draws: PathDraws
    ) -> LargeScale:
        """Return the channel; nothing is drawn."""
        distance = self.priced_m(distance_2d_m, carrier_hz, bs_height_m, ut_height_m)
        distance_3d = geometry.distance_3d_m(distance, bs_height_m, ut_height_m)
        loss = log_distance.path_loss_db(
            distance_3d, carrier_hz, self.exponent, self.reference_m, self.reference_loss_db
        )
        # One slope and no states: every path counts as in line of sight.
        return self.by_state(LOS, np.ones(loss.shape, dtype=bool), loss)
