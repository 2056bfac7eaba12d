"""The server's side of learning: the global model, what devices start from, and what a round makes of updates."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edgefl.edges import Edges
from edgefl.ledger import Ledger
from edgefl.participation import Participation
from edgefl.scenario import Place, Scenario
from edgefl.sessions import Groups, Starts
from edgefl.streams import Streams

if TYPE_CHECKING:
    from edgefl.algorithms import Updates
    from edgefl.learner import Learner, Pending

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Progress = Callable[[Mapping[str, Any]], None]
Received = tuple[Any, Mapping[str, Any], Any, float]  # a model, what comes with it, statistics, the learning rate
Evaluations = Mapping[str, "Pending"]  # by the name of the model: test (the global one), sel, all
NOBODY: Ids = np.empty(0, dtype=np.int64)


class Aggregator:
    """Holds the server's state, which only ends of rounds change.

    Args:
        scenario: the whole scenario.
        learner: trains; None prices the world without any learning.
        presence: [devices] with which chance each is there in a round.
        groups: of devices, that take turns from session to session.
        ledger: where contributions of participants are entered.
        streams: keyed randomness.
        progress: called with each round's row when it is complete.
    """

    def __init__(
        self,
        scenario: Scenario,
        learner: Learner | None,
        presence: Floats,
        groups: Groups,
        ledger: Ledger,
        streams: Streams,
        progress: Progress,
    ) -> None:
        self.learner, self.learning_s = learner, 0.0  # wall-clock
        self._scenario, self._algorithm, self._report = scenario, scenario.learning, scenario.report
        self._ledger, self._streams, self._progress = ledger, streams, progress
        self._sessions, self._groups = scenario.in_sessions, groups
        present = float(presence[groups.there(1)].sum())
        expected = scenario.server.selection.expected(scenario.participants, present)
        total = self._sessions.total
        self.state: dict[str, Any] = learner.begin(total, expected, presence.tolist()) if learner else {}
        self._starts: Starts | None = None
        if learner:
            fresh = partial(self._algorithm.restarted, population=len(learner.parts))
            start = learner.initial, learner.statistics
            self._starts = Starts(self._sessions, *start, fresh, learner.weight_tensors)
        self._await(NOBODY, 0)
        self._edges: Edges | None = None  # where base stations have models of their own
        if learner and scenario.server.policy.edges:
            self._edges = Edges.alike(self.state["w"], learner.statistics, scenario.cells.sites)
        self._walk: list[tuple[Any, float, int]] = []  # a model from device to device, with training loss and samples
        self._heard = NOBODY  # whose updates the last round learned from
        self.losses: dict[int, float] = {}  # of the local training of those who have been heard in this round
        self._open: deque[tuple[dict[str, Any], Evaluations]] = deque()  # rounds whose evaluation is under way

    def admit(self, ids: Ids, index: int) -> Ids:
        """Those of the devices selected in the round `index` that are to take part, as the algorithm says."""
        return self._algorithm.admit(ids, self.state, self._streams.generator("selection", 0, index))

    def enter(self, place: Place) -> None:
        """Begin a round; where a session begins, with the model that it starts from."""
        self.losses = {}
        if self.learner is not None and self._starts is not None:
            self.state, self.learner.statistics = self._starts.enter(place, self.state, self.learner.statistics)

    def sent(self, place: Place) -> list[Received] | None:
        """What the devices of each cell get in a round; None without learning."""
        if self.learner is None:
            return None
        algorithm, sites, lr = self._algorithm, self._scenario.cells.sites, self._lr(place)
        if self._edges is None:
            return [(self._model(), algorithm.downlink(self.state), self.learner.statistics, lr)] * sites
        models = zip(self._edges.models, self._edges.statistics, strict=True)
        return [(algorithm.broadcast({"w": w}), algorithm.downlink({"w": w}), each, lr) for w, each in models]

    def _model(self) -> Any:
        """What the next device starts from."""
        return self._walk[-1][0] if self._walk else self._algorithm.broadcast(self.state)

    def submit(self, part: Participation, received: Received | None) -> None:
        """Take an update that has arrived; nothing is computed before a result is needed."""
        if self.learner is not None and received is not None:
            self.learner.submit(part.device, part.version, *received)

    def _lr(self, place: Place) -> float:
        """The learning rate of a round: the schedule begins anew in each session, with half of it in extra rounds.

        That half is the dynamic-devices paper's program's.
        """
        training = self._scenario.training
        return training.lr / 2 if place.extra else training.rate(place.round - 1, self._sessions.rounds)

    def pass_on(self) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        if self.learner is None or not self.learner.waiting:
            return
        with self._learning():
            updates, loss = self.learner.collect()
            self.losses[int(updates.ids[0])] = loss
            self._walk.append((self._model() + updates.vectors["delta"][0], loss, int(updates.samples[0])))

    def learn(self, parts: Sequence[Participation], place: Place, *, merge: bool) -> dict[str, Any]:
        """End a round: train and aggregate.

        Args:
            parts: those whose updates have arrived, in order of their devices.
            place: of the round.
            merge: the cloud averages the models of the base stations.

        Returns:
            The learning columns of the round; those of the test are entered when `evaluate` has them.
        """
        columns: dict[str, Any] = {"train_loss": None, "test_loss": None, "test_accuracy": None}
        self._heard = np.array([part.device for part in parts], dtype=np.int64)
        with self._learning():
            if self._walk:
                columns["train_loss"] = self._arrive()
            elif parts and self.learner is not None:
                columns |= self._aggregate(self.learner, parts, place)
            if merge and self._edges is not None:
                self._edges = self._edges.merged()
        self._await(self._heard, len(self._ledger.rounds) + 1)
        return columns

    def _arrive(self) -> float:
        """The model that has walked becomes the global one; the mean training loss by samples."""
        models, losses, samples = zip(*self._walk, strict=True)
        self.state, self._walk = {**self.state, "w": models[-1]}, []
        return float(np.average(losses, weights=samples))

    def _aggregate(self, learner: Learner, parts: Sequence[Participation], place: Place) -> dict[str, float]:
        """Train all who have been heard and learn from them; the training loss and the algorithm's traces."""
        updates, loss = learner.collect()
        if updates.losses is not None:
            self.losses.update(zip(updates.ids.tolist(), updates.losses.tolist(), strict=True))
        updates = replace(updates, staleness=np.array([len(self._ledger.rounds) - part.version for part in parts]))
        before, wanted = self.state, self._report.contributions
        self.state = self._next(learner, updates, parts)
        if wanted and not place.extra and place.round % wanted.every == 0:
            values = learner.contributions(before, updates, self._groups.labels(place.session))
            self._ledger.contribute(*place, updates.ids, values)
        return {"train_loss": loss, **self._algorithm.trace(self.state, updates)}

    def _next(self, learner: Learner, updates: Updates, parts: Sequence[Participation]) -> dict[str, Any]:
        """The server's next state; with models at the base stations, the mean of these that a cloud would get."""
        if self._edges is None:
            return learner.aggregate(self.state, updates)
        self._edges = self._edges.learn(updates, np.array([part.cell for part in parts]), learner.aggregate)
        w, learner.statistics = self._edges.mean()
        return {**self.state, "w": w}

    def _await(self, heard: Ids, number: int) -> None:
        """Have the algorithm say of whom the next model waits, if of anybody, when these have been heard."""
        before, rng = self.state.get("awaited", NOBODY), self._streams.generator("awaited", 0, number)
        awaited = self._algorithm.awaited(before, heard, self._scenario.devices.count, rng)
        if len(awaited):
            self.state = {**self.state, "awaited": awaited}

    def losses_of(self, ids: Ids, samples: Ids, index: int) -> Floats:
        """The loss [n] of the model that devices [n] have got in round `index`, on `samples` [n] of their own."""
        if self.learner is None:
            raise ValueError("nothing is learned")
        with self._learning():
            return self.learner.losses(self._model(), ids, samples, index)

    def evaluate(self, row: dict[str, Any], *, last: bool) -> None:
        """Have a finished round's models evaluated in the background, if it is their turn or the session's `last`."""
        place = Place(row["session"], row["round"])
        due = last or place.round % self._report.eval_every == 0
        wanted = due and not place.extra
        with self._learning():
            self._open.append((row, self._evaluations(self.learner, place.session) if self.learner and wanted else {}))

    def _evaluations(self, learner: Learner, session: int) -> Evaluations:
        """The global model's, and those of the models that the scenario wants besides."""
        models, labels = {"test": self.state["w"], **learner.mean_models(self._heard)}, self._groups.labels(session)
        return {name: learner.evaluate(w, labels) for name, w in models.items()}

    def settle(self, *, wait: bool) -> None:
        """Enter evaluations that are ready, or all of them, into their rounds, in order."""
        with self._learning():
            while self._open and (wait or all(one.done() for one in self._open[0][1].values())):
                row, evaluations = self._open.popleft()
                _enter(row, evaluations)
                self._progress(row)

    def finish(self) -> Floats | None:
        """Wait for all evaluations, of which the last round always has one; the final model's accuracy by device."""
        self.settle(wait=True)
        rounds = self._ledger.rounds
        if self.learner is None:
            return None
        try:
            if rounds and rounds[-1]["test_loss"] is None:
                _enter(rounds[-1], self._evaluations(self.learner, rounds[-1]["session"]))
            return self.learner.device_accuracies(self.state["w"]) if rounds else None
        finally:
            self.learner.close()

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Count the time."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.learning_s += time.perf_counter() - began


def _enter(row: dict[str, Any], evaluations: Evaluations) -> None:
    """Wait for a round's evaluations; only the global model's has further columns."""
    for name, pending in evaluations.items():
        test = pending.result()
        row.update({f"{name}_loss": test.loss, f"{name}_accuracy": test.accuracy})
        row.update(test.extra if name == "test" else {})
