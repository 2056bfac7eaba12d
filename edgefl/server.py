"""The server: the one place where world, link, learner and ledger meet, as SimPy processes."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import simpy

import channel
from edgefl.account import FAILED, RECEIVED, Account
from edgefl.device import compute_j, compute_s
from edgefl.ledger import ENERGY_COLUMNS, Ledger
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
        self.state = scenario.algorithm.server_state(learner.initial) if learner else {}
        self.learning_s = 0.0  # wall-clock
        self._first_needless_s, self._advised = 0.0, False
        self._index = -1  # of the running round, from 0
        self._account: Account  # of the running round
        self._model: Any = None  # what this round's participants start from
        self._received: Mapping[str, Any] = {}  # and get besides
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

    def select(self) -> Ids:
        """Begin a round."""
        self._index += 1
        self.ledger.event(self.env.now, "round_start")
        present = self.world.present(self.env.now)
        section = self.scenario.server
        return section.selection.choose(present, self.scenario.participants, self._index, self.streams)

    def dispatch(self, ids: Ids) -> list[simpy.Process]:
        """Send the model to the participants: one process each. Interrupting one cuts its part in the round short."""
        world, payload, now_s = self.world, self.payload, self.env.now
        if self.learner:
            self._model = self.scenario.algorithm.broadcast(self.state)
            self._received = self.scenario.algorithm.downlink(self.state)
        ordered = np.sort(ids)
        positions = world.positions_m(ordered, now_s)
        drop = self.link.drop(ordered, positions, world.height_m[ordered], self._index)
        self._account = Account(drop, positions)
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
        row_of = {int(device): row for row, device in enumerate(ordered)}
        parts = [(row_of[int(device)], carrier, float(computing_s[row_of[int(device)]])) for device in ids]
        return [self.env.process(self._participate(*part)) for part in parts]

    def _participate(self, row: int, carrier: Carrier, computing_s: float) -> Generator[simpy.Event, Any, None]:
        """A participant's part in a round."""
        account = self._account
        status = yield from self._round_trip(row, carrier, computing_s)
        account.close(row, status, self.env.now)
        if status != RECEIVED:
            self.ledger.event(self.env.now, status, *account.who[row])

    def _round_trip(self, row: int, carrier: Carrier, computing_s: float) -> Generator[simpy.Event, Any, str]:
        """Download, train, upload; how it ended."""
        account, env, index = self._account, self.env, self._index
        who = account.who[row]
        job = None if self.learner is None else (who[0], index, self._model, self._received)
        leg = yield from carrier.download(row)
        account.down[row] = leg
        if not leg.delivered:
            return leg.cut or "download_failed"
        self.ledger.event(env.now, "download_end", *who)
        began_s = env.now
        try:
            yield env.timeout(computing_s)
        except simpy.Interrupt as cut:
            account.compute_s[row] = env.now - began_s
            return str(cut.cause)
        account.compute_s[row] = computing_s
        self.ledger.event(env.now, "compute_end", *who)
        leg = yield from carrier.upload(row)
        account.up[row] = leg
        if not leg.delivered:
            return leg.cut or "upload_failed"
        self.ledger.event(env.now, "upload_end", *who)
        if self.learner is not None and job is not None:  # nothing is computed before a result is needed
            self.learner.submit(*job)
        return RECEIVED

    def aggregate(self) -> None:
        """End the round: learn from what has arrived, evaluate, enter it into the ledger."""
        began = time.perf_counter()
        learned, evaluation = self._learn()
        self.learning_s += time.perf_counter() - began
        account, previous = self._account, self.ledger
        columns = account.columns(SESSION, self._index + 1, self.env.now, self._powers_w(account.drop.ids))
        spent_j = float(sum(columns[name].sum() for name in ENERGY_COLUMNS))
        row = {
            "session": SESSION,
            "round": self._index + 1,
            "time_s": self.env.now,
            "duration_s": self.env.now - previous.time_s,
            "energy_j": previous.energy_j + spent_j,
            "round_energy_j": spent_j,
            "selected": len(account.status),
            "received": account.count(RECEIVED),
            "late": account.count("late"),
            "departed": account.count("departed"),
            "bytes_down": int(columns["bytes_down"].sum()),
            "bytes_up": int(columns["bytes_up"].sum()),
            **learned,
            "failed": account.count(*FAILED),
        }
        self.ledger.event(self.env.now, "round_end")
        self.ledger.close_round(row, columns)
        self._open.append((row, evaluation))
        self._advise()

    def _advise(self) -> None:
        """Say once that the fast engine would save more than a minute of the rounds to come."""
        done, needless_s = self._index + 1, self.link.engine.needless_s
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

    def _learn(self) -> tuple[dict[str, float | None], Pending | None]:
        """Train and aggregate, and have the result evaluated in the background; the learning columns of the round."""
        columns: dict[str, float | None] = {"train_loss": None, "test_loss": None, "test_accuracy": None}
        if self.learner is None:
            return columns, None
        train_loss: float | None = None
        if self._account.count(RECEIVED):
            updates, train_loss = self.learner.collect()
            self.state = self.learner.aggregate(self.state, updates)
        number, section = self._index + 1, self.scenario
        wanted = number % section.report.eval_every == 0 or number == section.rounds
        return {**columns, "train_loss": train_loss}, self.learner.evaluate(self.state["w"]) if wanted else None

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
