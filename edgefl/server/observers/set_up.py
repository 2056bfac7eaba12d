"""What devices have spent to set up before they took part, as columns of devices.csv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgefl.server.observer import DeviceColumns, Observer
from edgefl.server.participation import Participation


class SettingUp(Observer):
    """Tells how long participants have set up, and what they have drawn meanwhile."""

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return the columns of participations [n]."""
        spent = [part.setup_spent for part in parts]
        return {
            "setup_s": np.array([of.seconds for of in spent], dtype=np.float64),
            "setup_energy_j": np.array([of.joules for of in spent], dtype=np.float64),
        }
