"""The choice of participants: by the selection, by an agent, or of an extra round of a session."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import simpy

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import DeviceReports, DeviceTracker, ServerView
from edgefl.core.arrays import Ids
from edgefl.core.returns import Array, Subset, called
from edgefl.core.streams import Streams
from edgefl.scenario import Sessions
from edgefl.server.attendance import Attendance
from edgefl.server.forecaster import Forecaster
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter
from edgefl.world.control import Choice, Control


@dataclass(kw_only=True, eq=False)
class Choosing:
    """Chooses devices among those that are present and not busy."""

    selection: Selection  # the scenario's selection
    participants: int  # how many devices a round asks for
    sessions: Sessions  # which devices an extra round of a session asks
    streams: Streams
    rounds: RoundCounter  # the round under way
    attendance: Attendance  # which devices are present
    roster: Roster  # which devices are busy, and which have answered a poll
    replay: Replay  # which devices the algorithm admits
    tracker: DeviceTracker  # the server's knowledge of its devices
    control: Control  # chooses devices instead of the selection, if it wants to
    forecaster: Forecaster | None  # makes forecasts of devices; None if the server knows nothing of channels

    @property
    def wanted(self) -> int:
        """The number of devices that a round asks for; all devices in an extra round of a session."""
        if self.rounds.key.extra:
            return len(self.tracker.view.samples)
        return self.participants

    @property
    def view(self) -> ServerView:
        """The server's knowledge of its devices."""
        return self.tracker.view

    def free(self, index: int) -> Ids:
        """Return the devices that are present for selection `index` and not busy."""
        return self.roster.not_busy(self.attendance.present(index))

    def view_of(self, free: Ids, index: int) -> ServerView:
        """Return the server's knowledge when it chooses among devices [n], with a forecast if it is needed."""
        view = self.tracker.view
        if self.forecaster is None or not self.selection.needs_csi:
            return view
        return replace(view, forecast=self.forecaster.forecast(free, index, self.roster.busy))

    def decide(self, count: int | None, *, refill: bool) -> Generator[simpy.Event, Any, None]:
        """Let an agent decide, if one controls the run and there are devices to choose; see `choose`."""
        if not self.control.decides:
            return
        index, free, wanted = self._choosable(count, refill=refill)
        if not wanted:
            return

        def by_scenario() -> Ids:
            if self.rounds.key.extra:
                return free
            return self._by_selection(free, wanted, index)

        yield from self.control.decide(Choice(index, free, wanted, by_scenario))

    def choose(self, count: int | None, *, refill: bool) -> Ids:
        """Return the chosen devices that the algorithm admits; see `Coordinator.select`."""
        chosen = self._chosen(count, refill=refill)
        index = self.rounds.selection
        ids = self.replay.admit(chosen, index)
        self.control.note_chosen(ids, index)
        return self.control.taking_part(ids)

    def _choosable(self, count: int | None, *, refill: bool) -> tuple[int, Ids, int]:
        """Return the selection's index, the devices [n] that it may choose, and how many of them it chooses."""
        index = self.rounds.selection
        if refill:  # a selection with separate draws
            index += 1
        free = self.free(index)
        if self.rounds.key.extra:
            sampled = self._sampled(free)
            return index, sampled, len(sampled)
        if self.selection.polls:
            free = free[np.isin(free, self.roster.answered)]
        return index, free, min(self.wanted if count is None else count, len(free))

    def _chosen(self, count: int | None, *, refill: bool) -> Ids:
        """Return the devices that are chosen, before the algorithm admits them."""
        index, free, wanted = self._choosable(count, refill=refill)
        if self.rounds.key.extra:
            return free
        if wanted == 0:
            return free[:0]
        if refill:  # which counts only if devices are wanted and available
            self.rounds.begin_selection()
        chosen = self.control.choose(free, wanted)
        if chosen is not None:
            return chosen
        return self._by_selection(free, wanted, index)

    def _sampled(self, free: Ids) -> Ids:
        """Return the devices of an extra round, of those [n] that are free: the same in a session's extra rounds."""
        count = self.sessions.initialisation.extra_participants(len(free))
        if count >= len(free):
            return free
        # Each device has one number a session, so the choice is stable while devices come and go.
        numbers = self.streams.uniform("gradient", free, self.rounds.key.session)
        return np.sort(free[np.argsort(numbers)[:count]])

    def _by_selection(self, free: Ids, wanted: int, index: int) -> Ids:
        """Return the choice of the scenario's selection among the devices [n] that are free."""
        must = Subset(free, "ids of `present`, each once")
        return called(self.selection.choose, must, free, wanted, index, self.streams, self.view_of(free, index))

    # The server's knowledge of its devices

    def note_sent(self, ids: Ids) -> None:
        """Note that devices [n] are sent the model, in this order."""
        self.tracker.note_sent(ids)

    def close_round(self, reports: DeviceReports) -> None:
        """Note the observations of the round that ends now, and let the selection remember."""
        heard = self.tracker.close_round(reports)
        selection = self.selection
        if not selection.memory_width:
            return
        view = self.tracker.view
        must = Array(view.memory.shape, "a memory [devices, k]")
        self.tracker.keep(called(selection.remember, must, view.memory, heard, view))
