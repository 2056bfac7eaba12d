"""The server: the one place where world, link, learner and ledger meet, as SimPy processes."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import simpy

import channel
from edgefl.device import compute_j, compute_s
from edgefl.ledger import ENERGY_COLUMNS, Ledger
from edgefl.participation import FAILED, RECEIVED, Participation, columns, participations
from edgefl.payload import Payload
from edgefl.radio import Carrier, Link
from edgefl.scenario import Scenario
from edgefl.streams import Streams
from edgefl.world import World

if TYPE_CHECKING:
    from edgefl.learner import Learner, Pending

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Progress = Callable[[Mapping[str, Any]], None]
Received = tuple[Any, Mapping[str, Any], Any]  # a model, what comes with it, and batch normalisation's statistics
SESSION = 1
WORTH_SAYING_S = 60.0  # wall-clock

log = logging.getLogger(__name__)


class Server:
    """Runs rounds as its policy says (see protocols.base.Coordinator).

    Args:
        scenario: the whole scenario.
        world: the devices.
        link: the radio.
        payload: what a participant sends and computes.
        learner: trains; None prices the world without any learning.
        ledger: where finished rounds are entered.
        streams: keyed randomness.
        progress: called with each finished round's row.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        link: Link,
        payload: Payload,
        learner: Learner | None,
        ledger: Ledger,
        streams: Streams,
        progress: Progress,
    ) -> None:
        self.env = simpy.Environment()
        self.scenario, self.world, self.link, self.payload = scenario, world, link, payload
        self.learner, self.ledger, self.streams, self.progress = learner, ledger, streams, progress
        expected = scenario.server.selection.expected(scenario.participants, scenario.devices.count)
        self.state = learner.begin(scenario.rounds, expected) if learner else {}
        self.learning_s = 0.0  # wall-clock
        self._first_needless_s, self._advised = 0.0, False
        self._index = -1  # of the last selection, from 0
        self._busy: set[int] = set()  # devices under way, or whose update waits to be learned from
        self._ended: list[Participation] = []  # since the last round's end
        self._walk: list[tuple[Any, float, int]] = []  # a model from device to device, with training loss and samples
        self._open: deque[tuple[dict[str, Any], Pending | None]] = deque()  # rounds whose evaluation is under way

    def running(self) -> bool:
        """Whether another round is to begin: rounds are left, and no stop condition holds."""
        stop, ledger = self.scenario.stop, self.ledger
        self._settle(wait=stop.accuracy is not None)
        accuracy = ledger.rounds[-1]["test_accuracy"] if ledger.rounds else None
        reached = (
            (stop.time_s is not None and ledger.time_s >= stop.time_s)
            or (stop.energy_j is not None and ledger.energy_j >= stop.energy_j)
            or (stop.accuracy is not None and accuracy is not None and accuracy >= stop.accuracy)
        )
        return len(ledger.rounds) < self.scenario.rounds and not reached

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""
        return self.scenario.participants

    @property
    def deadline_s(self) -> float:
        """The longest waiting time; without end where there is none."""
        return self.scenario.server.deadline_s or float("inf")

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        """Begin a round, or `refill` one, by choosing devices. Those that are busy are left out."""
        free = self.world.present(self.env.now)
        if self._busy:
            free = free[~np.isin(free, list(self._busy))]
        wanted = min(self.participants if count is None else count, len(free))
        if refill and wanted == 0:
            return free[:0]
        self._index += 1
        if not refill:
            self.ledger.event(self.env.now, "round_start")
        if wanted == 0:
            return free[:0]
        return self.scenario.server.selection.choose(free, wanted, self._index, self.streams)

    def dispatch(self, ids: Ids) -> list[simpy.Process]:
        """Send the model to the participants: one process each. Interrupting one cuts its part in the round short."""
        ids = self.scenario.algorithm.admit(ids, self.streams.generator("selection", 0, self._index))
        if self.learner is None:
            return self._begin(ids, None)
        received = self._model(), self.scenario.algorithm.downlink(self.state), self.learner.statistics
        return self._begin(ids, received)

    def _model(self) -> Any:
        """What the next device starts from."""
        return self._walk[-1][0] if self._walk else self.scenario.algorithm.broadcast(self.state)

    def _begin(self, ids: Ids, model: Received | None) -> list[simpy.Process]:
        """Begin the parts of some devices, all with this model."""
        world, payload, now_s = self.world, self.payload, self.env.now
        if not len(ids):
            return []
        ordered = np.sort(ids)
        positions = world.positions_m(ordered, now_s)
        drop = self.link.drop(ordered, positions, world.height_m[ordered], self._index)
        parts = participations(drop, positions, len(self.ledger.rounds))
        computing_s = compute_s(payload.flops[ordered], world.cpu_hz[ordered], world.flops_per_cycle[ordered])
        carrier = self.link.open(
            self.env,
            drop,
            world.speed_mps[ordered],
            channel.units.dbm_to_w(world.tx_power_dbm[ordered]),
            computing_s,
            (payload.down_bits, payload.up_bits),
            self._index,
        )
        self._busy.update(ordered.tolist())
        part_of = {part.device: part for part in parts}
        return [
            self.env.process(self._participate(part, carrier, float(computing_s[part.row]), model))
            for part in (part_of[int(device)] for device in ids)
        ]

    def _participate(
        self, part: Participation, carrier: Carrier, computing_s: float, model: Received | None
    ) -> Generator[simpy.Event, Any, None]:
        """A device's part, to whatever end."""
        part.status = yield from self._round_trip(part, carrier, computing_s)
        part.end_s = self.env.now
        self._ended.append(part)
        if part.status == RECEIVED and self.learner is not None and model is not None:
            self.learner.submit(part.device, part.version, *model)  # nothing is computed before a result is needed
        if part.status != RECEIVED:
            self._busy.remove(part.device)
            self.ledger.event(self.env.now, part.status, part.device, part.cell)

    def _round_trip(
        self, part: Participation, carrier: Carrier, computing_s: float
    ) -> Generator[simpy.Event, Any, str]:
        """Download, train, upload; how it ended."""
        env, who = self.env, (part.device, part.cell)
        leg = part.down = yield from carrier.download(part.row)
        if not leg.delivered:
            return leg.cut or "download_failed"
        self.ledger.event(env.now, "download_end", *who)
        began_s = env.now
        try:
            yield env.timeout(computing_s)
        except simpy.Interrupt as cut:
            part.compute_s = env.now - began_s
            return str(cut.cause)
        part.compute_s = computing_s
        self.ledger.event(env.now, "compute_end", *who)
        leg = part.up = yield from carrier.upload(part.row)
        if not leg.delivered:
            return leg.cut or "upload_failed"
        self.ledger.event(env.now, "upload_end", *who)
        return RECEIVED

    def received(self) -> int:
        """How many updates wait to be learned from."""
        return sum(part.status == RECEIVED for part in self._ended)

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        if self.learner is None or not self.learner.waiting:
            return
        updates, loss = self.learner.collect()
        self._walk.append((self._model() + updates.vectors["delta"][0], loss, int(updates.samples[0])))

    def aggregate(self) -> None:
        """End the round: learn from what has arrived, evaluate, enter it into the ledger."""
        began, number = time.perf_counter(), len(self.ledger.rounds) + 1
        parts = sorted(self._ended, key=lambda part: part.device)
        self._ended, self._busy = [], self._busy - {part.device for part in parts if part.status == RECEIVED}
        learned, evaluation = self._learn([part for part in parts if part.status == RECEIVED], number)
        self.learning_s += time.perf_counter() - began
        previous, status = self.ledger, [part.status for part in parts]
        ids = np.array([part.device for part in parts], dtype=np.int64)
        devices = columns(parts, SESSION, number, self.env.now, self._powers_w(ids))
        spent_j = float(sum(devices[name].sum() for name in ENERGY_COLUMNS))
        row = {
            "session": SESSION,
            "round": number,
            "time_s": self.env.now,
            "duration_s": self.env.now - previous.time_s,
            "energy_j": previous.energy_j + spent_j,
            "round_energy_j": spent_j,
            "selected": len(parts),
            "received": status.count(RECEIVED),
            "late": status.count("late"),
            "departed": status.count("departed"),
            "bytes_down": int(devices["bytes_down"].sum()),
            "bytes_up": int(devices["bytes_up"].sum()),
            **learned,
            "failed": sum(map(status.count, FAILED)),
        }
        self.ledger.event(self.env.now, "round_end")
        self.ledger.close_round(row, devices)
        self._open.append((row, evaluation))
        self._advise()

    def _advise(self) -> None:
        """Say once that the fast engine would save more than a minute of the rounds to come."""
        done, needless_s = len(self.ledger.rounds), self.link.engine.needless_s
        if done == 1:
            self._first_needless_s = needless_s  # compiling and warming up say nothing about the rest
        elif not self._advised:
            left_s = (needless_s - self._first_needless_s) / (done - 1) * (self.scenario.rounds - done)
            self._advised = left_s > WORTH_SAYING_S
            if self._advised:
                log.warning("radio.transfer: fast would save about %.0f s of the rounds to come", left_s)

    def _powers_w(self, ids: Ids) -> dict[str, Floats]:
        """What devices [n] draw while they receive, compute, send and wait (eq. 27, 28, 42)."""
        world, flops = self.world, np.ones(len(ids))
        cpu = flops, world.cpu_hz[ids], world.flops_per_cycle[ids]
        return {
            "rx": world.rx_power_w[ids],
            "cpu": compute_j(*cpu, world.capacitance[ids]) / compute_s(*cpu),
            "tx": channel.units.dbm_to_w(world.tx_power_dbm[ids]),
            "idle": world.idle_power_w[ids],
        }

    def _learn(self, parts: list[Participation], number: int) -> tuple[dict[str, float | None], Pending | None]:
        """Train and aggregate, and have the result evaluated in the background; the learning columns of the round."""
        learned: dict[str, float | None] = {"train_loss": None, "test_loss": None, "test_accuracy": None}
        if self.learner is None:
            return learned, None
        if self._walk:
            models, losses, samples = zip(*self._walk, strict=True)
            self.state, self._walk = {**self.state, "w": models[-1]}, []
            learned["train_loss"] = float(np.average(losses, weights=samples))
        elif parts:
            updates, learned["train_loss"] = self.learner.collect()
            staleness = np.array([number - 1 - part.version for part in parts])
            updates = replace(updates, staleness=staleness)
            self.state = self.learner.aggregate(self.state, updates)
            learned |= self.scenario.algorithm.trace(self.state, updates)
        section = self.scenario
        wanted = number % section.report.eval_every == 0 or number == section.rounds
        return learned, self.learner.evaluate(self.state["w"]) if wanted else None

    def _settle(self, *, wait: bool) -> None:
        """Enter evaluations that are ready, or all of them, into their rounds, in order."""
        began = time.perf_counter()
        while self._open and (wait or (evaluation := self._open[0][1]) is None or evaluation.done()):
            row, evaluation = self._open.popleft()
            if evaluation is not None:
                _enter(row, evaluation)
            self.progress(row)
        self.learning_s += time.perf_counter() - began

    def finish(self) -> Floats | None:
        """Wait for all evaluations, of which the last round always has one; the final model's accuracy by device."""
        self._settle(wait=True)
        rounds = self.ledger.rounds
        if self.learner is None:
            return None
        try:
            if rounds and rounds[-1]["test_loss"] is None:
                _enter(rounds[-1], self.learner.evaluate(self.state["w"]))
            return self.learner.device_accuracies(self.state["w"]) if rounds else None
        finally:
            self.learner.close()


def _enter(row: dict[str, Any], evaluation: Pending) -> None:
    test = evaluation.result()
    row.update({"test_loss": test.loss, "test_accuracy": test.accuracy, **test.extra})
