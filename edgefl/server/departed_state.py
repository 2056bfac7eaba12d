"""What a device's departure costs it: the state that the device and the server hold of it."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.core.arrays import Ids
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.replay import Replay


@dataclass(eq=False)
class DepartedState:
    """Makes departed devices lose their state, if the scenario says so; they will download all of it again."""

    state: str  # the scenario's `server.departed_state`
    dispatcher: Dispatcher  # knows which devices have downloaded what is sent once
    replay: Replay  # the server's side of learning

    def lose(self, ids: Ids) -> None:
        """Note that devices [n] have left."""
        if self.state == "kept":
            return
        self.dispatcher.forget(ids)
        self.replay.depart(ids, forget=self.state == "forgotten")
