"""Full participation."""

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class Everybody(Selection):
    """All devices that are present, however many `server.participants` asks for (full participation)."""

    def expected(self, participants: int, present: float) -> float:
        """Return the number of devices that are present on average."""
        return present

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return all devices that are present, by id."""
        return present
