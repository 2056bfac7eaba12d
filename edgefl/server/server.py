"""The server: the one round_key where world, link, learning and ledger meet, as SimPy processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.coordination.server_view import DeviceTracker
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams
from edgefl.learning.payload import Payload, SplitPayload
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.transfers import ignore_on_air
from edgefl.scenario import RoundKey, Scenario
from edgefl.server.accounting import device_columns, device_reports, spent_j
from edgefl.server.battery_meter import BatteryMeter
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.ledger import Ledger
from edgefl.server.participation import (
    FAILED,
    LATE,
    POLLED,
    RECEIVED,
    ParticipantProcess,
    Participation,
    ProcessFactory,
    ignore_activity,
    participations,
)
from edgefl.server.population import Population
from edgefl.server.replay import Replay
from edgefl.server.sessions import Groups, following
from edgefl.world.world import World

WORTH_SAYING_S = 60.0  # wall-clock

log = logging.getLogger(__name__)


class Server:
    """Runs rounds as its policy says (see protocols.base.Coordinator).

    Args:
        scenario: the whole scenario.
        world: the devices.
        groups: of them, that take turns from session to session.
        payload: what a participant sends and computes.
        replay: its side of learning.
        ledger: where finished rounds are entered.
        streams: keyed randomness.
        split: what a participant sends and computes where the model is cut in two; None where it is not.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        groups: Groups,
        payload: Payload,
        replay: Replay,
        ledger: Ledger,
        streams: Streams,
        split: SplitPayload | None = None,
    ) -> None:
        self.env = simpy.Environment()
        self.scenario, self.world, self.payload, self.split = scenario, world, payload, split
        self.ledger, self.streams, self.groups, self.sessions = ledger, streams, groups, scenario.in_sessions
        self.replay = replay
        self.battery_meter = BatteryMeter(self.env, world, world.batteries) if world.batteries else None
        on_air = self.battery_meter.on_air if self.battery_meter else ignore_on_air
        self.link = Link(scenario.radio, scenario.cells, streams, on_air)
        self.dispatcher = Dispatcher(self.env, scenario, world, self.link, payload, split, ledger, streams, on_air)
        self.memory = DeviceTracker(payload.samples)
        self._answers: dict[int, Participation] = {}  # of candidates, until participants have been chosen
        self._first_needless_s, self._advised = 0.0, False
        self._index = -1  # of the last selection, from 0
        self._busy: set[int] = set()  # devices under way, or whose update waits to be learned from
        self._ended: list[Participation] = []  # since the last round's end
        self._began_s, self._vain = 0.0, False  # the round under way; whether the last had no participants, and no time
        self.round_key = following(self.sessions, self.ledger.rounds)  # of the round under way, or the next to begin
        wanted = scenario.server.participants or 0
        self.population = Population(self.env, world.presence, world.batteries, ledger, wanted)

    def running(self) -> bool:
        """Whether another round is to begin: rounds are left, and no stop condition holds."""
        stop, ledger = self.scenario.stop, self.ledger
        self.replay.settle(wait=stop.accuracy is not None)
        accuracy = ledger.rounds[-1]["test_accuracy"] if ledger.rounds else None
        reached = (
            (stop.time_s is not None and ledger.time_s >= stop.time_s)
            or (stop.energy_j is not None and ledger.energy_j >= stop.energy_j)
            or (stop.accuracy is not None and accuracy is not None and accuracy >= stop.accuracy)
        )
        between = bool(ledger.rounds) and ledger.rounds[-1]["round"] < 1  # the model of an extra round is no result
        return len(ledger.rounds) < self.sessions.total and (between or not reached)

    def ready(self) -> Generator[simpy.Event, Any, bool]:
        """Whether another round has begun; where nobody could take part, when the next device has come.

        Raises:
            RunError: nobody is there, and nobody will ever come.
        """
        while self.running():
            there = self._there(self._index + 1)
            someone = bool(self._busy) or len(there) > 0
            members = self.groups.there(self.round_key.session)
            go_on = someone and not self._vain
            wait_s = 0.0 if go_on else self.population.arrival_s(members, self._index + 1, someone=someone)
            if wait_s <= 0:
                self._enter(len(there))
                yield from self._poll()
                return True
            self._vain = False
            self.ledger.event(self.env.now, "waiting")
            yield self.env.timeout(wait_s)
        return False

    def _enter(self, present: int) -> None:
        """Begin a round with so many devices."""
        self._index, self._began_s = self._index + 1, self.env.now
        self.ledger.event(self.env.now, "round_start")
        self.population.enter(present)
        self.replay.enter(self.round_key)
        if self.sessions.begins(self.round_key):
            self.dispatcher.equipped.clear()

    def _poll(self) -> Generator[simpy.Event, Any, None]:
        """Have candidates say which loss the model has on their samples, where the selection wants to know it."""
        selection, self._answers = self.scenario.server.selection, {}
        if not selection.polls or self.round_key.extra or not len(free := self._free(self._index)):
            return
        chosen = selection.candidates(free, self.scenario.participants, self._index, self.streams, self.memory.view)
        yield self.env.all_of(self._begin(chosen, self._asked))
        self._answers = {part.device: part for part in self._ended if part.status == POLLED}
        for part in self._ended:
            part.pass_over()
        ids = np.array(sorted(self._answers), dtype=np.int64)
        samples = selection.polled_samples(self.memory.view.samples[ids])
        self.memory.note_poll(ids, self.replay.losses_of(ids, samples, self._index))

    def _asked(self, drop: Drop) -> ProcessFactory:
        """What candidates do."""
        samples = self.scenario.server.selection.polled_samples(self.memory.view.samples[drop.ids])
        return self.dispatcher.polls(drop, self._index, samples)

    def _there(self, index: int) -> Ids:
        """Devices that the round `index` can ask, or could, were they not busy."""
        there = self.world.present(self.env.now, index)
        return there[self.groups.there(self.round_key.session)[there]]

    def _free(self, index: int) -> Ids:
        """Devices that it can ask."""
        there = self._there(index)
        return there[~np.isin(there, list(self._busy))] if self._busy else there

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""
        return self.world.count if self.round_key.extra else self.scenario.participants

    @property
    def backhaul_s(self) -> float:
        """Time of a model between the server and all base stations, side by side."""
        return self.dispatcher.backhaul_s

    @property
    def deadline_s(self) -> float:
        """The longest waiting time; without end where there is none."""
        return self.scenario.server.deadline_s or float("inf")

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        """Choose devices for the round that has begun, or to `refill` it, of whom the algorithm admits some.

        Those that are busy are left out. In an extra round of a session everybody is chosen.
        """
        return self.replay.admit(self._chosen(count, refill=refill), self._index)

    def _chosen(self, count: int | None, *, refill: bool) -> Ids:
        """Those whom the selection has chosen."""
        selection, free = self.scenario.server.selection, self._free(self._index + refill)
        if self.round_key.extra:
            return free
        if selection.polls:
            free = free[np.isin(free, list(self._answers))]
        wanted = min(self.participants if count is None else count, len(free))
        if wanted == 0:
            return free[:0]
        self._index += refill
        return selection.choose(free, wanted, self._index, self.streams, self.memory.view)

    def dispatch(self, ids: Ids, successor: int | None = None) -> list[simpy.Process]:
        """Send the model to the participants: one process each. Interrupting one cuts its part in the round short."""
        self.memory.note_sent(ids)
        trips = partial(self.dispatcher.trips, index=self._index, successor=successor)
        if len(ids):
            self.replay.send(ids, self.round_key)
        return self._begin(ids, trips)

    def _begin(self, ids: Ids, trips: Callable[[Drop], ProcessFactory]) -> list[simpy.Process]:
        """Begin the parts of some devices; who has been polled goes on."""
        world, now_s = self.world, self.env.now
        if not len(ids):
            return []
        ordered = np.sort(ids)
        for failed in self._ended:  # in this round; who begins anew waits no more
            if failed.device in ordered:
                failed.stop_waiting(now_s)
        positions = world.positions_m(ordered, now_s)
        drop = self.link.drop(ordered, positions, world.height_m[ordered], self._index)
        listener = self.battery_meter.on_activity if self.battery_meter else ignore_activity
        parts = participations(drop, positions, len(self.ledger.rounds), now_s, world.cpu_hz[ordered], listener)
        for part in parts:
            if before := self._answers.pop(part.device, None):
                self._ended.remove(before)
                part.resume_after_poll(before)
        trip = trips(drop)
        self._busy.update(ordered.tolist())
        part_of = {part.device: part for part in parts}
        parts = [part_of[int(device)] for device in ids]
        processes = [self.env.process(self._participate(part, trip(part))) for part in parts]
        if self.battery_meter:
            self.battery_meter.begin(parts, processes)
        if self.scenario.server.on_departure == "lost":
            self.population.watch(processes, parts, self._left)
        return processes

    def _left(self, part: Participation) -> None:
        """A device has left that had only waited for the round's end."""
        part.stop_waiting(self.env.now)
        if self.battery_meter:
            self.battery_meter.leave(part)

    def _participate(self, part: Participation, process: ParticipantProcess) -> ParticipantProcess:
        """A device's part, to whatever end."""
        status = yield from process
        if status == RECEIVED and self.dispatcher.workload.dropped(part.device, part.version):
            status = LATE
        part.finish(status, self.env.now)
        self._ended.append(part)
        if self.battery_meter:
            self.battery_meter.end(part)
        if part.down.delivered:
            self.dispatcher.equipped.add(part.device)
        if part.status == RECEIVED:
            self.replay.submit(part)
        else:
            self.replay.lose(part.device)
            self._busy.remove(part.device)
            self.ledger.event(self.env.now, part.status, part.device, part.serving)
        return part.status

    def received(self) -> int:
        """How many updates wait to be learned from."""
        return sum(part.status == RECEIVED for part in self._ended)

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        self.replay.pass_on(self.round_key)

    def aggregate(self, *, merge: bool = False) -> None:
        """End the round: learn from what has arrived, evaluate, enter it into the ledger."""
        round_key = self.round_key
        parts = sorted(self._ended, key=lambda part: part.device)
        received = [part for part in parts if part.status == RECEIVED]
        self._ended, self._busy = [], self._busy - {part.device for part in received}
        learned = self.replay.learn(received, round_key, merge=merge)
        previous, status = self.ledger, [part.status for part in parts]
        devices = self._columns(parts, round_key)
        spent = spent_j(devices)
        attended, gone = self.population.leave(self.groups.there(round_key.session))
        row = {
            "session": round_key.session,
            "round": round_key.round,
            "time_s": self.env.now,
            "duration_s": self.env.now - previous.time_s,
            "energy_j": previous.energy_j + spent,
            "round_energy_j": spent,
            "selected": len(parts) - status.count(POLLED),
            "received": status.count(RECEIVED),
            "late": status.count(LATE),
            "departed": status.count(DEPARTED),
            "bytes_down": int(devices["bytes_down"].sum()),
            "bytes_up": int(devices["bytes_up"].sum()),
            **learned,
            "failed": sum(map(status.count, FAILED)),
            "wasted_j": spent_j(devices, ~np.isin(devices["status"], (RECEIVED, POLLED))),
            **attended,
            **self._backhaul(merge=merge),
            **self._history(round_key),
            **self._serving(parts),
            **self._handovers(parts),
            **({"polled": status.count(POLLED)} if self.scenario.server.selection.polls else {}),
        }
        self.memory.close_round(device_reports(parts, devices, self.replay.losses, self.env.now))
        self._vain = not parts and self.env.now == self._began_s
        self.ledger.event(self.env.now, "round_end")
        self.ledger.close_round(row, devices, traced=learned)
        self._depart(gone)
        self.round_key = following(self.sessions, self.ledger.rounds)
        self.replay.evaluate(row, last=self.round_key.session > round_key.session)
        if self.groups.several and self.round_key.session > round_key.session and self.running():
            before, after = self.groups.there(round_key.session), self.groups.there(self.round_key.session)
            self._depart(self.population.take_turns(before, after, self._index))
        self._advise()

    def _depart(self, ids: Ids) -> None:
        """Have devices that have left lose what they kept, if so they do: they get it all anew."""
        state = self.scenario.server.departed_state
        if state != "kept":
            self.dispatcher.equipped -= set(ids.tolist())
            self.replay.depart(ids, forget=state == "forgotten")

    def _serving(self, parts: list[Participation]) -> dict[str, float]:
        """What the server has spent on its half of the model, where it has one."""
        spent_s = sum(part.server_s for part in parts)
        return {} if self.split is None else {"server_energy_j": self.scenario.server.power_w * spent_s}

    def _handovers(self, parts: list[Participation]) -> dict[str, int]:
        """How often devices changed their cells, where they do."""
        return {"handovers": sum(len(part.handovers) for part in parts)} if self.dispatcher.roaming else {}

    def _history(self, round_key: RoundKey) -> dict[str, int]:
        """Bytes that the server keeps for the starts of sessions to come, where there are several."""
        kept = self.sessions.initialisation.stored(round_key.session)
        return {"history_bytes": kept * int(self.payload.model_bits / 8)} if self.sessions.several else {}

    def close(self) -> None:
        """Enter what has been cut short since the last round ended into that round: its cost, nothing to learn from."""
        parts, self._ended = sorted(self._ended, key=lambda part: part.device), []
        if not parts or not self.ledger.rounds:
            return
        row = self.ledger.rounds[-1]
        devices = self._columns(parts, RoundKey(row["session"], row["round"]))
        spent = {name: spent_j(devices) for name in ("energy_j", "round_energy_j", "wasted_j")}
        sent = {name: int(devices[name].sum()) for name in ("bytes_down", "bytes_up")} | self._handovers(parts)
        row.update({name: row[name] + more for name, more in {"selected": len(parts), **spent, **sent}.items()})
        self.ledger.add(devices)

    def _columns(self, parts: list[Participation], round_key: RoundKey) -> dict[str, npt.NDArray[Any]]:
        """Parts that have ended, in order of their devices, as columns of devices.csv."""
        ids = np.array([part.device for part in parts], dtype=np.int64)
        powers_w = self.world.powers_w(ids, np.array([part.cpu_hz for part in parts]))
        for part in parts:
            part.close()
        if self.battery_meter is None:
            return device_columns(parts, round_key, self.env.now, powers_w)
        self.battery_meter.close(parts)
        levels_j = np.array([part.battery_j for part in parts])
        found = device_columns(parts, round_key, self.env.now, powers_w)
        return {**found, "battery_j": levels_j, "battery_capacity_j": self.battery_meter.capacity_j(ids)}

    def _advise(self) -> None:
        """Say once that the fast engine would save more than a minute of the rounds to come."""
        done, needless_s = len(self.ledger.rounds), self.link.needless_s
        if done == 1:
            self._first_needless_s = needless_s  # compiling and warming up say nothing about the rest
        elif not self._advised:
            left_s = (needless_s - self._first_needless_s) / (done - 1) * (self.sessions.total - done)
            self._advised = left_s > WORTH_SAYING_S
            if self._advised:
                log.warning("radio.transfer: fast would save about %.0f s of the rounds to come", left_s)

    def _backhaul(self, *, merge: bool) -> dict[str, int]:
        """Bytes between base stations and a cloud in a round, where there is one: a model up and down for each."""
        if not self.scenario.server.policy.edge_models:
            return {}
        return {"backhaul_bytes": 2 * self.scenario.cells.sites * int(self.payload.model_bits / 8) if merge else 0}
