"""Coupling loss and geometry of participants, as columns of devices.csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from channel.units import linear_to_db
from edgefl.radio.budget.link_budget import LinkBudget
from edgefl.server.observer import DeviceColumns, Observer
from edgefl.server.participation import Participation


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
