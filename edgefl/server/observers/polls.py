"""Polls: before participants are chosen, candidates say how well the model does on their samples."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import DeviceTracker
from edgefl.core.global_draws import watching_draws
from edgefl.core.returns import check_ids
from edgefl.core.streams import Streams
from edgefl.radio.drop import Drop
from edgefl.server.choosing import Choosing
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.observer import Begin, Observer
from edgefl.server.participation import ProcessFactory
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter


class Polls(Observer):
    """Asks candidates for the model's loss, or for the norm of their update; only those that answer can be chosen.

    Args:
        env: the clock.
        selection: names the candidates, and what they are asked.
        participants: how many devices a round asks for.
        streams: keyed randomness.
        tracker: the server's knowledge of its devices.
        rounds: the round under way.
        choosing: which devices may be chosen, and what the server knows of them.
        roster: keeps the answers.
        dispatcher: builds the candidates' processes.
        replay: computes losses and norms.
    """

    def __init__(
        self,
        *,
        env: simpy.Environment,
        selection: Selection,
        participants: int,
        streams: Streams,
        tracker: DeviceTracker,
        rounds: RoundCounter,
        choosing: Choosing,
        roster: Roster,
        dispatcher: Dispatcher,
        replay: Replay,
    ) -> None:
        self._env = env
        self._selection = selection
        self._participants = participants
        self._streams = streams
        self._tracker = tracker
        self._rounds = rounds
        self._choosing = choosing
        self._roster = roster
        self._dispatcher = dispatcher
        self._replay = replay

    def before_choosing(
        self, index: int, count: int | None, begin: Begin, *, refill: bool
    ) -> Generator[simpy.Event, Any, None]:
        """Poll the candidates of a round, and wait for their answers; a refill chooses among those that answered."""
        if refill:
            return
        self._roster.forget_answers()
        if self._rounds.key.extra:
            return
        free = self._choosing.free(index)
        if not len(free):
            return
        selection = self._selection
        with watching_draws(selection, "candidates"):
            view = self._choosing.view_of(free, index)
            candidates = selection.candidates(free, self._participants, index, self._streams, view)
        check_ids(selection, "candidates", candidates, free, "ids of `present`, each once")
        link = self._dispatcher.polling
        yield self._env.all_of(begin(candidates, self._processes, index, link))
        # They are computed in one batch, in order of ids: answers arrive in an order that depends on the channel.
        ids = self._roster.take_answers()
        if selection.polls_training:
            counted = selection.polled_parameters(ids, view)
            norms = self._replay.norms_of(ids, counted, self._rounds.key, self._rounds.ended)
            self._tracker.note_norms(ids, norms)
            return
        samples = selection.polled_samples(self._tracker.view.samples[ids])
        self._tracker.note_poll(ids, self._replay.losses_of(ids, samples, index))

    def _processes(self, drop: Drop) -> ProcessFactory:
        """Return the factory of the candidates' processes."""
        index = self._rounds.selection
        if self._selection.polls_training:
            return self._dispatcher.trained_poll_processes(drop, index, self._rounds.ended)
        samples = self._selection.polled_samples(self._tracker.view.samples[drop.ids])
        return self._dispatcher.poll_processes(drop, index, samples)
