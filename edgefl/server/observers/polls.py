"""Polls: before participants are chosen, candidates report the model's loss on their samples, or an update's norm."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import DeviceTracker
from edgefl.core.returns import Subset, called
from edgefl.core.streams import Streams
from edgefl.radio.drop import Drop
from edgefl.server.choosing import Choosing
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.observer import Begin, Observer
from edgefl.server.participation import ProcessFactory
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter


@dataclass(kw_only=True, eq=False)
class Polls(Observer):
    """Asks candidates for the model's loss, or for the norm of their update; only those that answer can be chosen."""

    env: simpy.Environment
    selection: Selection  # names the candidates, and what they are asked
    participants: int  # how many devices a round asks for
    streams: Streams
    tracker: DeviceTracker  # the server's knowledge of its devices
    rounds: RoundCounter  # the round under way
    choosing: Choosing  # which devices may be chosen, and what the server knows of them
    roster: Roster  # keeps the answers
    dispatcher: Dispatcher  # builds the candidates' processes
    replay: Replay  # computes losses and norms

    def before_choosing(
        self, index: int, count: int | None, begin: Begin, *, refill: bool
    ) -> Generator[simpy.Event, Any, None]:
        """Poll the candidates of a round, and wait for their answers; a refill chooses among those that answered."""
        if refill:
            return
        self.roster.forget_answers()
        if self.rounds.key.extra:
            return
        free = self.choosing.free(index)
        if not len(free):
            return
        selection = self.selection
        must = Subset(free, "ids of `present`, each once")
        view = self.choosing.view_of(free, index)
        candidates = called(selection.candidates, must, free, self.participants, index, self.streams, view)
        link = self.dispatcher.polling
        yield self.env.all_of(begin(candidates, self._processes, index, link))
        # In order of ids, as the order of arrival depends on the channel.
        ids = self.roster.take_answers()
        if selection.polls_training:
            counted = selection.polled_parameters(ids, view)
            norms = self.replay.norms_of(ids, counted, self.rounds.key, self.rounds.ended)
            self.tracker.note_norms(ids, norms)
            return
        samples = selection.polled_samples(self.tracker.view.samples[ids])
        self.tracker.note_poll(ids, self.replay.losses_of(ids, samples, index))

    def _processes(self, drop: Drop) -> ProcessFactory:
        index = self.rounds.selection
        if self.selection.polls_training:
            return self.dispatcher.trained_poll_processes(drop, index, self.rounds.ended)
        samples = self.selection.polled_samples(self.tracker.view.samples[drop.ids])
        return self.dispatcher.poll_processes(drop, index, samples)
