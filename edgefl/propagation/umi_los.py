"""UMi-Street Canyon, always line of sight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.propagation.base import Floats, Propagation


class UmiLos(Propagation):
    """UMi-Street Canyon, always line of sight (3GPP TR 38.901 Table 7.4.1-1; dynamic-devices paper, eq. 35 to 37)."""

    def check(self, min_distance_m: float, radius_m: float, carrier_hz: float) -> str | None:
        """The table's range: 10 m to 5 km, 0.5 to 100 GHz."""
        if min_distance_m < 10 or radius_m > 5000:
            return f"umi_los holds from 10 m to 5 km, the cell spans {min_distance_m:g} m to {radius_m:g} m"
        if not 0.5e9 <= carrier_hz <= 100e9:
            return f"umi_los holds from 0.5 to 100 GHz, the carrier is at {carrier_hz / 1e9:g} GHz"
        return None

    def path_loss_db(
        self, distance_2d_m: Floats, carrier_hz: float, bs_height_m: float, ut_height_m: Floats
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """See `channel.umi.path_loss_db`."""
        import channel

        los = np.ones(distance_2d_m.shape, dtype=bool)
        return channel.umi.path_loss_db(distance_2d_m, carrier_hz, los, bs_height_m, ut_height_m), los
