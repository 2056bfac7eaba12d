"""The global model and all other state of learning, which only commands change.

So the state is a function of the commands so far. It can be saved and restored, and the commands after a saved state
can be applied again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids, Indices, Ints
from edgefl.core.errors import RunError
from edgefl.learning.algorithms import Algorithm, Updates
from edgefl.learning.algorithms.hook_errors import HookError
from edgefl.learning.algorithms.trial import watched_outside
from edgefl.learning.edge_models import EdgeModels
from edgefl.learning.report_section import ReportSection
from edgefl.learning.trained_model import TrainedModel
from edgefl.learning.training_section import Training
from edgefl.scenario import RoundKey, Sessions
from edgefl.server.commands import Change, Command, Depart, Enter, Forget, Learn, PassOn, Redivide, Send
from edgefl.server.evaluation import Evaluations, diverged
from edgefl.server.measured_round import MeasuredRound, columns_of, rows_of
from edgefl.server.session_groups import SessionGroups
from edgefl.server.session_models import SessionModels

if TYPE_CHECKING:
    from edgefl.learning.learner import Learner

NOT_EVALUATED: dict[str, Any] = {"train_loss": None, "test_loss": None, "test_accuracy": None}


class Received(NamedTuple):
    """A model as devices receive it, and what is sent with it."""

    w: Any  # [d] the model
    downlink: Mapping[str, Any]  # what the algorithm sends with it
    statistics: Any  # [b] its statistics of batch normalisation
    lr: float  # the learning rate of the round
    changes: int  # how often data had changed when the model was sent


class WalkedModel(NamedTuple):
    """A model that a device has trained and passes on to the next device, without averaging."""

    w: Any  # [d]
    loss: float  # the device's training loss
    samples: int  # number of the device's samples


@dataclass(kw_only=True, eq=False)
class GlobalModel:
    """Holds the server's state of learning."""

    learner: Learner  # trains and evaluates models
    algorithm: Algorithm  # the scenario's algorithm, with what the sessions' initialisation adds to it
    training: Training  # with the learning rate
    sessions: Sessions  # when a session begins, and its first model
    groups: SessionGroups  # the groups of devices; one is present in each session
    report: ReportSection  # which models are evaluated
    probabilities: Floats  # [devices] the probability that each can be asked in a round
    expected: Callable[[float], float]  # number of participants of a round by the number that can be asked
    cells: int  # how many base stations there are
    edge_models: bool  # whether each base station has a model of its own
    learning_rates: str  # the keys that set a learning rate, as messages name them

    def __post_init__(self) -> None:
        self._algorithm = watched_outside(self.algorithm)
        self._asked = self.report.asked
        self._session = 1
        rounds = self.sessions.total if self.sessions.keep_state else self.sessions.rounds
        self.state: dict[str, Any] = self.learner.begin(rounds, *self._population_of(1))
        self._session_models = SessionModels(
            self.sessions,
            self.learner.initial,
            self.learner.statistics,
            self.learner.restarted,
            self.learner.weight_tensors,
        )
        self._waited = 0  # rounds of this session while the algorithm has only waited for devices
        self._edges: EdgeModels | None = None
        if self.edge_models:
            self._edges = EdgeModels.alike(self.state["w"], self.learner.statistics, self.cells)
        self._walk: list[WalkedModel] = []  # the models of this round's walk from device to device
        self._losses: list[list[float]] = []  # [device, training loss] of each update in this round
        self._received: Ids = np.empty(0, dtype=np.int64)  # the devices whose updates the last round learned from
        self._sent: dict[int, list[Received]] = {}  # by stage: what devices received in each cell
        self._redivided: dict[int, Indices] = {}  # by device: its training samples of this round, if they are redivided
        self._changes = 0  # how often the data of devices have changed

    # Commands

    def apply(self, command: Command) -> dict[str, Any] | None:
        """Change the state by a command; return the outcome of `Learn`.

        Raises:
            RunError: a hook has failed or returned what it must not.
        """
        round_key = None
        if not isinstance(command, Forget | Redivide | Change | Depart):
            round_key = command.round_key
        with self.naming(round_key):
            match command:
                case Send():
                    self._send(command.stage, command.round_key)
                case Forget():
                    # Drop the models that no device in flight has.
                    self._sent = {stage: sent for stage, sent in self._sent.items() if stage in command.in_flight}
                case Enter():
                    self._enter(command.round_key, command.number)
                case Redivide():
                    self._redivide(command)
                case Change():
                    self._change(command.changes)
                case PassOn():
                    self._pass_on(command)
                case Depart():
                    self._depart(command)
                case Learn():
                    return self.learn(command)
        return None

    def _enter(self, round_key: RoundKey, number: int) -> None:
        """Begin a round after `number` aggregations; a session's first round begins with the session's own model."""
        if self.sessions.begins(round_key) or round_key.round == 1:
            self._waited = 0
        if self.sessions.resets_state(round_key):
            self._session = round_key.session
            self.learner.limit(*self._population_of(self._session))
            self.learner.restart(number)
        self.state, statistics = self._session_models.enter(round_key, self.state, self.learner.statistics)
        self.learner.use_statistics(statistics)

    def _send(self, stage: int, round_key: RoundKey) -> None:
        lr = self._lr(round_key)
        if self._edges is None:
            downlink = self._algorithm.downlink(self.state)
            everywhere = Received(self._model(), downlink, self.learner.statistics, lr, self._changes)
            self._sent[stage] = [everywhere] * self.cells
            return
        sent = []
        for w, statistics in zip(self._edges.models, self._edges.statistics, strict=True):
            model = self._algorithm.broadcast({"w": w})
            sent.append(Received(model, self._algorithm.downlink({"w": w}), statistics, lr, self._changes))
        self._sent[stage] = sent

    def _redivide(self, command: Redivide) -> None:
        redivision = self.learner.task.redivision
        if redivision is not None:
            parts = redivision.parts(np.array(command.devices), command.number)
            self._redivided = dict(zip(command.devices, parts, strict=True))

    def _change(self, changes: int) -> None:
        """Let models that are sent and tested from now on meet data that have changed so often."""
        self._changes = changes
        self.learner.evaluator.change(changes)

    def _samples(self, device: int, changes: int) -> Indices | None:
        """Return a device's training samples [n] after so many changes; None: those that it always has."""
        concepts = self.learner.task.concepts
        if concepts is None:
            return self._redivided.get(device)
        return concepts.part(device, changes)

    def _pass_on(self, command: PassOn) -> None:
        """Let the next device receive the model that has just arrived, without averaging."""
        updates, loss = self._train(command)
        start = self._sent[command.arrivals[0].stage][0].w
        self._losses.append([command.arrivals[0].device, loss])
        self._walk.append(WalkedModel(start + updates.vectors["delta"][0], loss, int(updates.samples[0])))

    def learn(self, command: Learn) -> dict[str, Any]:
        """End a round: train and aggregate.

        Returns:
            A dictionary with `columns`, the learning columns of the round before it is tested; `losses`, the id and the
            training loss of each device; and the rows of each measure that has some, by its name.
        """
        if command.awaited:
            awaited = self.learner.members.among(np.array(command.awaited))
            self.state = {**self.state, "awaited": self.learner.members.rows(awaited)}
        outcome: dict[str, Any] = {"columns": dict(NOT_EVALUATED)}
        before = self._measured_round(command.round_key)
        measures = [asked.measure for asked in self._asked if asked.measure.due(command.round_key.round)]
        more_columns: dict[str, Any] = {}
        for measure in measures:
            more_columns |= columns_of(measure, "before", before)
        updates: Updates | None = None
        if self._walk:
            outcome["columns"]["train_loss"] = self._end_walk()
        else:
            self._received = np.array([arrival.device for arrival in command.arrivals], dtype=np.int64)
            received_rows = self.learner.members.rows(self._received)
            waits = not command.round_key.extra and self._algorithm.waits(self.state, received_rows)
            if command.arrivals:
                updates = self._aggregate(command, outcome["columns"])
            elif self._algorithm.replays:
                outcome["columns"] |= self._learn_without_updates(command)
            # Added last, as the rate of this round depends on the rounds before it.
            self._waited += int(waits)
        if command.merge and self._edges is not None:
            self._edges = self._edges.merged()
        outcome["columns"] |= more_columns
        learned = replace(before, next_state=self.state, aggregated=updates)
        for measure in measures:
            outcome["columns"] |= columns_of(measure, "columns", learned)
            rows = rows_of(measure, learned)
            if rows:
                outcome[measure.name] = rows
        outcome["losses"] = self._losses
        self._losses = []
        self._redivided = {}
        return outcome

    def _depart(self, command: Depart) -> None:
        self.state = dict(self.learner.depart(np.array(command.devices), self.state, forget=command.forget))

    @contextmanager
    def naming(self, round_key: RoundKey | None) -> Iterator[None]:
        """Put the round's name, if there is one, before errors of the algorithm's hooks.

        Raises:
            RunError: a hook has failed or returned what it must not.
        """
        try:
            yield
        except HookError as error:
            if round_key is None:
                raise
            raise RunError(f"{round_key.named(several=self.sessions.several)}: {error}") from error

    # Steps of learning

    def _population_of(self, session: int) -> tuple[float, list[float], Ids | None]:
        """Return the population of the server's state in a session: the last arguments of `Learner.begin`.

        State that restarts in each session covers the devices of its group, state that lasts covers all.
        """
        members = self.groups.members(session)
        participants = self.expected(float(self.probabilities[members].sum()))
        if self.sessions.keep_state or not self.groups.several:
            return participants, self.probabilities.tolist(), None
        return participants, self.probabilities[members].tolist(), np.flatnonzero(members)

    def _model(self) -> Any:
        """Return the model [d] that the next device starts from."""
        if self._walk:
            return self._walk[-1].w
        return self._algorithm.broadcast(self.state)

    def _lr(self, round_key: RoundKey) -> float:
        """Return the learning rate of a round; its schedule restarts in each session.

        With `lr_clock: updates`, rounds where the algorithm has only waited do not advance the schedule, as in
        MIFA's program. Extra rounds use half of the initial rate, as in the dynamic-devices paper's program.
        """
        if round_key.extra:
            return self.training.lr / 2
        index = round_key.round - 1
        if self.training.lr_clock == "updates":
            index -= self._waited
        return self.training.rate(index, self.sessions.rounds)

    def _train(self, command: PassOn | Learn) -> tuple[Updates, float]:
        """Train each update from the model that its device had received; return updates and mean loss."""
        for device, cell, stage, version in command.arrivals:
            received = self._sent[stage][cell]
            samples = self._samples(device, received.changes)
            self.learner.submit(
                device,
                version,
                received.w,
                received.downlink,
                statistics=received.statistics,
                lr=received.lr,
                samples=samples,
            )
        return self.learner.collect(command.round_key.named(several=self.sessions.several))

    def _end_walk(self) -> float:
        """Make the last model of the walk the global one; return the mean training loss, weighted by samples."""
        self._received = np.unique(np.array([device for device, _ in self._losses], dtype=np.int64))
        self.state = {**self.state, "w": self._walk[-1].w}
        losses = [model.loss for model in self._walk]
        samples = [model.samples for model in self._walk]
        self._walk = []
        return float(np.average(losses, weights=samples))

    def _aggregate(self, command: Learn, columns: dict[str, Any]) -> Updates:
        """Train all updates that have arrived, and aggregate them; add to the round's columns, return the updates."""
        updates, loss = self._train(command)
        if updates.losses is not None:
            pairs = zip(self.learner.members.devices(updates.ids).tolist(), updates.losses.tolist(), strict=True)
            self._losses = [[device, device_loss] for device, device_loss in pairs]
        staleness = np.array([command.number - arrival.version for arrival in command.arrivals])
        updates = replace(updates, staleness=staleness)
        state = self._next_state(updates, np.array([arrival.cell for arrival in command.arrivals]))
        # A single NaN or infinity spoils the sum, so that one pass finds it.
        if not math.isfinite(state["w"].sum()):
            where = command.round_key.named(several=self.sessions.several)
            raise diverged(where, "it has NaN or infinite numbers", self.learning_rates)
        self.state = state
        columns["train_loss"] = loss
        columns |= self._algorithm.trace(self.state, updates)
        return updates

    def _measured_round(self, round_key: RoundKey) -> MeasuredRound:
        return MeasuredRound(
            learner=self.learner,
            algorithm=self._algorithm,
            round_key=round_key,
            tested_classes=self.groups.labels(round_key.session),
            members=np.flatnonzero(self.groups.members(round_key.session)),
            state=self.state,
        )

    def _learn_without_updates(self, command: Learn) -> dict[str, float]:
        """Learn only from stored updates; return the algorithm's traces."""
        updates = self.learner.empty_updates(self.state, command.number, self._lr(command.round_key))
        self.state = self.learner.aggregate(self.state, updates)
        return self._algorithm.trace(self.state, updates)

    def _next_state(self, updates: Updates, cells: Ids) -> dict[str, Any]:
        """Return the server's next state.

        With edge models, the global model is their mean, as if a cloud merged them now.
        """
        if self._edges is None:
            return self.learner.aggregate(self.state, updates)
        self._edges = self._edges.learn(updates, cells, self.learner.aggregate)
        w, statistics = self._edges.mean()
        self.learner.use_statistics(statistics)
        return {**self.state, "w": w}

    # Losses and evaluations

    def losses_of(self, ids: Ids, samples: Ids, index: int) -> Floats:
        """Return the model's loss [n] on `samples` [n] of each device's own samples, drawn by the round's `index`."""
        return self.learner.evaluator.losses(self._model(), self.learner.statistics, ids, samples, index)

    def norms_of(self, ids: Ids, counted: Ints | None, round_key: RoundKey, number: int) -> Floats:
        """Return the L2 norms [n] of the updates that devices [n] would send of the present model; see Replay."""
        with self.naming(round_key):
            w = self._model()
            downlink = self._algorithm.downlink(self.state)
            return self.learner.norms(ids, number, w, downlink, self._lr(round_key), counted)

    def evaluations(self, round_key: RoundKey) -> Evaluations:
        """Begin to evaluate the global model, and the other models that the report wants, in the background."""
        labels = self.groups.labels(round_key.session)
        evaluate = self.learner.evaluator.evaluate
        statistics = self.learner.statistics
        if self.learner.has_own_models:  # there is no other model than those of the devices
            return {"test": self.learner.evaluate_own(self.state["w"])}
        pending = {"test": evaluate(self.state["w"], statistics, labels, self._tested_devices(round_key))}
        held_out = self.learner.task.validation_of(labels)
        if len(held_out):
            pending["validation"] = self.learner.evaluator.evaluate_held_out(self.state["w"], statistics, held_out)
        for name, w in self.learner.mean_models(self._received).items():
            pending[name] = evaluate(w, statistics, labels)
        return pending

    def device_accuracies(self) -> Floats | None:
        """Return the model's accuracy [devices] on each device's own samples; None without classes."""
        return self.learner.accuracies(self.state["w"])

    def _tested_devices(self, round_key: RoundKey) -> Ids | None:
        """Return the devices [n] on whose training samples the model is tested; None if the report asks for none."""
        wanted = self.report.train_accuracy
        if wanted is None:
            return None
        if wanted == "participants":
            return self._received
        members = np.flatnonzero(self.groups.members(round_key.session))
        if wanted == "all":
            return members
        count = min(math.ceil(self.learner.run.participants), len(members))
        rng = self.learner.task.streams.generator("train_accuracy", round_key.session, round_key.round)
        return np.sort(rng.choice(members, count, replace=False))

    def trained(self) -> TrainedModel:
        """Return the global model, with the statistics that it is evaluated with."""
        return self.snapshot()()

    def snapshot(self) -> Callable[[], TrainedModel]:
        """Return a function that returns the present global model, whatever is learned until it is called."""
        return partial(self.learner.trained, self.state["w"], self.learner.statistics)

    # Checkpoints

    def save(self, file: BinaryIO) -> None:
        """Write the whole state, between two rounds."""
        values = {
            "state": self.state,
            "session": self._session,
            "received": self._received,
            "waited": self._waited,
            "changes": self._changes,
            "sent": {stage: [list(received) for received in sent] for stage, sent in self._sent.items()},
            "edges": None if self._edges is None else vars(self._edges),
            "session_models": self._session_models.dump(),
        }
        self.learner.save(file, values)

    def restore(self, file: BinaryIO) -> None:
        """Restore the state that `save` has written."""
        values = self.learner.restore(file)
        self.state = values["state"]
        self._session = values["session"]
        self.learner.limit(*self._population_of(self._session))
        self._received = values["received"]
        self._waited = values["waited"]
        self._change(values["changes"])
        self._sent = {stage: [Received(*received) for received in sent] for stage, sent in values["sent"].items()}
        self._edges = values["edges"] and EdgeModels(**values["edges"])
        self._session_models.restore(values["session_models"])
