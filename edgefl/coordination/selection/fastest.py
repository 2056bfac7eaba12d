"""The devices with the shortest round trips."""

from edgefl.coordination.selection.base import Selection, draws, estimated, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class Fastest(Selection):
    """Shortest last round trip first; devices that never took part come first (greedy, after FedCS, ICC 2019)."""

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices with the shortest last round trips, which the server's own clock has measured."""
        round_trip_s = estimated(present, view.round_trip_s, view)
        return lowest(present, round_trip_s, draws(present, index, streams), participants)
