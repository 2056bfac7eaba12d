"""The server's side of learning, as the rounds see it: it replays the record, or lets the global model learn."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats, Ids
from edgefl.core.errors import RunError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.record import Pace, Record
from edgefl.scenario import RoundKey, Sessions
from edgefl.server.global_model import (
    NOT_EVALUATED,
    Arrival,
    Command,
    Depart,
    Enter,
    Evaluations,
    Forget,
    GlobalModel,
    Learn,
    PassOn,
    Send,
    diverged,
)
from edgefl.server.ledger import Ledger
from edgefl.server.participation import Participation

Progress = Callable[[Mapping[str, Any]], None]
Keeping = tuple[Record, Pace]
NO_IDS: Ids = np.empty(0, dtype=np.int64)


class ModelTest(NamedTuple):
    """An evaluation that is under way, or on record."""

    key: str
    columns: dict[str, Any] | None = None  # where it is on record
    evaluations: Evaluations | None = None  # where it is not

    def done(self) -> bool:
        """Return True when nobody has to wait for the result."""
        return all(pending.done() for pending in (self.evaluations or {}).values())

    def result(self) -> dict[str, Any]:
        """Wait for the result: return columns of the round; only the global model's has more than loss and accuracy."""
        columns = dict(self.columns or {})
        for name, pending in (self.evaluations or {}).items():
            test = pending.result()
            columns |= {f"{name}_loss": test.loss, f"{name}_accuracy": test.accuracy}
            if name == "test":
                columns |= test.extra
        return columns


class TestedRound(NamedTuple):
    """A finished round whose evaluation is under way."""

    round_key: RoundKey
    number: int  # of its row in the ledger
    test: ModelTest


NO_TEST = ModelTest("", {})


class Replay:
    """Replays the record, or lets the global model learn.

    Whatever changes the global model is a command, and the key on the record is a digest of all commands so far. As
    long as every outcome is on record, no model is built and nothing is learned. Where an outcome is not, the last
    state on record is restored and given the commands that came after it.

    Args:
        build: makes the global model as it is at the beginning; None prices the world without any learning.
        algorithm: says which devices take part and are awaited, also where nothing is learned.
        sessions: when a session begins.
        devices: how many there are.
        eval_every: the model is evaluated after every so many rounds, and after a session's last.
        ledger: where evaluations and contributions are entered.
        streams: keyed randomness.
        progress: called with each round's row when its evaluation is there.
        edge_models: whether each base station has a model of its own.
        learning_rates: the keys that set a learning rate, as messages name them.
        keeping: what has been learned before, and when states are put on record; None keeps nothing.
        base: what learning depends on besides commands, as a text: the key before the first command.
    """

    def __init__(
        self,
        build: Callable[[], GlobalModel] | None,
        algorithm: Algorithm,
        sessions: Sessions,
        devices: int,
        eval_every: int,
        ledger: Ledger,
        streams: Streams,
        progress: Progress,
        *,
        edge_models: bool,
        learning_rates: str,
        keeping: Keeping | None = None,
        base: str = "",
    ) -> None:
        self._build = build
        self._algorithm = algorithm
        self._sessions = sessions
        self._devices = devices
        self._eval_every = eval_every
        self._ledger = ledger
        self._streams = streams
        self._progress = progress
        self._edge_models = edge_models
        self._learning_rates = learning_rates
        self._record = Record()  # which keeps nothing
        self._pace: Pace | None = None
        if keeping is not None:
            self._record, self._pace = keeping
        self._model: GlobalModel | None = None  # None as long as all outcomes are on record
        self._key = base  # digest of all commands
        self._stage = 0  # how many commands there were
        self._postponed: list[tuple[str, Command]] = []  # commands that no model has been given, with the key then
        self._in_flight: dict[int, int] = {}  # by device: the stage of the model that it has received
        self._arrived: list[Arrival] = []  # updates since the last command that took them
        self._tested: deque[TestedRound] = deque()  # rounds whose evaluation is under way
        self._learned_from: set[int] = set()  # devices whose update arrived since they last left
        self.losses: dict[int, float] = {}  # training losses of the round that ended last, by device
        self.learning_s = 0.0  # wall-clock time spent on learning
        self._nesting = 0  # of calls whose wall-clock time is measured
        self._awaited = NO_IDS  # devices for which the next model waits
        self._await(NO_IDS, 0)

    # Who takes part

    def admit(self, ids: Ids, index: int) -> Ids:
        """Return the devices that are to take part, of those that selection `index` chose, as the algorithm says."""
        rng = self._streams.generator("selection", 0, index)
        return self._algorithm.admit(ids, {"awaited": self._awaited}, rng)

    def _await(self, received: Ids, number: int) -> None:
        """Let the algorithm say for which devices the next model waits, when these have been received."""
        rng = self._streams.generator("awaited", 0, number)
        self._awaited = self._algorithm.awaited(self._awaited, received, self._devices, rng)

    # What happens in a round

    def enter(self, round_key: RoundKey, number: int) -> None:
        """Begin a round after `number` aggregations; where a session begins, with the model that it starts from."""
        self.losses = {}
        if self._sessions.several:
            self._command(Enter(round_key, number))

    def send(self, ids: Ids, round_key: RoundKey) -> None:
        """Send devices the model as it is now."""
        self._in_flight |= dict.fromkeys(ids.tolist(), self._stage)
        if self._build is not None:
            # No command of its own in the digest: which devices learn from it, their arrivals say.
            self._give(Send(self._stage, round_key))

    def submit(self, part: Participation) -> None:
        """Take an update that has arrived; nothing is computed before a result is needed."""
        # All cells receive one model, unless base stations have their own: the record must not know cells then, so
        # that runs with other cells share what they learn.
        cell = part.cell if self._edge_models else 0
        self._arrived.append(Arrival(part.device, cell, self._in_flight.pop(part.device), part.version))

    def lose(self, device: int) -> None:
        """Note that no update of a device will arrive."""
        self._in_flight.pop(device, None)

    def pass_on(self, round_key: RoundKey) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        if self._arrived:
            self._command(PassOn(round_key, self._take_arrived()))

    def learn(self, received: Ids, round_key: RoundKey, number: int, *, merge: bool) -> dict[str, Any]:
        """End a round: train and aggregate.

        Args:
            received: [n] the devices whose updates have arrived, in order.
            round_key: of the round.
            number: aggregations before.
            merge: the cloud averages the models of the base stations.

        Returns:
            The learning columns of the round; those of the test are entered when the evaluation is there.
        """
        awaited = tuple(self._awaited.tolist())
        outcome = self._command(Learn(round_key, number, self._take_arrived(), awaited, merge))
        if self._build is not None:
            self._give(Forget(frozenset(self._in_flight.values())))
        self.losses |= dict(outcome.get("losses", ()))
        if "contributions" in outcome:
            self._ledger.contribute(*round_key, outcome["contributions"])
        self._learned_from.update(received.tolist())
        self._await(received, number + 1)
        return dict(outcome["columns"])

    def depart(self, ids: Ids, *, forget: bool) -> None:
        """Note that devices have left and lost what they kept; the server may `forget` it, too."""
        departed = self._learned_from & set(ids.tolist())
        if departed:
            self._learned_from -= departed
            self._command(Depart(tuple(sorted(departed)), forget))

    def _take_arrived(self) -> tuple[Arrival, ...]:
        """Return the updates that have arrived, in order of their devices, and wait for others."""
        arrived = tuple(sorted(self._arrived))
        self._arrived = []
        return arrived

    # Commands

    def _command(self, command: Command) -> Any:
        """Change the model by a command that counts in the key; return its outcome."""
        if self._build is None:
            return {"columns": NOT_EVALUATED}
        text = json.dumps([self._key, type(command).__name__, asdict(command)])
        self._key = hashlib.sha256(text.encode()).hexdigest()
        self._stage += 1
        try:
            return self._give(command)
        except RunError:
            self.settle(wait=True)  # a test under way may find that an earlier model had diverged already
            raise

    def _give(self, command: Command) -> Any:
        """Return the outcome of a command, from the record if it is there; else from the model.

        While there is no model, commands are kept for it. Only `Learn` has an outcome.
        """
        has_outcome = isinstance(command, Learn)
        recorded = self._record.outcome(self._key) if has_outcome else None
        if self._model is None and (recorded is not None or not has_outcome):
            self._postponed.append((self._key, command))
            return recorded
        key = self._key
        with self._measured():
            outcome = command.apply_to(self.model)
        if has_outcome:
            self._record.note(key, outcome)
        return outcome

    @property
    def model(self) -> GlobalModel:
        """The global model after all commands; built, or restored from the record, where there is none yet.

        Raises:
            ValueError: nothing is learned.
        """
        if self._build is None:
            raise ValueError("nothing is learned in this run")
        if self._model is None:
            self._model = self._build()
            for _, command in self._since_the_last_state(self._model):
                command.apply_to(self._model)
            self._postponed = []
        return self._model

    def _since_the_last_state(self, model: GlobalModel) -> list[tuple[str, Command]]:
        """Restore the last state on record, if there is one; return the postponed commands that came after it."""
        for place in reversed(range(len(self._postponed))):
            key, command = self._postponed[place]
            # States are kept between two rounds, after these commands. `Forget` comes behind `Learn` under the same
            # key; given once more it changes nothing.
            if isinstance(command, (Learn, Depart)) and self._record.restore(key, model.restore):
                return self._postponed[place + 1 :]
        return self._postponed

    def prepare(self) -> None:
        """Build the model now, if anything is to be learned."""
        if self._build is not None:
            self._model = self.model

    def give_up(self) -> None:
        """Learn no more than has been learned by now."""
        if self._model is None:
            self._build = None

    # What comes of it

    def described(self) -> dict[str, object] | None:
        """Return how clients are trained, for the manifest; None where none has been."""
        return None if self._model is None else self._model.learner.described()

    def parameters(self) -> npt.NDArray[np.float32] | None:
        """Return the model [d] as it is, and put it on record; None without learning."""
        if self._build is None:
            return None
        key = f"{self._key}/model"
        found: list[npt.NDArray[np.float32]] = []

        def load(file: BinaryIO) -> None:
            found.append(np.load(file, allow_pickle=False))

        if self._model is None and self._record.restore(key, load):
            return found[0]
        with np.errstate(over="ignore"):  # scalars are float64; a model that has diverged may be too large
            w: npt.NDArray[np.float32] = self.model.state["w"].cpu().numpy().astype(np.float32)
        self._record.save(key, lambda file: np.save(file, w, allow_pickle=False), lasting=True)
        return w

    def losses_of(self, ids: Ids, samples: Ids, index: int) -> Floats:
        """Return the loss [n] of the model that devices [n] have received in round `index`, on `samples` [n] of each.

        Raises:
            ValueError: nothing is learned.
        """
        text = json.dumps([self._key, ids.tolist(), samples.tolist(), index])
        key = f"{hashlib.sha256(text.encode()).hexdigest()}/losses"
        recorded = self._record.outcome(key)
        if self._model is None and recorded is not None:
            return np.array(recorded)
        with self._measured():
            losses = self.model.losses_of(ids, samples, index)
        self._record.note(key, losses.tolist())
        return losses

    # Evaluations

    def evaluate(self, round_key: RoundKey, number: int, *, last: bool) -> None:
        """Begin to evaluate the models of a finished round in the background, if it is their turn.

        This ends the round, and may put the state on record.

        Args:
            round_key: of the round.
            number: of its row in the ledger.
            last: whether it is its session's last.
        """
        due = last or round_key.round % self._eval_every == 0
        tests = due and not round_key.extra and self._build is not None
        with self._measured():
            test = NO_TEST
            if tests:
                test = self._test(round_key.session, "test")
            self._tested.append(TestedRound(round_key, number, test))
            if self._model is not None and self._pace is not None and self._pace.due():
                with self._pace.taking():
                    self.settle(wait=True)  # a state does not hold evaluations that are under way
                    self._record.save(self._key, self._model.save)

    def _test(self, session: int, name: str) -> ModelTest:
        """Begin to evaluate the models as they are, unless the result is on record."""
        key = f"{self._key}/{name}"
        recorded = self._record.outcome(key)
        if self._model is None and recorded is not None:
            return ModelTest(key, recorded)
        return ModelTest(key, None, self.model.evaluations(session))

    def settle(self, *, wait: bool) -> None:
        """Enter evaluations that are done, or all of them, into the ledger, in order of their rounds."""
        with self._measured():
            while self._tested and (wait or self._tested[0].test.done()):
                tested = self._tested.popleft()
                self._enter(tested)
                self._progress(self._ledger.row(tested.number))

    def _enter(self, tested: TestedRound) -> None:
        """Enter an evaluation into the ledger, and put it on record."""
        columns = tested.test.result()
        loss = columns.get("test_loss")
        if loss is not None and not math.isfinite(loss):
            where = tested.round_key.named(several=self._sessions.several)
            raise diverged(where, "its test loss is NaN or infinite", self._learning_rates)
        if tested.test.evaluations:
            self._record.note(tested.test.key, columns)
        self._ledger.enter_evaluation(tested.number, columns)

    def finish(self) -> Floats | None:
        """Wait for all evaluations, of which the last round always has one; return the final model's accuracies.

        Returns:
            [devices] the accuracy on each device's own samples; None where there are no classes, or no learning.
        """
        self.settle(wait=True)
        rows = self._ledger.rounds
        if self._build is None or not rows:
            return None
        with self._measured():
            if rows[-1]["test_loss"] is None:
                round_key = RoundKey(rows[-1]["session"], rows[-1]["round"])
                self._enter(TestedRound(round_key, len(rows) - 1, self._test(round_key.session, "last")))
            key = f"{self._key}/devices"
            recorded = self._record.outcome(key)
            if self._model is None and recorded is not None:
                values = recorded["accuracies"]
                return None if values is None else np.array(values)
            accuracies = self.model.learner.device_accuracies(self.model.state["w"])
            values = None if accuracies is None else accuracies.tolist()
            self._record.note(key, {"accuracies": values})
            return accuracies

    def close(self) -> None:
        """Let the workers go."""
        if self._model is not None:
            self._model.learner.close()

    @contextmanager
    def _measured(self) -> Iterator[None]:
        """Count the wall-clock time of the outermost call; calls within it are part of that time."""
        began_s = time.perf_counter()
        self._nesting += 1
        try:
            yield
        finally:
            self._nesting -= 1
            if not self._nesting:
                self.learning_s += time.perf_counter() - began_s
