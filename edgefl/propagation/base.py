"""What a propagation model is: path loss between a base station and a device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member

Floats = npt.NDArray[np.float64]


class Propagation(Member):
    """Base of all propagation models."""

    def check(self, min_distance_m: float, radius_m: float, carrier_hz: float) -> str | None:
        """Why the model does not hold in this cell; None if it does."""
        return None

    def path_loss_db(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Path loss [n] and whether each device is in line of sight [n]."""
        raise NotImplementedError
