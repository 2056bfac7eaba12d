"""Those who spend least, or have most left."""

from __future__ import annotations

from typing import Literal

from edgefl.coordination.selection.base import Selection, draws, estimated, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class EnergyAware(Selection):
    """Least energy in the last part first, or fullest battery, as devices report it; the new come before (greedy)."""

    by: Literal["energy", "battery"] = "energy"

    @property
    def by_battery(self) -> bool:
        """Where it asks for what is left."""
        return self.by == "battery"

    @property
    def reports(self) -> int:
        """Joules."""
        return 1

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """Who took part without being heard comes last."""
        observed = -known.battery_j if self.by_battery else known.energy_j
        return lowest(present, estimated(present, observed, known), draws(present, index, streams), participants)
