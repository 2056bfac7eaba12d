"""Drift plus penalty with energy budgets."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import PositiveFloat

from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import DeviceReports, ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams


class Lyapunov(Selection):
    """Utility against energy in debt: drift plus penalty with virtual queues (OCEAN's idea: Xu & Wang, IEEE TWC 2021).

    Each device may spend `budget_j` a round in the long run. Its queue is its debt: Q' = max(Q + E - budget, 0). Each
    round chooses the set of at most `participants` devices that minimises the sum of Q E - V u, with predicted energies
    E and utilities u. The queue then grows by the energy that the device reports, so that the mean energy exceeds the
    budget by Q / rounds at most (Neely, 2010, section 4.1).
    """

    needs_csi: ClassVar[bool] = True  # it weighs predicted energies
    report_floats: ClassVar[int] = 1  # devices report the energy that they have spent since they last did
    count_varies: ClassVar[bool] = True  # devices in debt stay out, all of them if need be
    memory_width: ClassVar[int] = 1  # the queues

    budget_j: PositiveFloat  # Energy that each device may spend in a round.
    v: PositiveFloat = 1.0  # Weight of a participant's utility against the drift in J^2; more is less frugal.
    utility: Literal["equal", "samples"] = "equal"  # Utility of a participant, 1 (equal), or its samples over the mean.

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices whose utility outweighs their debt, by how much it does; ties are drawn."""
        forecast = view.forecast_of(present)
        # If a channel is unknown, the server has at best the device's last report.
        energy_j = np.where(np.isnan(forecast.energy_j()), np.nan_to_num(view.energy_j[present]), forecast.energy_j())
        reachable = np.isfinite(energy_j)
        price = view.memory[present, 0] * np.where(reachable, energy_j, 0.0)
        weight = price - self.v * self._utility(present, view)
        worth = np.flatnonzero(reachable & (weight < 0))
        return lowest(present[worth], weight[worth], draws(present[worth], index, streams), participants)

    def remember(self, memory: Floats, reports: DeviceReports, view: ServerView) -> Floats:
        """Return the queues after a round [J]."""
        spent_j = np.zeros(len(memory))
        np.add.at(spent_j, reports.ids, np.nan_to_num(reports.energy_j))
        return np.maximum(memory + spent_j[:, None] - self.budget_j, 0.0)

    def _utility(self, ids: Ids, view: ServerView) -> Floats:
        if self.utility == "equal":
            return np.ones(len(ids))
        return np.asarray(view.samples[ids] / view.samples.mean())
