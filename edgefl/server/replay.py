"""The server's side of learning, as the rounds see it: told what has happened, it learns only what is not on record."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats, Ids
from edgefl.core.errors import RunError
from edgefl.core.streams import Streams
from edgefl.learning.record import Pace, Record
from edgefl.scenario import RoundKey, Scenario
from edgefl.server.global_model import (
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
NOBODY: Ids = np.empty(0, dtype=np.int64)
Keeping = tuple[Record, Pace]
NOTHING: dict[str, Any] = {"columns": {"train_loss": None, "test_loss": None, "test_accuracy": None}}


class Test(NamedTuple):
    """An evaluation that is under way, or on record."""

    key: str
    columns: dict[str, Any] | None = None  # where it is on record
    evaluations: Evaluations | None = None  # where not

    def done(self) -> bool:
        """Whether nobody has to wait for it."""
        return all(one.done() for one in (self.evaluations or {}).values())

    def result(self) -> dict[str, Any]:
        """Wait for it; columns of the round. Only the global model's has more than a loss and an accuracy."""
        columns = dict(self.columns or {})
        for name, pending in (self.evaluations or {}).items():
            test = pending.result()
            columns |= {f"{name}_loss": test.loss, f"{name}_accuracy": test.accuracy}
            columns |= test.extra if name == "test" else {}
        return columns


NO_TEST = Test("", {})


class Replay:
    """Tells the global model what has happened, or reads on the record what it would make of that.

    The key on the record is a digest of all that has been told. As long as everything is on record, nothing is built or
    learned; where something is not, the last state on record is restored and told what came after it.

    Args:
        scenario: the whole scenario.
        build: makes the global model as it is at the beginning; None prices the world without any learning.
        ledger: where contributions of participants are entered.
        streams: keyed randomness.
        progress: called with each round's row when it is complete.
        keeping: what has been learned before, and when states are put on record; None keeps nothing.
        base: what else learning depends on, as a text.
    """

    def __init__(
        self,
        scenario: Scenario,
        build: Callable[[], GlobalModel] | None,
        ledger: Ledger,
        streams: Streams,
        progress: Progress,
        keeping: Keeping | None = None,
        base: str = "",
    ) -> None:
        self.learning_s, self._nested = 0.0, 0  # wall-clock
        self._scenario, self._algorithm = scenario, scenario.learning
        self._build = build
        self._model: GlobalModel | None = None  # as long as all is on record
        self._ledger, self._streams, self._progress = ledger, streams, progress
        self._record = keeping[0] if keeping else Record()
        self._pace = keeping[1] if keeping else None
        self._sessions, self._policy = scenario.in_sessions, scenario.server.policy
        self._key, self._stage = base, 0  # digest of what has been told, and how much that was
        self._untold: list[tuple[str, Command]] = []  # what the model has not been told, with the key after it
        self._held: dict[int, int] = {}  # the stages of the models that devices under way have got
        self._arrived: list[Arrival] = []  # since the model was last told of any
        self._open: deque[tuple[dict[str, Any], Test]] = deque()  # rounds whose evaluation is under way
        self._learned_from: set[int] = set()  # devices, since they last left
        self.losses: dict[int, float] = {}  # of the local training of those who have been heard in this round
        self._awaited = NOBODY  # of whom the next model waits
        self._await(NOBODY, 0)

    # What the world is told

    def admit(self, ids: Ids, index: int) -> Ids:
        """Those of the devices selected in the round `index` that are to take part, as the algorithm says."""
        awaited = {"awaited": self._awaited}
        return self._algorithm.admit(ids, awaited, self._streams.generator("selection", 0, index))

    def _await(self, heard: Ids, number: int) -> None:
        """Have the algorithm say of whom the next model waits, if of anybody, when these have been heard."""
        rng = self._streams.generator("awaited", 0, number)
        self._awaited = self._algorithm.awaited(self._awaited, heard, self._scenario.devices.count, rng)

    # What it tells

    def enter(self, round_key: RoundKey) -> None:
        """Begin a round; where a session begins, with the model that it starts from."""
        self.losses = {}
        if self._sessions.several:
            self._tell(Enter(round_key, len(self._ledger.rounds)))

    def send(self, ids: Ids, round_key: RoundKey) -> None:
        """Give devices the model as it is in a round."""
        self._held |= dict.fromkeys(ids.tolist(), self._stage)
        if self._build is not None:
            self._pass(Send(self._stage, round_key))

    def submit(self, part: Participation) -> None:
        """Take an update that has arrived; nothing is computed before a result is needed."""
        cell = part.cell if self._policy.edge_models else 0
        self._arrived.append(Arrival(part.device, cell, self._held.pop(part.device), part.version))

    def lose(self, device: int) -> None:
        """Hear that a device will not arrive."""
        self._held.pop(device, None)

    def pass_on(self, round_key: RoundKey) -> None:
        """Make the model that has just arrived, in a round, the one that the next device gets, without averaging."""
        if self._arrived:
            self._tell(PassOn(round_key, self._take()))

    def _take(self) -> tuple[Arrival, ...]:
        arrived, self._arrived = sorted(self._arrived), []
        return tuple(arrived)

    def learn(self, parts: Sequence[Participation], round_key: RoundKey, *, merge: bool) -> dict[str, Any]:
        """End a round: train and aggregate.

        Args:
            parts: those whose updates have arrived, in order of their devices.
            round_key: of the round.
            merge: the cloud averages the models of the base stations.

        Returns:
            The learning columns of the round; those of the test are entered when `evaluate` has them.
        """
        number, awaited = len(self._ledger.rounds), tuple(self._awaited.tolist())
        heard = np.array([part.device for part in parts], dtype=np.int64)
        outcome = self._tell(Learn(round_key, number, self._take(), awaited, merge))
        if self._build is not None:
            self._pass(Forget(frozenset(self._held.values())))
        self.losses |= dict(outcome.get("losses", ()))
        if "contributions" in outcome:
            self._ledger.contribute(*round_key, outcome["contributions"])
        self._learned_from.update(heard.tolist())
        self._await(heard, number + 1)
        return dict(outcome["columns"])

    def depart(self, ids: Ids, *, forget: bool) -> None:
        """Hear of devices that have left and lost what they kept; the server may `forget` it, too."""
        if gone := self._learned_from & set(ids.tolist()):
            self._learned_from -= gone
            self._tell(Depart(tuple(sorted(gone)), forget))

    def _tell(self, command: Command) -> Any:
        """Tell the model what changes it; what comes of it."""
        if self._build is None:
            return NOTHING
        told = json.dumps([self._key, type(command).__name__, asdict(command)])
        self._key, self._stage = hashlib.sha256(told.encode()).hexdigest(), self._stage + 1
        try:
            return self._pass(command)
        except RunError:
            self.settle(wait=True)  # a test under way may find an earlier model at fault
            raise

    def _pass(self, command: Command) -> Any:
        """Tell the model, or keep it until the model is needed: when something is not on record."""
        key, wanted = self._key, isinstance(command, Learn)
        known = self._record.outcome(key) if wanted else None
        if self._model is None and (known is not None or not wanted):
            self._untold.append((key, command))
            return known
        with self._learning():
            outcome = command.tell(self.model)
        if wanted:
            self._record.note(key, outcome)
        return outcome

    @property
    def model(self) -> GlobalModel:
        """The global model, after all that has been told."""
        if self._build is None:
            raise ValueError("nothing is learned")
        if self._model is None:
            self._model, untold = self._build(), self._untold
            ends = [number for number, (_, command) in enumerate(untold) if isinstance(command, (Learn, Depart))]
            for number in reversed(ends):
                if self._record.restore(untold[number][0], self._model.restore):
                    untold = untold[number + 1 :]
                    break
            for _, command in untold:
                command.tell(self._model)
            self._untold = []
        return self._model

    def prepare(self) -> None:
        """Build the model now, if anything is to be learned."""
        if self._build is not None:
            self._model = self.model

    def give_up(self) -> None:
        """Learn no more than has been learned by now."""
        if self._model is None:
            self._build = None

    def described(self) -> dict[str, object] | None:
        """How clients are trained, for the manifest; None where nothing has been."""
        return None if self._model is None else self._model.learner.described()

    def parameters(self) -> npt.NDArray[np.float32] | None:
        """The model [d] as it is, which then is on record, too; None without learning."""
        if self._build is None:
            return None
        key = f"{self._key}/model"
        found: list[npt.NDArray[np.float32]] = []

        def take(file: BinaryIO) -> None:
            found.append(np.load(file, allow_pickle=False))

        if self._model is None and self._record.restore(key, take):
            return found[0]
        with np.errstate(over="ignore"):  # scalars are float64; what has diverged may be too large
            w: npt.NDArray[np.float32] = self.model.state["w"].cpu().numpy().astype(np.float32)
        self._record.save(key, lambda file: np.save(file, w, allow_pickle=False), lasting=True)
        return w

    # What it is told back

    def losses_of(self, ids: Ids, samples: Ids, index: int) -> Floats:
        """The loss [n] of the model that devices [n] have got in round `index`, on `samples` [n] of their own.

        Raises:
            ValueError: nothing is learned.
        """
        asked = json.dumps([self._key, ids.tolist(), samples.tolist(), index])
        key = f"{hashlib.sha256(asked.encode()).hexdigest()}/losses"
        known = self._record.outcome(key)
        if self._model is None and known is not None:
            return np.array(known)
        with self._learning():
            losses = self.model.losses_of(ids, samples, index)
        self._record.note(key, losses.tolist())
        return losses

    def evaluate(self, row: dict[str, Any], *, last: bool) -> None:
        """Have a finished round's models evaluated in the background, if it is their turn or the session's `last`.

        This ends the round, and may keep its state.
        """
        round_key = RoundKey(row["session"], row["round"])
        due = last or round_key.round % self._scenario.report.eval_every == 0
        wanted = due and not round_key.extra and self._build is not None
        with self._learning():
            self._open.append((row, self._test(round_key.session, "test") if wanted else NO_TEST))
            if self._model is not None and self._pace is not None and self._pace.due():
                with self._pace.taking():
                    self.settle(wait=True)  # a state says nothing of evaluations that are under way
                    self._record.save(self._key, self._model.save)

    def _test(self, session: int, name: str) -> Test:
        """Look at the models as they are, unless it is on record what they are worth."""
        key = f"{self._key}/{name}"
        known = self._record.outcome(key)
        if self._model is None and known is not None:
            return Test(key, known)
        return Test(key, None, self.model.evaluations(session))

    def settle(self, *, wait: bool) -> None:
        """Enter evaluations that are ready, or all of them, into their rounds, in order."""
        with self._learning():
            while self._open and (wait or self._open[0][1].done()):
                row, test = self._open.popleft()
                self._enter(row, test)
                self._progress(row)

    def _enter(self, row: dict[str, Any], test: Test) -> None:
        columns = test.result()
        if (loss := columns.get("test_loss")) is not None and not math.isfinite(loss):
            raise diverged(self._scenario, RoundKey(row["session"], row["round"]), "its test loss is NaN or infinite")
        if test.evaluations:
            self._record.note(test.key, columns)
        row.update(columns)

    def finish(self) -> Floats | None:
        """Wait for all evaluations, of which the last round always has one; the final model's accuracy by device."""
        self.settle(wait=True)
        rounds = self._ledger.rounds
        if self._build is None or not rounds:
            return None
        with self._learning():
            if rounds[-1]["test_loss"] is None:
                self._enter(rounds[-1], self._test(rounds[-1]["session"], "last"))
            key = f"{self._key}/devices"
            known = self._record.outcome(key)
            if self._model is None and known is not None:
                return None if known["accuracies"] is None else np.array(known["accuracies"])
            accuracies = self.model.learner.device_accuracies(self.model.state["w"])
            self._record.note(key, {"accuracies": None if accuracies is None else accuracies.tolist()})
            return accuracies

    def close(self) -> None:
        """Let the workers go."""
        if self._model is not None:
            self._model.learner.close()

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Count the time, that of the outermost alone."""
        began, self._nested = time.perf_counter(), self._nested + 1
        try:
            yield
        finally:
            self._nested -= 1
            if not self._nested:
                self.learning_s += time.perf_counter() - began
