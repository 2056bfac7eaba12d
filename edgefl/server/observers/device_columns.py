"""Columns of devices.csv that only some runs have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from channel.units import linear_to_db
from edgefl.radio.budget.link_budget import LinkBudget
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


@dataclass(eq=False)
class Geometry(Observer):
    """Tells how well participants hear their base station if all others send, too."""

    budget: LinkBudget  # powers, noise and interference

    def device_columns(self, parts: Sequence[Participation]) -> DeviceColumns:
        """Return the columns of participations [n] when they began."""
        if not parts:
            return {}
        gain = np.array([part.drop.path_gain[part.row] for part in parts])
        all_gains = np.stack([part.drop.all_gains[part.row] for part in parts])
        cell = np.array([part.cell for part in parts], dtype=np.int64)
        sinr, sir = self.budget.full_load(gain, all_gains, cell)
        return {
            "coupling_loss_db": -linear_to_db(gain),
            "geometry_db": linear_to_db(sinr),
            # A table has no infinity: without interference the cell stays empty.
            "sir_db": linear_to_db(np.where(np.isinf(sir), 1.0, sir)) + np.where(np.isinf(sir), np.nan, 0.0),
        }
