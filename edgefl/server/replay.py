"""The server's side of learning: it replays the record, or lets the global model learn."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.errors import RunError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.record import Pace, Record
from edgefl.learning.report_section import ReportSection
from edgefl.learning.trained_model import TrainedModel
from edgefl.records.ledger import Ledger
from edgefl.scenario import RoundKey, Sessions
from edgefl.server.best_model import BestModel
from edgefl.server.commands import (
    Arrival,
    Change,
    Command,
    Depart,
    Enter,
    Forget,
    Learn,
    PassOn,
    Redivide,
    Send,
)
from edgefl.server.evaluation import NO_TEST, TENSORS, Evaluation, ModelTest, RoundListener, TestedRound
from edgefl.server.global_model import NOT_EVALUATED, GlobalModel
from edgefl.server.measured_round import tables_of
from edgefl.server.participation import Participation

log = logging.getLogger(__name__)

Keeping = tuple[Record, Pace]  # what has been learned before, and when states are put on record
NO_IDS: Ids = np.empty(0, dtype=np.int64)


@dataclass(kw_only=True, eq=False)
class Replay:
    """Replays the record, or lets the global model learn.

    Only commands change the global model, and outcomes are on record under a digest of all commands so far. While every
    outcome is on record, no model is built and nothing is learned. At the first outcome that is not, the last recorded
    state is restored, and the commands that came after it are applied to it.
    """

    # Builds the initial global model; None: the world is only priced, and nothing is learned
    build: Callable[[], GlobalModel] | None
    algorithm: Algorithm  # decides which devices take part and are awaited, also if nothing is learned
    sessions: Sessions  # when a session begins
    devices: int  # number of devices
    report: ReportSection  # the section `report` of the scenario: when models are evaluated, and what else is measured
    ledger: Ledger  # records evaluations and measurements
    streams: Streams
    progress: RoundListener  # called with each round's row once its evaluation is finished
    compared_by: str  # the column of rounds.csv to compare models by
    edge_models: bool  # whether each base station has a model of its own
    sectors: int  # of each base station, whose cells share its model
    learning_rates: str  # the keys that set a learning rate, as messages name them
    # What has been learned before, and when states are put on record; None keeps nothing
    keeping: Keeping | None = None
    base: str = ""  # a digest of all that learning depends on besides commands; the key before the first command

    def __post_init__(self) -> None:
        self._key = self.base  # digest of all commands so far
        self._tables = tables_of(self.report)
        self._record = Record()  # a record that keeps nothing
        self._pace: Pace | None = None
        if self.keeping is not None:
            self._record, self._pace = self.keeping
        self._model: GlobalModel | None = None  # None while all outcomes are on record
        self._stage = 0  # number of commands so far
        self._last_command: Command | None = None
        self._postponed: list[tuple[str, Command]] = []  # commands not yet applied to a model, with the key after each
        self._in_flight: dict[int, int] = {}  # by device: the stage of the model it received
        self._arrived: list[Arrival] = []  # updates that arrived since a command last took them
        self.best: BestModel | None = None  # the best evaluated model; None: the report does not ask for it
        if self.report.best_model:
            self.best = BestModel(self.compared_by, self._record)
        self._evaluation = Evaluation(
            every=self.report.eval_every,
            sessions=self.sessions,
            learning_rates=self.learning_rates,
            ledger=self.ledger,
            record=self._record,
            progress=self.progress,
            best=self.best,
        )
        self._learned_from: set[int] = set()  # devices whose update arrived since they last left
        self.losses: dict[int, float] = {}  # training losses of the last round, by device
        self.learning_s = 0.0  # wall-clock time spent on learning
        self._nesting = 0  # depth of calls whose wall-clock time is measured
        self._awaited = NO_IDS  # devices that the algorithm waits for before it changes the model
        self._await(NO_IDS, 0)

    @property
    def best_key(self) -> str | None:
        """The key under which the best model is on record, if the report asks for it and there is one."""
        if self.best is None:
            return None
        return self.best.key

    @property
    def key(self) -> str:
        """Return the digest of all commands so far: runs with equal keys have learned the same."""
        return self._key

    # Participants

    def admit(self, ids: Ids, index: int) -> Ids:
        """Return the devices that the algorithm admits, of those [n] that selection `index` chose."""
        rng = self.streams.generator("selection", 0, index)
        return self.algorithm.admit(ids, {"awaited": self._awaited}, rng)

    def _await(self, received: Ids, number: int) -> None:
        """Let the algorithm decide which devices the next model waits for, after updates of `received` have arrived."""
        rng = self.streams.generator("awaited", 0, number)
        self._awaited = self.algorithm.awaited(self._awaited, received, self.devices, rng)

    # Events of a round

    def enter(self, round_key: RoundKey, number: int) -> None:
        """Begin a round after `number` aggregations; a session's first round begins with the session's own model."""
        self.losses = {}
        if self.sessions.several:
            self._command(Enter(round_key, number))

    def redivide(self, ids: Ids, number: int) -> None:
        """Divide the samples of the round's participants [n], ascending, again after `number` aggregations."""
        self._command(Redivide(number, tuple(ids.tolist())))

    def change(self, changes: int) -> None:
        """Change the data of devices, for the `changes`-th time."""
        self._command(Change(changes))

    def send(self, ids: Ids, round_key: RoundKey) -> None:
        """Send the present model to devices [n]."""
        self._in_flight |= dict.fromkeys(ids.tolist(), self._stage)
        if self.build is not None:
            # Sending is not part of the digest: arrivals already say which devices learn from this model.
            self._give(Send(self._stage, round_key))

    def submit(self, part: Participation) -> None:
        """Note that an update has arrived; it is trained only when a result is needed."""
        # Unless base stations have models of their own, all cells receive one model. Then cells stay out of the digest,
        # so that runs with different cells share what they learn.
        site = part.cell // self.sectors if self.edge_models else 0
        self._arrived.append(Arrival(part.device, site, self._in_flight.pop(part.device), part.version))

    def lose(self, device: int) -> None:
        """Note that a device's update will never arrive."""
        self._in_flight.pop(device, None)

    def pass_on(self, round_key: RoundKey) -> None:
        """Let the next device receive the model that has just arrived, without averaging."""
        if self._arrived:
            self._command(PassOn(round_key, self._take_arrived()))

    def learn(self, received: Ids, round_key: RoundKey, number: int, *, merge: bool) -> dict[str, Any]:
        """End a round, the `number`-th from 0: train and aggregate; return its learning columns before the test.

        Args:
            received: [n] the devices whose updates have arrived, ascending.
            round_key: the round.
            number: number of aggregations before.
            merge: whether the cloud averages the models of the base stations.
        """
        awaited = tuple(self._awaited.tolist())
        outcome = self._command(Learn(round_key, number, self._take_arrived(), awaited, merge))
        if self.build is not None:
            self._give(Forget(frozenset(self._in_flight.values())))
        self.losses |= dict(outcome.get("losses", ()))
        for name, table in self._tables.items():
            self.ledger.enter_rows(table, *round_key, outcome.get(name, ()))
        self._learned_from.update(received.tolist())
        self._await(received, number + 1)
        return dict(outcome["columns"])

    def depart(self, ids: Ids, *, forget: bool) -> None:
        """Note that devices have left and lost their state; with `forget` the server drops them from its state, too."""
        departed = self._learned_from & set(ids.tolist())
        if departed:
            self._learned_from -= departed
            self._command(Depart(tuple(sorted(departed)), forget))

    def _take_arrived(self) -> tuple[Arrival, ...]:
        """Return the updates that have arrived, in order of their devices, and begin a new list."""
        arrived = tuple(sorted(self._arrived))
        self._arrived = []
        return arrived

    # Commands

    def _command(self, command: Command) -> Any:
        """Change the model by a command that counts in the key; return its outcome."""
        if self.build is None:
            return {"columns": NOT_EVALUATED}
        text = json.dumps([self._key, type(command).__name__, vars(command)], default=vars)
        self._key = hashlib.sha256(text.encode()).hexdigest()
        self._stage += 1
        self._last_command = command
        try:
            return self._give(command)
        except RunError:
            self.settle(wait=True)  # a test in the background may find that an earlier model had diverged already
            raise

    def _give(self, command: Command) -> Any:
        """Return the outcome of a command: from the record if it is there, otherwise from the model.

        While no model is built, commands are postponed. Only `Learn` has an outcome.
        """
        has_outcome = isinstance(command, Learn)
        recorded = self._record.outcome(self._key) if has_outcome else None
        if self._model is None and (recorded is not None or not has_outcome):
            self._postponed.append((self._key, command))
            return recorded
        key = self._key
        with self._measured():
            outcome = self.model.apply(command)
        if has_outcome:
            self._record.note(key, outcome)
        return outcome

    @property
    def model(self) -> GlobalModel:
        """The global model after all commands; if there is none yet, it is built or restored from the record.

        Raises:
            ValueError: nothing is learned.
        """
        if self.build is None:
            raise ValueError("nothing is learned in this run")
        if self._model is None:
            self._model = self.build()
            left = self._since_the_last_state(self._model)
            rounds = [command for _, command in self._postponed if isinstance(command, Learn)]
            if rounds:
                again = sum(isinstance(command, Learn) for _, command in left)
                log.info("record: has %d rounds; the last %d of them are learned again", len(rounds), again)
            for _, command in left:
                self._model.apply(command)
            self._postponed = []
        return self._model

    def _since_the_last_state(self, model: GlobalModel) -> list[tuple[str, Command]]:
        """Restore the last recorded state, if there is one; return the postponed commands that came after it."""
        for place in reversed(range(len(self._postponed))):
            key, command = self._postponed[place]
            # States are saved between two rounds, so after one of these commands. `Forget` follows `Learn` under the
            # same key; applying it once more changes nothing.
            if isinstance(command, (Learn, Depart)) and self._record.restore(key, model.restore):
                return self._postponed[place + 1 :]
        return self._postponed

    def prepare(self) -> None:
        """Build the model now, if anything is learned."""
        if self.build is not None:
            self._model = self.model

    def give_up(self) -> None:
        """Learn nothing more, if nothing has been learned so far."""
        if self._model is None:
            self.build = None

    # Results

    def described(self) -> dict[str, object] | None:
        """Return how devices' updates are trained, for the manifest; None if none has been trained."""
        if self._model is None:
            return None
        return self._model.learner.described()

    def trained(self) -> TrainedModel | None:
        """Return the present model as evaluations use it, and put it on record; None without learning."""
        if self.build is None:
            return None
        key = f"{self._key}/{TENSORS}"
        found: list[TrainedModel] = []

        def load(file: BinaryIO) -> None:
            found.append(TrainedModel.from_bytes(file.read()))

        if self._model is None and self._record.restore(key, load):
            return found[0]
        trained = self.model.trained()

        def write(file: BinaryIO) -> None:
            file.write(trained.to_bytes())

        self._record.save(key, write, lasting=True)
        return trained

    def losses_of(self, ids: Ids, samples: Ids, index: int) -> Floats:
        """Return the model's loss [n] on `samples` [n] of the own samples of devices [n], drawn by `index`.

        Raises:
            ValueError: nothing is learned.
        """
        asked = [ids.tolist(), samples.tolist(), index]
        return self._recorded("losses", asked, lambda: self.model.losses_of(ids, samples, index))

    def norms_of(self, ids: Ids, counted: Ints | None, round_key: RoundKey, number: int) -> Floats:
        """Return the L2 norms [n] of the updates that devices [n] would send of the present model in a round.

        The largest `counted` [n] parameters count; all if None.

        Raises:
            ValueError: nothing is learned.
        """
        parameters = None
        if counted is not None:
            parameters = counted.tolist()
        asked = [ids.tolist(), parameters, round_key, number]
        return self._recorded("norms", asked, lambda: self.model.norms_of(ids, counted, round_key, number))

    def _recorded(self, name: str, asked: list[Any], compute: Callable[[], Floats]) -> Floats:
        """Return an answer of the present model to a question, from the record if it is there."""
        text = json.dumps([self._key, *asked])
        key = f"{hashlib.sha256(text.encode()).hexdigest()}/{name}"
        recorded = self._record.outcome(key)
        if self._model is None and recorded is not None:
            return np.array(recorded)
        with self._measured():
            values = compute()
        self._record.note(key, values.tolist())
        return values

    # Evaluations

    def evaluate(self, round_key: RoundKey, number: int, *, last: bool) -> None:
        """End a round, whose row in the ledger is `number`: begin to test its models in the background, if it is due.

        The state may be put on record. `last` tells that the round is the last one of its session.
        """
        with self._measured():
            test = NO_TEST
            if self.build is not None and self._evaluation.is_due(round_key, last=last):
                test = self._test(round_key, "test")
            self._evaluation.add(TestedRound(round_key, number, test))
            if self._model is not None and self._pace is not None and self._pace.due():
                with self._pace.taking():
                    self.settle(wait=True)  # a saved state does not hold running evaluations
                    self._record.save(self._key, self._model.save)

    def _test(self, round_key: RoundKey, name: str) -> ModelTest:
        key = f"{self._key}/{name}"
        recorded = self._record.outcome(key)
        if self._model is None and recorded is not None:
            return ModelTest(key, recorded)
        return ModelTest(key, None, self.model.evaluations(round_key), self.model.snapshot())

    def settle(self, *, wait: bool) -> None:
        """Enter finished evaluations into the ledger in order of their rounds; if `wait`, wait for all of them."""
        with self._measured():
            self._evaluation.settle(wait=wait)

    def finish(self) -> Floats | None:
        """Wait for all evaluations, test the last round if it was not, and return the final model's accuracies.

        Returns:
            [devices] the accuracy on each device's own samples; None without classes or without learning.
        """
        self.settle(wait=True)
        rows = self.ledger.rounds
        if self.build is None or not rows:
            return None
        with self._measured():
            if rows[-1]["test_loss"] is None:
                round_key = RoundKey(rows[-1]["session"], rows[-1]["round"])
                self._evaluation.enter(TestedRound(round_key, len(rows) - 1, self._test(round_key, "last")))
            key = f"{self._key}/devices"
            recorded = self._record.outcome(key)
            if self._model is None and recorded is not None:
                values = recorded["accuracies"]
                return None if values is None else np.array(values)
            accuracies = self.model.device_accuracies()
            values = None
            if accuracies is not None:
                values = accuracies.tolist()
            self._record.note(key, {"accuracies": values})
            return accuracies

    def keep(self) -> None:
        """Put the last state on record, for a run that continues from here; learn nothing for it."""
        # A state is looked for only after such commands (see `_since_the_last_state`).
        if self._model is not None and isinstance(self._last_command, (Learn, Depart)):
            self._record.save(self._key, self._model.save)

    def close(self) -> None:
        """End the learner's worker processes."""
        if self._model is not None:
            self._model.learner.close()

    @contextmanager
    def _measured(self) -> Iterator[None]:
        """Add the wall-clock time of the outermost call to `learning_s`; nested calls are part of it."""
        began_s = time.perf_counter()
        self._nesting += 1
        try:
            yield
        finally:
            self._nesting -= 1
            if not self._nesting:
                self.learning_s += time.perf_counter() - began_s
