"""The devices with the largest updates."""

from typing import ClassVar

from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams


class UpdateNorm(Selection):
    """Largest update first: all train and report its norm, some upload it (BN2: Amiri et al., IEEE TWC 20(6), 2021).

    Every candidate downloads the model and trains, whether it is chosen or not.
    """

    needs_losses: ClassVar[bool] = True  # norms are those of real updates
    polls: ClassVar[bool] = True  # candidates are asked before participants are chosen
    polls_training: ClassVar[bool] = True  # they train before they answer

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the candidates with the largest norms."""
        return lowest(present, -view.update_norm[present], draws(present, index, streams), participants)
