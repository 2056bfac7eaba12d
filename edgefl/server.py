"""The server: the one place where world, link, learning and ledger meet, as SimPy processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import simpy

import channel
from edgefl.aggregator import Aggregator, Progress, Received
from edgefl.attendance import Attendance
from edgefl.device import compute_s
from edgefl.ledger import ENERGY_COLUMNS, Ledger
from edgefl.participation import FAILED, RECEIVED, Participation, Trip, columns, participations
from edgefl.payload import Payload, SplitPayload
from edgefl.protocols.base import DEPARTED
from edgefl.radio import Chain, Drop, Link, Peer
from edgefl.round_trip import RoundTrip
from edgefl.scenario import Place, Scenario
from edgefl.sessions import Groups
from edgefl.split import SplitTrip, course
from edgefl.streams import Streams
from edgefl.world import World

if TYPE_CHECKING:
    from edgefl.learner import Learner

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
WORTH_SAYING_S = 60.0  # wall-clock

log = logging.getLogger(__name__)


class Server:
    """Runs rounds as its policy says (see protocols.base.Coordinator).

    Args:
        scenario: the whole scenario.
        world: the devices.
        groups: of them, that take turns from session to session.
        link: the radio.
        payload: what a participant sends and computes.
        learner: trains; None prices the world without any learning.
        ledger: where finished rounds are entered.
        streams: keyed randomness.
        progress: called with each finished round's row.
        split: what a participant sends and computes where the model is cut in two; None where it is not.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        groups: Groups,
        link: Link,
        payload: Payload,
        learner: Learner | None,
        ledger: Ledger,
        streams: Streams,
        progress: Progress,
        split: SplitPayload | None = None,
    ) -> None:
        self.env = simpy.Environment()
        self.scenario, self.world, self.link, self.payload, self.split = scenario, world, link, payload, split
        self.ledger, self.streams, self.groups, self.sessions = ledger, streams, groups, scenario.in_sessions
        self.aggregator = Aggregator(scenario, learner, world.presence.chances, groups, ledger, streams, progress)
        self.chain = Chain(link)
        self._first_needless_s, self._advised = 0.0, False
        self._index = -1  # of the last selection, from 0
        self._busy: set[int] = set()  # devices under way, or whose update waits to be learned from
        self._equipped: set[int] = set()  # devices that have got what lasts for the session
        self._ended: list[Participation] = []  # since the last round's end
        self._vain = False  # whether the last round had no participants
        self.attendance = Attendance(self.env, world.presence, ledger, scenario.server.participants or 0)

    def running(self) -> bool:
        """Whether another round is to begin: rounds are left, and no stop condition holds."""
        stop, ledger = self.scenario.stop, self.ledger
        self.aggregator.settle(wait=stop.accuracy is not None)
        accuracy = ledger.rounds[-1]["test_accuracy"] if ledger.rounds else None
        reached = (
            (stop.time_s is not None and ledger.time_s >= stop.time_s)
            or (stop.energy_j is not None and ledger.energy_j >= stop.energy_j)
            or (stop.accuracy is not None and accuracy is not None and accuracy >= stop.accuracy)
        )
        return len(ledger.rounds) < self.sessions.total and not reached

    def ready(self) -> Generator[simpy.Event, Any, bool]:
        """Whether another round is to begin; where nobody could take part, when the next device has come.

        Raises:
            RunError: nobody is there, and nobody will ever come.
        """
        while self.running():
            someone = bool(self._busy) or len(self._there()) > 0
            wait_s = 0.0 if someone and not self._vain else self.attendance.arrival_s(someone=someone)
            if wait_s <= 0:
                return True
            self._vain = False
            self.ledger.event(self.env.now, "waiting")
            yield self.env.timeout(wait_s)
        return False

    def _there(self) -> Ids:
        """Devices that the next round can ask, or could, were they not busy."""
        there = self.world.present(self.env.now, self._index + 1)
        return there[self.groups.there(self.place.session)[there]]

    @property
    def place(self) -> Place:
        """Of the round that is under way, or the next to begin."""
        return self.sessions.place(len(self.ledger.rounds))

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""
        return self.world.count if self.place.extra else self.scenario.participants

    @property
    def model_bits(self) -> float:
        """Bits of a model, as participants download it."""
        return self.payload.model_bits

    @property
    def deadline_s(self) -> float:
        """The longest waiting time; without end where there is none."""
        return self.scenario.server.deadline_s or float("inf")

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        """Begin a round, or `refill` one, by choosing devices. Those that are busy are left out.

        In an extra round of a session everybody takes part.
        """
        place = self.place
        free = there = self._there()
        if self._busy:
            free = there[~np.isin(there, list(self._busy))]
        wanted = min(self.participants if count is None else count, len(free))
        if refill and wanted == 0:
            return free[:0]
        self._index += 1
        if not refill:
            self.ledger.event(self.env.now, "round_start")
            self.attendance.enter(len(there))
            self.aggregator.enter(place)
            if self.sessions.begins(place):
                self._equipped.clear()
        if wanted == 0:
            return free[:0]
        if place.extra:
            return free
        return self.scenario.server.selection.choose(free, wanted, self._index, self.streams)

    def dispatch(self, ids: Ids, successor: int | None = None) -> list[simpy.Process]:
        """Send the model to the participants: one process each. Interrupting one cuts its part in the round short."""
        return self._begin(self.aggregator.admit(ids, self._index), self.aggregator.sent(), successor)

    def _begin(self, ids: Ids, models: list[Received] | None, successor: int | None) -> list[simpy.Process]:
        """Begin the parts of some devices, each with the model of its cell."""
        world, now_s = self.world, self.env.now
        if not len(ids):
            return []
        ordered = np.sort(ids)
        positions = world.positions_m(ordered, now_s)
        drop = self.link.drop(ordered, positions, world.height_m[ordered], self._index)
        parts = participations(drop, positions, len(self.ledger.rounds))
        trip = self._trips(drop, None if successor is None else self._peer(ordered, positions, successor))
        self._busy.update(ordered.tolist())
        part_of = {part.device: part for part in parts}
        processes = [
            self.env.process(self._participate(part, trip(part), models[part.cell] if models else None))
            for part in (part_of[int(device)] for device in ids)
        ]
        if self.scenario.server.on_departure == "lost":
            self.attendance.watch(processes, ids)
        return processes

    def _trips(self, drop: Drop, peer: Peer | None) -> Callable[[Participation], Trip]:
        """What devices that begin together do: a model goes down, is trained and goes up, or is trained in halves."""
        world, payload, ids = self.world, self.payload, drop.ids
        radio = self.env, drop, world.speeds_mps(ids, self.env.now), channel.units.dbm_to_w(world.tx_power_dbm[ids])
        if self.split is not None:
            rates = (world.cpu_hz[ids] * world.flops_per_cycle[ids]).tolist()
            server = self.scenario.server.flops_per_s or float("inf")
            courses = [course(self.split, *each, server) for each in zip(ids.tolist(), rates, strict=True)]
            exchange = self.link.exchange(*radio, [each.turns for each in courses], self._index)
            return SplitTrip(self.env, self.ledger, exchange, courses)
        computing_s = compute_s(payload.flops[ids], world.cpu_hz[ids], world.flops_per_cycle[ids])
        carrier = self.chain.open(*radio, computing_s, (self._down_bits(ids), payload.up_bits), self._index, peer)
        return RoundTrip(self.env, self.ledger, carrier, computing_s)

    def _down_bits(self, ids: Ids) -> Floats | float:
        """What devices [n] download: more where one has still to get what lasts for the session."""
        payload = self.payload
        if not payload.once_bits:
            return payload.down_bits
        return np.where(np.isin(ids, list(self._equipped)), 0.0, payload.once_bits) + payload.down_bits

    def _peer(self, ids: Ids, positions_m: Floats, successor: int) -> Peer:
        """The device that gets the model after these."""
        world, peer = self.world, np.array([successor])
        away_m = np.linalg.norm(positions_m - world.positions_m(peer, self.env.now), axis=1)
        distance_m = channel.geometry.distance_3d_m(away_m, world.height_m[ids], world.height_m[peer])
        return Peer(distance_m, world.speeds_mps(peer, self.env.now))

    def _participate(self, part: Participation, trip: Trip, model: Received | None) -> Trip:
        """A device's part, to whatever end."""
        part.status = yield from trip
        part.end_s = self.env.now
        self._ended.append(part)
        if part.down.delivered:
            self._equipped.add(part.device)
        if part.status == RECEIVED:
            self.aggregator.submit(part, model)
        else:
            self._busy.remove(part.device)
            self.ledger.event(self.env.now, part.status, part.device, part.cell)
        return part.status

    def received(self) -> int:
        """How many updates wait to be learned from."""
        return sum(part.status == RECEIVED for part in self._ended)

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        self.aggregator.pass_on()

    def aggregate(self, *, merge: bool = False) -> None:
        """End the round: learn from what has arrived, evaluate, enter it into the ledger."""
        place = self.place
        parts = sorted(self._ended, key=lambda part: part.device)
        received = [part for part in parts if part.status == RECEIVED]
        self._ended, self._busy = [], self._busy - {part.device for part in received}
        learned = self.aggregator.learn(received, place, merge=merge)
        previous, status = self.ledger, [part.status for part in parts]
        devices = self._columns(parts, place)
        spent_j = _spent_j(devices)
        row = {
            "session": place.session,
            "round": place.round,
            "time_s": self.env.now,
            "duration_s": self.env.now - previous.time_s,
            "energy_j": previous.energy_j + spent_j,
            "round_energy_j": spent_j,
            "selected": len(parts),
            "received": status.count(RECEIVED),
            "late": status.count("late"),
            "departed": status.count(DEPARTED),
            "bytes_down": int(devices["bytes_down"].sum()),
            "bytes_up": int(devices["bytes_up"].sum()),
            **learned,
            "failed": sum(map(status.count, FAILED)),
            "wasted_j": _spent_j(devices, devices["status"] != RECEIVED),
            **self.attendance.leave(),
            **self._backhaul(merge=merge),
            **self._history(place),
            **self._computing(parts),
        }
        self._vain = not parts
        self.ledger.event(self.env.now, "round_end")
        self.ledger.close_round(row, devices)
        self.aggregator.evaluate(row)
        self._advise()

    def _computing(self, parts: list[Participation]) -> dict[str, float]:
        """What the server has spent on its half of the model, where it has one."""
        spent_s = sum(part.server_s for part in parts)
        return {} if self.split is None else {"server_energy_j": self.scenario.server.power_w * spent_s}

    def _history(self, place: Place) -> dict[str, int]:
        """Bytes that the server keeps for the starts of sessions to come, where there are several."""
        kept = self.sessions.initialisation.stored(place.session)
        return {"history_bytes": kept * int(self.model_bits / 8)} if self.sessions.count > 1 else {}

    def close(self) -> None:
        """Enter what has been cut short since the last round ended into that round: its cost, nothing to learn from."""
        parts, self._ended = sorted(self._ended, key=lambda part: part.device), []
        if not parts or not self.ledger.rounds:
            return
        row = self.ledger.rounds[-1]
        devices = self._columns(parts, Place(row["session"], row["round"]))
        spent = {name: _spent_j(devices) for name in ("energy_j", "round_energy_j", "wasted_j")}
        sent = {name: int(devices[name].sum()) for name in ("bytes_down", "bytes_up")}
        row.update({name: row[name] + more for name, more in {"selected": len(parts), **spent, **sent}.items()})
        self.ledger.add(devices)

    def _columns(self, parts: list[Participation], place: Place) -> dict[str, npt.NDArray[Any]]:
        """Parts that have ended, in order of their devices, as columns of devices.csv."""
        ids = np.array([part.device for part in parts], dtype=np.int64)
        return columns(parts, *place, self.env.now, self.world.powers_w(ids))

    def _advise(self) -> None:
        """Say once that the fast engine would save more than a minute of the rounds to come."""
        done, needless_s = len(self.ledger.rounds), self.link.engine.needless_s
        if done == 1:
            self._first_needless_s = needless_s  # compiling and warming up say nothing about the rest
        elif not self._advised:
            left_s = (needless_s - self._first_needless_s) / (done - 1) * (self.sessions.total - done)
            self._advised = left_s > WORTH_SAYING_S
            if self._advised:
                log.warning("radio.transfer: fast would save about %.0f s of the rounds to come", left_s)

    def _backhaul(self, *, merge: bool) -> dict[str, int]:
        """Bytes between base stations and a cloud in a round, where there is one: a model up and down for each."""
        if not self.scenario.server.policy.edges:
            return {}
        return {"backhaul_bytes": 2 * self.scenario.cells.sites * int(self.model_bits / 8) if merge else 0}


def _spent_j(devices: Mapping[str, npt.NDArray[Any]], which: npt.NDArray[np.bool_] | slice = slice(None)) -> float:
    """Energy of parts, or of some of them, from their columns of devices.csv."""
    return float(sum(devices[name][which].sum() for name in ENERGY_COLUMNS))
