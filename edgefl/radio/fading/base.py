"""What fading is: how strong the line of sight is beside the scatter, and how the scatter changes in time."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ints
from edgefl.core.catalogue import Member


class Fading(Member):
    """Base of all fading models: without a line of sight, and a Gauss-Markov process slot by slot."""

    def k_statistics_db(self, mean_db: float | None, std_db: float | None) -> tuple[float, float] | None:
        """Mean and standard deviation of K [dB] to draw from; None where no K is drawn.

        Args:
            mean_db: the propagation model's mean; None where it has none.
            std_db: its standard deviation, likewise.

        Raises:
            ValueError: a K is needed, and neither the propagation model nor a key of this model says which.
        """
        return None

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """Linear K [n] of devices in line of sight or not [n], whose draws of K are `k_db` [n]; 0 is Rayleigh."""
        return np.zeros(los.shape)

    def hold_slots(self, speed_mps: Floats, carrier_hz: float, slot_s: float) -> Ints | None:
        """Slots [n] for which the scatter of each device holds; None where it moves on with every slot."""
        return None
