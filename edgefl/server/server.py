"""The server: the one place where world, link, learning and ledger meet, as SimPy processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.coordination.server_section import ServerSection
from edgefl.coordination.server_view import DeviceTracker
from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams
from edgefl.learning.payload import Payload
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.scenario import RoundKey, Sessions, Stop
from edgefl.server.accounting import DeviceColumns, device_columns, device_reports, spent_j
from edgefl.server.advice import FastTransferAdvice
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
from edgefl.server.round_counter import RoundCounter
from edgefl.server.session_groups import SessionGroups
from edgefl.world.world import World


class Server:
    """Runs rounds as its policy says: it is what a policy sees as its Coordinator (coordination.policies.base).

    Args:
        env: the clock.
        section: how rounds run.
        sessions: how many rounds there are, in which sessions.
        stop: when to end before the last round.
        participants: how many devices a round asks for.
        cells: how many base stations there are.
        backhaul_s: time of a model between the server and all base stations, side by side [s].
        world: the devices.
        groups: of devices, of which one is present in each session.
        link: the radio.
        payload: what a participant sends and computes.
        dispatcher: builds the participants' processes.
        population: who comes and goes.
        battery_meter: what devices with batteries draw; None where there are none.
        replay: the server's side of learning.
        ledger: where finished rounds are entered.
        streams: keyed randomness.
    """

    def __init__(
        self,
        env: simpy.Environment,
        section: ServerSection,
        sessions: Sessions,
        stop: Stop,
        participants: int,
        cells: int,
        backhaul_s: float,
        world: World,
        groups: SessionGroups,
        link: Link,
        payload: Payload,
        dispatcher: Dispatcher,
        population: Population,
        battery_meter: BatteryMeter | None,
        replay: Replay,
        ledger: Ledger,
        streams: Streams,
    ) -> None:
        self.env = env
        self.world = world
        self.link = link
        self.payload = payload
        self.dispatcher = dispatcher
        self.replay = replay
        self.ledger = ledger
        self._section = section
        self._sessions = sessions
        self._stop = stop
        self._participants = participants
        self._cells = cells
        self._backhaul_s = backhaul_s
        self._groups = groups
        self._population = population
        self._battery_meter = battery_meter
        self._streams = streams
        self._tracker = DeviceTracker(payload.samples)
        self._advice = FastTransferAdvice(sessions.total)
        self._rounds = RoundCounter(sessions)
        self._index = -1  # of the last selection, from 0: the key of its draws
        self._began_s = 0.0  # when the round under way began
        self._last_end_s = 0.0  # when the last round ended
        self._energy_j = 0.0  # of all devices until then
        self._without_effect = False  # whether the last round had no participants, and took no time
        self._busy: set[int] = set()  # devices under way, or whose update waits to be learned from
        self._ended: list[Participation] = []  # since the last round's end
        self._answers: dict[int, Participation] = {}  # of candidates, until participants have been chosen

    # What a policy may ask (see Coordinator)

    @property
    def participants(self) -> int:
        """Number of devices that a round asks for; everybody in an extra round of a session."""
        return self.world.count if self._rounds.key.extra else self._participants

    @property
    def backhaul_s(self) -> float:
        """Time of a model between the server and all base stations, side by side [s]."""
        return self._backhaul_s

    @property
    def deadline_s(self) -> float:
        """The longest waiting time [s]; inf where there is none."""
        return self._section.deadline_s or float("inf")

    def received(self) -> int:
        """Return how many updates wait to be learned from."""
        return sum(part.status == RECEIVED for part in self._ended)

    # Beginning a round

    def ready(self) -> Generator[simpy.Event, Any, bool]:
        """Begin another round, as soon as devices are present; return whether there is one.

        Raises:
            RunError: no device is present, and none will ever come.
        """
        while self._goes_on():
            present = self._present(self._index + 1)
            someone = bool(self._busy) or len(present) > 0
            wait_s = 0.0
            # A round that nobody took part in and that took no time would be followed by the same one for ever.
            if not someone or self._without_effect:
                members = self._groups.members(self._rounds.key.session)
                wait_s = self._population.wait_s(members, self._index + 1, someone=someone)
            if wait_s <= 0:
                self._begin_round(len(present))
                yield from self._poll()
                return True
            self._without_effect = False
            self.ledger.event(self.env.now, "waiting")
            yield self.env.timeout(wait_s)
        return False

    def _goes_on(self) -> bool:
        """Return True if another round is to begin: rounds are left, and no stop condition holds."""
        stop = self._stop
        # Evaluation goes on in the background, and a run waits for it only where the accuracy may end it.
        self.replay.settle(wait=stop.accuracy is not None)
        last_row = self.ledger.last_row
        if self._rounds.all_ended:
            return False
        if last_row is None or last_row["round"] < 1:  # the model of an extra round is no result
            return True
        if stop.time_s is not None and self._last_end_s >= stop.time_s:
            return False
        if stop.energy_j is not None and self._energy_j >= stop.energy_j:
            return False
        accuracy = last_row["test_accuracy"]
        return stop.accuracy is None or accuracy is None or accuracy < stop.accuracy

    def _begin_round(self, present: int) -> None:
        """Begin a round with so many devices present."""
        self._index += 1
        self._began_s = self.env.now
        self.ledger.event(self.env.now, "round_start")
        self._population.begin_round(present, self._rounds.ended + 1)
        self.replay.enter(self._rounds.key, self._rounds.ended)
        if self._rounds.session_begins:
            self.dispatcher.begin_session()

    def _poll(self) -> Generator[simpy.Event, Any, None]:
        """Ask candidates for the model's loss on their samples, where the selection wants to know it."""
        selection = self._section.selection
        self._answers = {}
        if not selection.polls or self._rounds.key.extra:
            return
        free = self._free(self._index)
        if not len(free):
            return
        candidates = selection.candidates(free, self._participants, self._index, self._streams, self._tracker.view)
        yield self.env.all_of(self._begin(candidates, self._poll_processes))
        self._answers = {part.device: part for part in self._ended if part.status == POLLED}
        for part in self._ended:  # until it is chosen, which only those who have answered can be
            part.pass_over()
        ids = np.array(sorted(self._answers), dtype=np.int64)
        samples = selection.polled_samples(self._tracker.view.samples[ids])
        self._tracker.note_poll(ids, self.replay.losses_of(ids, samples, self._index))

    def _poll_processes(self, drop: Drop) -> ProcessFactory:
        """Return what candidates do."""
        samples = self._section.selection.polled_samples(self._tracker.view.samples[drop.ids])
        return self.dispatcher.poll_processes(drop, self._index, samples)

    # Choosing participants

    def _present(self, index: int) -> Ids:
        """Return the devices that are present in round `index` and may take part in the session, busy or not."""
        present = self.world.present(self.env.now, index)
        return present[self._groups.members(self._rounds.key.session)[present]]

    def _free(self, index: int) -> Ids:
        """Return the devices that round `index` can ask."""
        present = self._present(index)
        if not self._busy:
            return present
        return present[~np.isin(present, list(self._busy))]

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        """Choose devices for the round that has begun, or to `refill` it, of which the algorithm admits some.

        Those that are busy are left out. In an extra round of a session everybody is chosen.
        """
        return self.replay.admit(self._chosen(count, refill=refill), self._index)

    def _chosen(self, count: int | None, *, refill: bool) -> Ids:
        """Return the devices that the selection chooses; a refill is a selection with draws of its own."""
        index = self._index
        if refill:
            index += 1
        free = self._free(index)
        if self._rounds.key.extra:
            return free
        selection = self._section.selection
        if selection.polls:
            free = free[np.isin(free, list(self._answers))]
        wanted = min(self.participants if count is None else count, len(free))
        if wanted == 0:
            return free[:0]
        self._index = index
        return selection.choose(free, wanted, index, self._streams, self._tracker.view)

    # Participations

    def dispatch(self, ids: Ids, successor: int | None = None) -> list[simpy.Process]:
        """Send the model to the participants: one process each. Interrupting one cuts its participation short."""
        self._tracker.note_sent(ids)
        if len(ids):
            self.replay.send(ids, self._rounds.key)
        number = self._rounds.ended
        processes = partial(self.dispatcher.processes, index=self._index, number=number, successor=successor)
        return self._begin(ids, processes)

    def _begin(self, ids: Ids, processes_of: Callable[[Drop], ProcessFactory]) -> list[simpy.Process]:
        """Begin the participations of devices [n]; a device that has answered a poll goes on from there.

        Args:
            ids: of the devices.
            processes_of: what they do, from the large-scale channel of all of them, in order of their ids.
        """
        if not len(ids):
            return []
        now_s = self.env.now
        ordered = np.sort(ids)
        for failed in self._ended:  # a device that failed in this round and begins anew does not wait for its end
            if failed.device in ordered:
                failed.stop_waiting(now_s)
        positions_m = self.world.positions_m(ordered, now_s)
        drop = self.link.drop(ordered, positions_m, self.world.height_m[ordered], self._index)
        on_activity = self._battery_meter.on_activity if self._battery_meter else ignore_activity
        cpu_hz = self.world.cpu_hz[ordered]
        begun = participations(drop, positions_m, self._rounds.ended, now_s, cpu_hz, on_activity)
        for part in begun:
            answer = self._answers.pop(part.device, None)
            if answer is not None:
                self._ended.remove(answer)
                part.resume_after_poll(answer)
        process_of = processes_of(drop)
        self._busy.update(ordered.tolist())
        # The draws of the link go by device, but processes begin in the order of the selection, which a walk follows.
        part_of = {part.device: part for part in begun}
        parts = [part_of[device] for device in ids.tolist()]
        # One process each: a policy waits for it, or interrupts it, and knows nothing else of a participation.
        processes = [self.env.process(self._participate(part, process_of(part))) for part in parts]
        if self._battery_meter:
            self._battery_meter.begin(parts, processes)
        if self._section.on_departure == "lost":
            self._population.watch(processes, parts, self._leave)
        return processes

    def _leave(self, part: Participation) -> None:
        """Note that a device has left that had only waited for the round's end."""
        part.stop_waiting(self.env.now)
        if self._battery_meter:
            self._battery_meter.leave(part)

    def _participate(self, part: Participation, process: ParticipantProcess) -> ParticipantProcess:
        """Follow a participation to its end, whatever that is; return its status."""
        status = yield from process
        if status == RECEIVED and self.dispatcher.workload.dropped(part.device, part.version):
            status = LATE  # a straggler's update comes too late, although it arrives
        part.finish(status, self.env.now)
        self._ended.append(part)
        if self._battery_meter:
            self._battery_meter.end(part)
        if part.down.delivered:
            self.dispatcher.note_download(part.device)
        if status == RECEIVED:
            self.replay.submit(part)  # the device stays busy until its update has been learned from
        else:
            self.replay.lose(part.device)
            self._busy.remove(part.device)
            self.ledger.event(self.env.now, status, part.device, part.serving)
        return status

    # Ending a round

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        self.replay.pass_on(self._rounds.key)

    def aggregate(self, *, merge: bool = False) -> None:
        """End the round: learn from what has arrived, enter the round into the ledger, begin to evaluate its model."""
        now_s = self.env.now
        key = self._rounds.key
        parts = self._take_ended()
        received = np.array([part.device for part in parts if part.status == RECEIVED], dtype=np.int64)
        self._busy -= set(received.tolist())
        learned = self.replay.learn(received, key, self._rounds.ended, merge=merge)
        devices = self._close(parts, key)
        members = self._groups.members(key.session)
        population_columns, departed = self._population.end_round(members, self._last_end_s)
        row = {
            **self._accounts(key, parts, devices),
            **learned,
            **_losses_of_parts(parts, devices),
            **population_columns,
            **self._optional_columns(key, parts, merge=merge),
        }
        self._tracker.close_round(device_reports(parts, devices, self.replay.losses, now_s))
        self._without_effect = not parts and now_s == self._began_s
        self.ledger.event(now_s, "round_end")
        number = self.ledger.close_round(row, devices, traced=learned)
        self._last_end_s = now_s
        self._energy_j = row["energy_j"]
        self._forget_departed(departed)
        self._rounds.end_round(row["arrivals"], row["present"])
        session_ends = self._rounds.key.session > key.session
        self.replay.evaluate(key, number, last=session_ends)
        if session_ends and self._groups.several and self._goes_on():
            self._change_groups(key.session)
        self._advice.end_round(self._rounds.ended, self.link.needless_s)

    def close(self) -> None:
        """Enter what has been cut short since the last round ended into that round: its cost, no update."""
        parts = self._take_ended()
        last_row = self.ledger.last_row
        if not parts or last_row is None:
            return
        devices = self._close(parts, RoundKey(last_row["session"], last_row["round"]))
        spent = spent_j(devices)
        self.ledger.add_to_last_round(
            {
                "selected": len(parts),
                "energy_j": spent,
                "round_energy_j": spent,
                "wasted_j": spent,
                "bytes_down": int(devices["bytes_down"].sum()),
                "bytes_up": int(devices["bytes_up"].sum()),
                **self._handovers(parts),
            }
        )
        self.ledger.enter_participants(devices)

    def _take_ended(self) -> list[Participation]:
        """Return the participations that have ended since the last round did, in order of their devices."""
        parts = sorted(self._ended, key=lambda part: part.device)
        self._ended = []
        return parts

    def _close(self, parts: Sequence[Participation], key: RoundKey) -> DeviceColumns:
        """Close participations [n] with their round; return them as columns of devices.csv."""
        ids = np.array([part.device for part in parts], dtype=np.int64)
        powers_w = self.world.powers_w(ids, np.array([part.cpu_hz for part in parts]))
        for part in parts:
            part.close()
        if self._battery_meter is None:
            return device_columns(parts, key, self.env.now, powers_w)
        self._battery_meter.close(parts)  # first: it knows who ran out while it waited
        return {
            **device_columns(parts, key, self.env.now, powers_w),
            "battery_j": np.array([part.battery_j for part in parts]),
            "battery_capacity_j": self._battery_meter.capacity_j(ids),
        }

    def _change_groups(self, session: int) -> None:
        """Let the group of the session that has ended make room for the next one's: both count in the round's row."""
        before = self._groups.members(session)
        after = self._groups.members(self._rounds.key.session)
        arrived, departed = self._population.change_groups(before, after, self._index)
        self.ledger.add_to_last_round({"arrivals": len(arrived), "departures": len(departed)})
        self._forget_departed(departed)

    def _forget_departed(self, ids: Ids) -> None:
        """Let devices that have left lose what they kept, where they do: they get it all anew."""
        state = self._section.departed_state
        if state != "kept":
            self.dispatcher.forget(ids)
            self.replay.depart(ids, forget=state == "forgotten")

    # Columns of rounds.csv

    def _accounts(self, key: RoundKey, parts: Sequence[Participation], devices: DeviceColumns) -> dict[str, Any]:
        """Return what a round has taken: time, energy, participations and bytes."""
        now_s = self.env.now
        spent = spent_j(devices)
        status = [part.status for part in parts]
        return {
            "session": key.session,
            "round": key.round,
            "time_s": now_s,
            "duration_s": now_s - self._last_end_s,
            "energy_j": self._energy_j + spent,
            "round_energy_j": spent,
            "selected": len(parts) - status.count(POLLED),
            "received": status.count(RECEIVED),
            "late": status.count(LATE),
            "departed": status.count(DEPARTED),
            "bytes_down": int(devices["bytes_down"].sum()),
            "bytes_up": int(devices["bytes_up"].sum()),
        }

    def _optional_columns(self, key: RoundKey, parts: Sequence[Participation], *, merge: bool) -> dict[str, float]:
        """Return the columns that only some runs have."""
        found: dict[str, float] = {}
        model_bytes = int(self.payload.model_bits / 8)
        if self._section.policy.edge_models:  # a model up and down for each base station
            found["backhaul_bytes"] = 2 * self._cells * model_bytes if merge else 0
        if self._sessions.several:  # models that the server keeps for the starts of sessions to come
            found["history_bytes"] = self._sessions.initialisation.stored_vectors(key.session) * model_bytes
        if self._section.policy.splits_model:  # for its half of the model
            found["server_energy_j"] = self._section.power_w * sum(part.server_s for part in parts)
        found.update(self._handovers(parts))
        if self._section.selection.polls:
            found["polled"] = sum(part.status == POLLED for part in parts)
        return found

    def _handovers(self, parts: Sequence[Participation]) -> dict[str, int]:
        """Return how often devices changed their cells, as a column, in runs in which they do."""
        if not self.dispatcher.hands_over:
            return {}
        return {"handovers": sum(len(part.handovers) for part in parts)}


def _losses_of_parts(parts: Sequence[Participation], devices: DeviceColumns) -> dict[str, float]:
    """Return how many participations failed, and the energy of all whose update was not used, as columns."""
    failed = sum(part.status in FAILED for part in parts)
    unused = ~np.isin(devices["status"], (RECEIVED, POLLED))
    return {"failed": failed, "wasted_j": spent_j(devices, unused)}
