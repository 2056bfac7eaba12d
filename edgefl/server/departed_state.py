"""What a device's departure costs it: the state that the device and the server hold of it."""

from __future__ import annotations

from edgefl.core.arrays import Ids
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.replay import Replay


class DepartedState:
    """Makes departed devices lose their state, if the scenario says so; they will download all of it again.

    Args:
        state: the scenario's `server.departed_state`.
        dispatcher: knows which devices have downloaded what is sent once.
        replay: the server's side of learning.
    """

    def __init__(self, state: str, dispatcher: Dispatcher, replay: Replay) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._replay = replay

    def lose(self, ids: Ids) -> None:
        """Note that devices [n] have left."""
        if self._state == "kept":
            return
        self._dispatcher.forget(ids)
        self._replay.depart(ids, forget=self._state == "forgotten")
