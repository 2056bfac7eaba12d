"""The devices that spend least, or have most left."""

from typing import ClassVar, Literal

from edgefl.coordination.selection.base import Selection, draws, estimated, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class EnergyAware(Selection):
    """Least energy in the last round first, or fullest battery, as devices report it; new devices before (greedy)."""

    report_floats: ClassVar[int] = 1  # devices report one number: the energy that they spent, or have left

    # Whether devices come first that used the least in the last round (energy), or have the fullest battery.
    by: Literal["energy", "battery"] = "energy"

    @property
    def needs_batteries(self) -> bool:
        """With `by: battery` it compares what is left."""
        return self.by == "battery"

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices that spent least, or have most left; last those that took part and reported nothing."""
        observed = view.energy_j
        if self.by == "battery":
            observed = -view.battery_j
        return lowest(present, estimated(present, observed, view), draws(present, index, streams), participants)
