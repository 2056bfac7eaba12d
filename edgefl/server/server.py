"""The server: the one place where world, link, learning and ledger meet, as SimPy processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.coordination.server_section import ServerSection
from edgefl.coordination.server_view import DeviceReports, DeviceTracker, ServerView
from edgefl.core.arrays import Ids, Ints
from edgefl.core.global_draws import watching_draws
from edgefl.core.returns import check_array, check_ids
from edgefl.core.streams import Streams
from edgefl.learning.analog_sum import AnalogSum
from edgefl.learning.payload import Payload
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import ANSWERED, LATE, NOT_CHOSEN, POLLED, RECEIVED, REPORTED
from edgefl.scenario import RoundKey, Sessions, Stop
from edgefl.server.accounting import DeviceColumns, device_columns, device_reports, geometry_columns, spent_j
from edgefl.server.advice import FastTransferAdvice
from edgefl.server.base_station_energy import BaseStationEnergy
from edgefl.server.battery_meter import BatteryMeter
from edgefl.server.channel_requests import ChannelRequests
from edgefl.server.departures import Departures
from edgefl.server.dispatcher import Dispatcher, Exchange
from edgefl.server.forecaster import Forecaster
from edgefl.server.held_samples import HeldSamples
from edgefl.server.over_the_air_processes import analog_sum, sum_columns
from edgefl.server.participation import (
    ARRIVED,
    FAILED,
    ActivityListener,
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
from edgefl.world.control import BY_SCENARIO, Choice, Control
from edgefl.world.world import World

# The radio's draws are keyed by the index of a selection. Messages besides training count from here, so that they leave
# the draws of the rounds as they are.
FIRST_MESSAGE_INDEX = 2**31


class Server:
    """Runs the rounds of a policy, which sees it as a `Coordinator` (coordination.policies.base).

    Args:
        env: the clock.
        section: the section `server` of the scenario.
        sessions: the number of sessions and of their rounds.
        stop: when to end before the last round.
        participants: how many devices a round asks for.
        cells: how many base stations there are.
        backhaul_s: how long a model takes from the server to all base stations, which are sent it side by side [s].
        world: the devices.
        groups: the groups of devices, one of which is present in each session.
        link: the radio.
        payload: what a participant sends and computes.
        dispatcher: builds the participants' processes.
        held: which samples participants have in a round.
        population: which devices are present, arrive and leave.
        battery_meter: meters what devices with batteries draw; None if no device has one.
        base_station_energy: accounts for what base stations draw; None if nobody asks.
        replay: the server's side of learning.
        ledger: records finished rounds.
        streams: keyed randomness.
        control: chooses devices in place of the selection, if it wants to.
        forecaster: makes forecasts of devices; None if the server knows nothing of channels.
        requests: asks devices for reports on their channels; None if there are none, or they are free.
        labels: [devices, classes] samples of each class, if the selection looks at them.
        geometry: whether coupling loss and geometry of participants are columns of devices.csv.
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
        held: HeldSamples,
        population: Population,
        battery_meter: BatteryMeter | None,
        base_station_energy: BaseStationEnergy | None,
        replay: Replay,
        ledger: Ledger,
        streams: Streams,
        control: Control = BY_SCENARIO,
        forecaster: Forecaster | None = None,
        requests: ChannelRequests | None = None,
        *,
        labels: Ints | None = None,
        geometry: bool = False,
    ) -> None:
        self.env = env
        self.world = world
        self.link = link
        self.payload = payload
        self.dispatcher = dispatcher
        self.replay = replay
        self.ledger = ledger
        self._held = held
        self._geometry = geometry
        self._section = section
        self._sessions = sessions
        self._stop = stop
        self._participants = participants
        self._cells = cells
        self._backhaul_s = backhaul_s
        self._groups = groups
        self._population = population
        self._departures = Departures(env, world.presence, self._leave)
        self._battery_meter = battery_meter
        self._base_station_energy = base_station_energy
        self._streams = streams
        self._control = control
        self._forecaster = forecaster
        self._requests = requests
        self._tracker = DeviceTracker(payload.samples, section.selection.memory_width, labels)
        # Nobody knows how many rounds somebody outside will drive: the advice then counts on none.
        self._advice = FastTransferAdvice(0 if section.policy.exchanges else sessions.total)
        self._rounds = RoundCounter(sessions)
        # A round may select several times (refills), so selections have a count of their own.
        self._index = -1  # index of the last selection, from 0; it keys that selection's draws
        self._messages = 0  # how often devices were sent a message besides training
        self._began_s = 0.0  # when the present round began
        self._last_end_s = 0.0  # when the last round ended
        self._energy_j = 0.0  # what all devices had spent by then
        self._without_effect = False  # True if the last round had no participants and took no time
        self._busy: set[int] = set()  # devices that are taking part, or whose update has not been aggregated yet
        self._ended: list[Participation] = []  # participations that ended since the last round did
        self._reports: list[Participation] = []  # on channels, since the last round ended
        self._answers: dict[int, Participation] = {}  # answers to the poll by device, until participants are chosen

    # What a policy may read (see Coordinator)

    @property
    def participants(self) -> int:
        """Number of devices that a round asks for; all devices in an extra round of a session."""
        if self._rounds.key.extra:
            return self.world.count
        return self._participants

    @property
    def backhaul_s(self) -> float:
        """Time that a model takes from the server to all base stations, which are sent it side by side [s]."""
        return self._backhaul_s

    @property
    def deadline_s(self) -> float:
        """The longest time that a round may last [s]; inf without a deadline."""
        return self._section.deadline_s or float("inf")

    def received(self) -> int:
        """Return how many updates have arrived and have not been aggregated yet."""
        return sum(part.status == RECEIVED for part in self._ended)

    # What somebody outside may ask, who drives the run

    def present(self) -> Ids:
        """Return the ids of the devices that the next round would find present, ascending."""
        return self._present(self._index + 1)

    def wait_for_device_s(self) -> float:
        """Return the seconds until the next device arrives, or is charged; 0 if presence does not depend on time.

        Raises:
            RunError: none will ever come.
        """
        members = self._groups.members(self._rounds.key.session)
        return self._population.wait_s(members, self._index + 1, any_present=False)

    # Beginning a round

    @property
    def view(self) -> ServerView:
        """The server's knowledge of its devices."""
        return self._tracker.view

    def ready(self, count: int | None = None) -> Generator[simpy.Event, Any, bool]:
        """Begin the next round as soon as devices are present, and return True; return False if the run has ended.

        Args:
            count: how many devices `select` will be asked for; `participants` if None.

        Raises:
            RunError: no device is present, and none will ever come.
        """
        while self._goes_on():
            # Presence is asked for under the index that the round's selection will have.
            present = self._present(self._index + 1)
            any_present = bool(self._busy) or len(present) > 0
            wait_s = 0.0
            # Virtual time did not move in a round without participants. The next one would find the same devices,
            # and so on for ever: wait for an arrival first.
            if not any_present or self._without_effect:
                members = self._groups.members(self._rounds.key.session)
                wait_s = self._population.wait_s(members, self._index + 1, any_present=any_present)
            if wait_s <= 0:
                self._begin_round(len(present))
                yield from self._request_channels(self._index, count)
                yield from self._poll()
                yield from self._decide(count, refill=False)
                return True
            self._without_effect = False
            self.ledger.event(self.env.now, "waiting")
            yield self.env.timeout(wait_s)
        return False

    def _goes_on(self) -> bool:
        """Return True if rounds are left and no stop condition holds."""
        stop = self._stop
        # Models are evaluated in the background. The run waits for them only if the accuracy may end it.
        self.replay.settle(wait=stop.accuracy is not None)
        last_row = self.ledger.last_row
        if self._rounds.all_ended:
            return False
        if last_row is None or last_row["round"] < 1:  # an extra round is no result to stop for
            return True
        if stop.time_s is not None and self._last_end_s >= stop.time_s:
            return False
        if stop.energy_j is not None and self._energy_j >= stop.energy_j:
            return False
        accuracy = last_row["test_accuracy"]
        return stop.accuracy is None or accuracy is None or accuracy < stop.accuracy

    def _begin_round(self, present: int) -> None:
        """Begin a round while `present` devices are present."""
        self._index += 1
        self._began_s = self.env.now
        self.ledger.event(self.env.now, "round_start")
        self._population.begin_round(present, self._rounds.ended + 1)
        self.replay.enter(self._rounds.key, self._rounds.ended)
        if self._rounds.session_begins:
            self.dispatcher.begin_session()

    def _request_channels(self, index: int, count: int | None) -> Generator[simpy.Event, Any, None]:
        """Ask all devices that selection `index` may choose for reports on their channels, if these have a price.

        Args:
            index: of the selection.
            count: how many devices it will be asked for; `participants` if None.
        """
        if self._requests is None or self._rounds.key.extra or count == 0:
            return
        free = self._free(index)
        if not len(free):
            return
        parts = yield from self._requests.ask(free, index, self._rounds.ended)
        self._reports += parts
        reported = np.array([part.device for part in parts if part.up.delivered], dtype=np.int64)
        if self._forecaster is not None:
            self._forecaster.knowledge.note_requested(reported, index)

    def _poll(self) -> Generator[simpy.Event, Any, None]:
        """Ask candidates for the model's loss, or for the norm of their update, if the selection polls."""
        selection = self._section.selection
        self._answers = {}
        if not selection.polls or self._rounds.key.extra:
            return
        free = self._free(self._index)
        if not len(free):
            return
        with watching_draws(selection, "candidates"):
            view = self._view_of(free, self._index)
            candidates = selection.candidates(free, self._participants, self._index, self._streams, view)
        check_ids(selection, "candidates", candidates, free, "ids of `present`, each once")
        yield self.env.all_of(self._begin(candidates, self._poll_processes, self._index, self.dispatcher.polling))
        self._answers = {part.device: part for part in self._ended if part.status == POLLED}
        # Every candidate counts as passed over for now, also one that failed or left. Only those that answered can
        # still be chosen, and `_begin` then continues their participation.
        for part in self._ended:
            part.pass_over()
        # They are computed in one batch, in order of ids: answers arrive in an order that depends on the channel.
        ids = np.array(sorted(self._answers), dtype=np.int64)
        if selection.polls_training:
            counted = selection.polled_parameters(ids, view)
            norms = self.replay.norms_of(ids, counted, self._rounds.key, self._rounds.ended)
            self._tracker.note_norms(ids, norms)
            return
        samples = selection.polled_samples(self._tracker.view.samples[ids])
        self._tracker.note_poll(ids, self.replay.losses_of(ids, samples, self._index))

    def _poll_processes(self, drop: Drop) -> ProcessFactory:
        """Return the factory of the candidates' processes."""
        if self._section.selection.polls_training:
            return self.dispatcher.trained_poll_processes(drop, self._index, self._rounds.ended)
        samples = self._section.selection.polled_samples(self._tracker.view.samples[drop.ids])
        return self.dispatcher.poll_processes(drop, self._index, samples)

    # Choosing participants

    def _present(self, index: int) -> Ids:
        """Return the devices of the session's group that are present for selection `index`, busy or not."""
        present = self.world.present(self.env.now, index)
        return present[self._groups.members(self._rounds.key.session)[present]]

    def _free(self, index: int) -> Ids:
        """Return the devices that are present for selection `index` and not busy."""
        present = self._present(index)
        if not self._busy:
            return present
        return present[~np.isin(present, list(self._busy))]

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        """Return the devices that the selection chooses and the algorithm admits, to begin a round or to `refill` it.

        Busy devices are left out. Whom an extra round of a session asks is not up to them, but to `_sampled`.
        """
        ids = self.replay.admit(self._chosen(count, refill=refill), self._index)
        self._control.note_chosen(ids, self._index)
        return self._control.taking_part(ids)

    def before_refill(self, count: int) -> Generator[simpy.Event, Any, None]:
        """Wait until whoever controls the run has decided which `count` devices `select` chooses as a refill."""
        yield from self._request_channels(self._index + 1, count)
        yield from self._decide(count, refill=True)

    def _decide(self, count: int | None, *, refill: bool) -> Generator[simpy.Event, Any, None]:
        """Let whoever controls the run decide, if there is anything to choose."""
        if not self._control.decides:
            return
        index, free, wanted = self._choosable(count, refill=refill)
        if not wanted:
            return

        def by_scenario() -> Ids:
            if self._rounds.key.extra:
                return free
            return self._by_selection(free, wanted, index)

        yield from self._control.decide(Choice(index, free, wanted, by_scenario))

    def _choosable(self, count: int | None, *, refill: bool) -> tuple[int, Ids, int]:
        """Return the selection's index, the devices [n] that it may choose, and how many of them it is to choose."""
        index = self._index
        if refill:  # a selection with draws of its own
            index += 1
        free = self._free(index)
        if self._rounds.key.extra:
            sampled = self._sampled(free)
            return index, sampled, len(sampled)
        if self._section.selection.polls:
            free = free[np.isin(free, list(self._answers))]
        return index, free, min(self.participants if count is None else count, len(free))

    def _chosen(self, count: int | None, *, refill: bool) -> Ids:
        """Return the devices that the selection chooses, before the algorithm admits them."""
        index, free, wanted = self._choosable(count, refill=refill)
        if self._rounds.key.extra:
            return free
        if wanted == 0:
            return free[:0]
        self._index = index  # a refill counts only if somebody is wanted and available
        chosen = self._control.choose(free, wanted)
        if chosen is not None:
            return chosen
        return self._by_selection(free, wanted, index)

    def _sampled(self, free: Ids) -> Ids:
        """Return the devices of an extra round, of those [n] that are free: the same ones in all of a session's."""
        count = self._sessions.initialisation.extra_participants(len(free))
        if count >= len(free):
            return free
        # Each device has one number a session: the least ones stay the same while devices come and go.
        numbers = self._streams.uniform("gradient", free, self._rounds.key.session)
        return np.sort(free[np.argsort(numbers)[:count]])

    def _by_selection(self, free: Ids, wanted: int, index: int) -> Ids:
        """Return whom the scenario's selection chooses of the devices [n] that are free."""
        selection = self._section.selection
        with watching_draws(selection, "choose"):
            chosen = selection.choose(free, wanted, index, self._streams, self._view_of(free, index))
        check_ids(selection, "choose", chosen, free, "ids of `present`, each once")
        return chosen

    def _view_of(self, free: Ids, index: int) -> ServerView:
        """Return what the server knows when it chooses among devices [n], with its forecast of them if it has one."""
        view = self._tracker.view
        if self._forecaster is None or not self._section.selection.needs_csi:
            return view
        return replace(view, forecast=self._forecaster.forecast(free, index, len(self._busy)))

    # Participations

    def dispatch(self, ids: Ids, successor: int | None = None) -> list[simpy.Process]:
        """Send the model to devices [n]; return one process for each participation, in the same order."""
        self._tracker.note_sent(ids)
        number = self._rounds.ended
        if len(ids):
            self._held.note(np.sort(ids), self._rounds.key, number)
            if self._held.redivides:
                self.replay.redivide(np.sort(ids), number)
            self.replay.send(ids, self._rounds.key)
        processes_of = partial(
            self.dispatcher.processes,
            index=self._index,
            number=number,
            successor=successor,
            trained=self._section.selection.polls_training and bool(self._answers),
        )
        return self._begin(ids, processes_of, self._index)

    def exchange(self, ids: Ids, exchange: Exchange, *, refill: bool = False) -> list[simpy.Process]:
        """Send devices [n] messages whose size and work somebody outside says; return their processes, in this order.

        If they train, their updates count for the round that has begun.

        Args:
            ids: the devices, ascending; each is present.
            exchange: what they receive, compute and send back.
            refill: whether other devices have been asked to train in this round before, so that these have draws of
                their own.
        """
        if exchange.trains:
            if refill:
                self._index += 1
            index = self._index
            self._tracker.note_sent(ids)
            self.replay.send(ids, self._rounds.key)
        else:
            index = FIRST_MESSAGE_INDEX + self._messages
            self._messages += 1
        return self._begin(ids, partial(self.dispatcher.exchanges, index=index, exchange=exchange), index)

    def _begin(
        self, ids: Ids, processes_of: Callable[[Drop], ProcessFactory], index: int, link: Link | None = None
    ) -> list[simpy.Process]:
        """Begin the participations of devices [n], and return their processes in the same order.

        A device that has answered a poll continues where its answer ended.

        Args:
            ids: the devices.
            processes_of: returns what makes their processes, given the large-scale channel of all of them by id.
            index: it keys the draws of that channel.
            link: the radio over which they take part; that of rounds if None.
        """
        if not len(ids):
            return []
        now_s = self.env.now
        ordered = np.sort(ids)
        # A device that failed earlier in this round may be asked again: its first participation then waits no longer.
        for earlier in self._ended:
            if earlier.device in ordered:
                earlier.stop_waiting(now_s)
        positions_m = self.world.positions_m(ordered, now_s)
        drop = self.link.drop(ordered, positions_m, self.world.height_m[ordered], index)
        on_activity: ActivityListener = ignore_activity
        if self._battery_meter:
            on_activity = self._battery_meter.on_activity
        cpu_hz = self.world.cpu_hz[ordered]
        tx_power_w = self.world.tx_power_w(ordered)
        begun = participations(drop, positions_m, self._rounds.ended, now_s, cpu_hz, tx_power_w, on_activity)
        for part in begun:
            answer = self._answers.pop(part.device, None)
            if answer is not None:
                self._ended.remove(answer)  # its cost is counted with the participation that continues it
                part.resume_after_poll(answer)
        process_of = processes_of(drop)
        if self._forecaster is not None:
            self._forecaster.knowledge.note_begun(link or self.link, drop, index)
        self._busy.update(ordered.tolist())
        # The link takes devices in order of their ids. Processes begin in the order of the selection, which is the
        # order in which the policy `sequential` visits devices.
        part_of = {part.device: part for part in begun}
        parts = [part_of[device] for device in ids.tolist()]
        # A policy only ever waits for a process or interrupts it; it knows nothing else of a participation.
        processes = [self.env.process(self._participate(part, process_of(part))) for part in parts]
        if self._battery_meter:
            self._battery_meter.begin(parts, processes)
        # With on_departure: completes nobody watches departures, and a participation outlasts its device's presence.
        if self._section.on_departure == "lost":
            self._departures.watch(processes, parts)
        return processes

    def _leave(self, part: Participation) -> None:
        """Note that a device has left after its participation ended and before the round does."""
        part.stop_waiting(self.env.now)
        if self._battery_meter:
            self._battery_meter.leave(part)

    def _participate(self, part: Participation, process: ParticipantProcess) -> ParticipantProcess:
        """Run a participation to its end, record how it ended, and return its status."""
        status = yield from process
        if self._forecaster is not None and status in ARRIVED:
            self._forecaster.knowledge.note_arrived(part.device)
        if status == RECEIVED and self.dispatcher.workload.dropped(part.device, part.version):
            status = LATE  # the update arrived, but the scenario drops what this straggler did
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
            # A round may have ended since that learned from an update of the device's before, and so freed it already.
            self._busy.discard(part.device)
            self.ledger.event(self.env.now, status, part.device, part.serving)
        return status

    # Ending a round

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        self.replay.pass_on(self._rounds.key)

    def aggregate(self, *, merge: bool = False) -> None:
        """End the round: learn from the updates that arrived, record the round, begin to evaluate its model."""
        now_s = self.env.now
        key = self._rounds.key
        parts = self._take_ended()
        arrived = [part for part in parts if part.status == RECEIVED]
        received = np.array([part.device for part in arrived], dtype=np.int64)
        self._busy -= set(received.tolist())
        carrier = self.dispatcher.over_the_air
        analog: AnalogSum | None = None
        if carrier is not None and arrived:
            analog = analog_sum(carrier, arrived)
        learned = self.replay.learn(received, key, self._rounds.ended, merge=merge, analog=analog)
        devices = self._close(parts, key)
        members = self._groups.members(key.session)
        population_columns, departed = self._population.end_round(members, self._last_end_s)
        row = {
            **self._accounts(key, parts, devices),
            **learned,
            **_failures(parts, devices),
            **population_columns,
            **self._report_columns(devices),
            **self._optional_columns(key, parts, merge=merge),
        }
        self._remember(self._tracker.close_round(device_reports(parts, devices, self.replay.losses, now_s)))
        self._without_effect = not parts and now_s == self._began_s
        self.ledger.event(now_s, "round_end")
        number = self.ledger.close_round(row, devices, traced=learned)
        self._last_end_s = now_s
        self._energy_j = row["energy_j"]
        self._forget_departed(departed)
        # From here on the counter stands at the next round, which may open a session and with it another group.
        self._rounds.end_round(row["arrivals"], row["present"])
        session_ends = self._rounds.key.session > key.session
        self.replay.evaluate(key, number, last=session_ends)
        if session_ends and self._groups.several and self._goes_on():
            self._change_groups(key.session)
        self._advice.end_round(self._rounds.ended, self.link.needless_s)

    def close(self) -> None:
        """Add the cost of participations that were cut off after the last round to that round."""
        parts = self._take_ended()
        last_row = self.ledger.last_row
        if not parts or last_row is None:
            return
        devices = self._close(parts, RoundKey(last_row["session"], last_row["round"]))
        spent = spent_j(devices)
        reports = self._report_columns(devices)
        load = {}
        if self._base_station_energy:
            load = self._base_station_energy.load(parts)
        self.ledger.add_to_last_round(
            {
                "selected": len(parts) - int(reports.get("csi_reports", 0)),
                "energy_j": spent,
                "round_energy_j": spent,
                "wasted_j": spent - reports.get("csi_energy_j", 0.0),
                "bytes_down": int(devices["bytes_down"].sum()),
                "bytes_up": int(devices["bytes_up"].sum()),
                **self._handovers(parts),
                **reports,
                **load,
            }
        )
        self.ledger.enter_participants(devices)

    def _remember(self, reports: DeviceReports) -> None:
        """Let the selection note what it has learned in the round that ends now."""
        selection = self._section.selection
        if not selection.memory_width:
            return
        view = self._tracker.view
        with watching_draws(selection, "remember"):
            memory = selection.remember(view.memory, reports, view)
        check_array(selection, "remember", memory, view.memory.shape, "a memory [devices, k]")
        self._tracker.keep(memory)

    def _take_ended(self) -> list[Participation]:
        """Return the reports and participations that have ended since the last round did, in order of their devices."""
        parts = sorted([*self._reports, *self._ended], key=lambda part: part.device)
        self._reports = []
        self._ended = []
        return parts

    def _close(self, parts: Sequence[Participation], key: RoundKey) -> DeviceColumns:
        """Close participations [n], whose round ends; return them as columns of devices.csv."""
        ids = np.array([part.device for part in parts], dtype=np.int64)
        # Clock and power are those of the participation: the device may have been told others since.
        cpu_hz = np.array([part.cpu_hz for part in parts])
        tx_power_w = np.array([part.tx_power_w for part in parts])
        powers_w = self.world.powers_w(ids, cpu_hz, tx_power_w)
        drx_tail_s = self.world.drx_tail_s[ids]
        for part in parts:
            part.close()
        if self._battery_meter is not None:
            # The meter comes first: it knows which devices ran out while they waited, and so when their waiting ended.
            self._battery_meter.close(parts)
        columns = device_columns(parts, key, self.env.now, powers_w, drx_tail_s)
        if self._battery_meter is not None:
            columns["battery_j"] = np.array([part.battery_j for part in parts])
            columns["battery_capacity_j"] = self._battery_meter.capacity_j(ids)
        if self._geometry and parts:
            columns |= geometry_columns(parts, self.link.pricing.budget)
        return columns

    def _change_groups(self, session: int) -> None:
        """Let the next session's group replace the present one; count arrivals and departures in the last round."""
        before = self._groups.members(session)
        after = self._groups.members(self._rounds.key.session)
        arrived, departed = self._population.change_groups(before, after, self._index)
        self.ledger.add_to_last_round({"arrivals": len(arrived), "departures": len(departed)})
        self._forget_departed(departed)

    def _forget_departed(self, ids: Ids) -> None:
        """Make departed devices lose their state, if the scenario says so; they will download all of it anew."""
        state = self._section.departed_state
        if state != "kept":
            self.dispatcher.forget(ids)
            self.replay.depart(ids, forget=state == "forgotten")

    # Columns of rounds.csv

    def _accounts(self, key: RoundKey, parts: Sequence[Participation], devices: DeviceColumns) -> dict[str, Any]:
        """Return the columns of a round's time, energy, participations and bytes."""
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
            "selected": sum(one not in NOT_CHOSEN for one in status),
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
        if self._section.policy.edge_models:  # each base station sends its model up and gets one back
            found["backhaul_bytes"] = 2 * self._cells * model_bytes if merge else 0
        if self._sessions.several:  # the server keeps models that later sessions may start from
            found["history_bytes"] = self._sessions.initialisation.stored_vectors(key.session) * model_bytes
        if self._section.policy.splits_model:  # the server computes its half of the model
            found["server_energy_j"] = self._section.power_w * sum(part.server_s for part in parts)
        found.update(self._handovers(parts))
        if self._base_station_energy:
            found.update(self._base_station_energy.columns(parts, self.env.now - self._last_end_s))
        if self._section.policy.exchanges:
            found["answered"] = sum(part.status == ANSWERED for part in parts)
        carrier = self.dispatcher.over_the_air
        if carrier is not None:
            found.update(sum_columns(carrier, [part for part in parts if part.status == RECEIVED]))
        if self._section.selection.polls:
            found["polled"] = sum(part.status == POLLED for part in parts)
        return found

    def _report_columns(self, devices: DeviceColumns) -> dict[str, float]:
        """Return the columns of reports on channels, in runs whose server asks for them."""
        if self._requests is None:
            return {}
        reports = devices["status"] == REPORTED
        return {"csi_reports": int(reports.sum()), "csi_energy_j": spent_j(devices, reports)}

    def _handovers(self, parts: Sequence[Participation]) -> dict[str, int]:
        """Return the columns of handovers and of links that failed, in runs that have them."""
        if not self.dispatcher.hands_over:
            return {}
        found = {"handovers": sum(len(part.handovers) for part in parts)}
        if self.dispatcher.links_fail:
            found["link_failures"] = sum(part.link_failures for part in parts)
        return found


def _failures(parts: Sequence[Participation], devices: DeviceColumns) -> dict[str, float]:
    """Return the columns of failed participations and of the energy spent without an update that was used."""
    failed = sum(part.status in FAILED for part in parts)
    unused = ~np.isin(devices["status"], (RECEIVED, *NOT_CHOSEN))
    return {"failed": failed, "wasted_j": spent_j(devices, unused)}
