"""The global model and all that learning keeps beside it: changed by what it is told, and by nothing else.

So its state is a function of what it has been told, which can be saved, restored, and told again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.errors import RunError
from edgefl.learning.algorithms.steps import new_session
from edgefl.learning.edge_models import EdgeModels
from edgefl.scenario import RoundKey, Scenario
from edgefl.server.sessions import Groups, SessionModels

if TYPE_CHECKING:
    from edgefl.learning.algorithms import Updates
    from edgefl.learning.learner import Learner, Pending

Received = tuple[Any, Mapping[str, Any], Any, float]  # a model, what comes with it, statistics, the learning rate
Evaluations = Mapping[str, "Pending"]  # by the name of the model: test (the global one), sel, all


class Arrival(NamedTuple):
    """An update that has arrived."""

    device: int
    cell: int
    stage: int  # of the model that the device had got
    version: int  # of that model: aggregations before


@dataclass(frozen=True)
class Send:
    """Devices get the model as it is at a stage, for which they will be heard of again."""

    stage: int
    round_key: RoundKey

    def tell(self, model: GlobalModel) -> None:
        """Keep it."""
        model.send(self.stage, self.round_key)


@dataclass(frozen=True)
class Forget:
    """Devices that are under way have got the model at these stages, and at no others."""

    held: frozenset[int]

    def tell(self, model: GlobalModel) -> None:
        """Let go of what nobody has."""
        model.forget(self.held)


@dataclass(frozen=True)
class Enter:
    """A round begins."""

    round_key: RoundKey
    number: int  # aggregations before

    def tell(self, model: GlobalModel) -> None:
        """Begin a session, if it is a session's first."""
        model.enter(self.round_key, self.number)


@dataclass(frozen=True)
class PassOn:
    """The model that has just arrived is the one that the next device gets."""

    round_key: RoundKey
    arrivals: tuple[Arrival, ...]

    def tell(self, model: GlobalModel) -> None:
        """Train it."""
        model.pass_on(self)


@dataclass(frozen=True)
class Learn:
    """A round ends."""

    round_key: RoundKey
    number: int  # aggregations before
    arrivals: tuple[Arrival, ...]  # in order of devices
    awaited: tuple[int, ...]  # of whom the next model waits
    merge: bool  # the cloud averages the models of the base stations

    def tell(self, model: GlobalModel) -> dict[str, Any]:
        """Train and aggregate."""
        return model.learn(self)


@dataclass(frozen=True)
class Depart:
    """Devices have left and lost what they kept."""

    devices: tuple[int, ...]  # ascending; only those that have been heard since they last left
    forget: bool  # the server takes them out of what it keeps

    def tell(self, model: GlobalModel) -> None:
        """Let go of what they kept."""
        model.depart(self)


Command = Send | Forget | Enter | PassOn | Learn | Depart


class GlobalModel:
    """Holds the server's state of learning.

    Args:
        scenario: the whole scenario.
        learner: trains.
        chances: [devices] with which each is there in a round.
        groups: of devices, that take turns.
    """

    def __init__(self, scenario: Scenario, learner: Learner, chances: Floats, groups: Groups) -> None:
        self.learner = learner
        self._scenario, self._algorithm, self._report = scenario, scenario.learning, scenario.report
        self._sessions, self._groups = scenario.in_sessions, groups
        present = float(chances[groups.there(1)].sum())
        expected = scenario.server.selection.expected(scenario.participants, present)
        keeps = self._sessions.keep_state
        lasting, turns = (self._sessions.total, 1) if keeps else (self._sessions.rounds, scenario.groups)
        self.state: dict[str, Any] = learner.begin(lasting, expected, chances.tolist(), turns)
        fresh = partial(new_session, self._algorithm, population=len(learner.task.parts))
        start = learner.initial, learner.statistics
        self._starts = SessionModels(self._sessions, *start, fresh, learner.weight_tensors)
        self._edges: EdgeModels | None = None  # where base stations have models of their own
        if scenario.server.policy.edge_models:
            self._edges = EdgeModels.alike(self.state["w"], learner.statistics, scenario.cells.sites)
        self._walk: list[tuple[Any, float, int]] = []  # a model from device to device, with training loss and samples
        self._losses: list[list[float]] = []  # of whom, and which, since the last round ended
        self._heard: Ids = np.empty(0, dtype=np.int64)  # whose updates the last round learned from
        self._sent: dict[int, list[Received]] = {}  # by stage: what the devices of each cell have got

    def enter(self, round_key: RoundKey, number: int) -> None:
        """Begin a round after `number` aggregations; where a session begins, with the model that it starts from."""
        self.state, statistics = self._starts.enter(round_key, self.state, self.learner.statistics)
        self.learner.use_statistics(statistics)
        if self._sessions.begins_anew(round_key):
            self.learner.restart(number)

    def send(self, stage: int, round_key: RoundKey) -> None:
        """Keep what the devices of each cell get now, in a round."""
        algorithm, lr, statistics = self._algorithm, self._lr(round_key), self.learner.statistics
        if self._edges is None:
            received = self._model(), algorithm.downlink(self.state), statistics, lr
            self._sent[stage] = [received] * len(self._scenario.cells.sites_m)
            return
        models = zip(self._edges.models, self._edges.statistics, strict=True)
        self._sent[stage] = [(algorithm.broadcast({"w": w}), algorithm.downlink({"w": w}), b, lr) for w, b in models]

    def _model(self) -> Any:
        """What the next device starts from."""
        return self._walk[-1][0] if self._walk else self._algorithm.broadcast(self.state)

    def losses_of(self, ids: Ids, samples: Ids, index: int) -> Floats:
        """The loss [n] of the model as it is, on `samples` [n] of the own ones of devices [n], drawn for a round."""
        return self.learner.losses(self._model(), ids, samples, index)

    def depart(self, told: Depart) -> None:
        """Let go of what devices kept that have left."""
        self.state = dict(self.learner.depart(np.array(told.devices), self.state, forget=told.forget))

    def forget(self, stages: frozenset[int]) -> None:
        """Let go of what no device that is under way has got."""
        self._sent = {stage: sent for stage, sent in self._sent.items() if stage in stages}

    def _train(self, told: PassOn | Learn) -> tuple[Updates, float]:
        """The updates of those who have been heard, and the mean training loss."""
        for device, cell, stage, version in told.arrivals:
            self.learner.submit(device, version, *self._sent[stage][cell])
        return self.learner.collect(told.round_key.named(several=self._sessions.several))

    def _lr(self, round_key: RoundKey) -> float:
        """The learning rate of a round: the schedule begins anew in each session, with half of it in extra rounds.

        That half is the dynamic-devices paper's program's.
        """
        training = self._scenario.training
        return training.lr / 2 if round_key.extra else training.rate(round_key.round - 1, self._sessions.rounds)

    def pass_on(self, told: PassOn) -> None:
        """Make the model that has just arrived the one that the next device gets, without averaging."""
        updates, loss = self._train(told)
        start = self._sent[told.arrivals[0].stage][0][0]
        self._losses.append([int(updates.ids[0]), loss])
        self._walk.append((start + updates.vectors["delta"][0], loss, int(updates.samples[0])))

    def learn(self, told: Learn) -> dict[str, Any]:
        """End a round: train and aggregate.

        Returns:
            `columns`: those of the round, less the test's; `losses`: of each device's training, with its id;
            `contributions`: each player's id and value, where it is their turn.
        """
        if told.awaited:
            self.state = {**self.state, "awaited": np.array(told.awaited)}
        outcome: dict[str, Any] = {"columns": {"train_loss": None, "test_loss": None, "test_accuracy": None}}
        if self._walk:
            outcome["columns"]["train_loss"] = self._arrive()
        else:
            self._heard = np.array([arrival.device for arrival in told.arrivals], dtype=np.int64)
            if told.arrivals:
                outcome = self._aggregate(told, outcome["columns"])
            elif self._algorithm.replays:
                outcome["columns"] |= self._replay(told)
        if told.merge and self._edges is not None:
            self._edges = self._edges.merged()
        outcome["losses"], self._losses = self._losses, []
        return outcome

    def _arrive(self) -> float:
        """The model that has walked becomes the global one; the mean training loss by samples."""
        models, losses, samples = zip(*self._walk, strict=True)
        self._heard = np.unique(np.array([device for device, _ in self._losses], dtype=np.int64))
        self.state, self._walk = {**self.state, "w": models[-1]}, []
        return float(np.average(losses, weights=samples))

    def _aggregate(self, told: Learn, columns: dict[str, Any]) -> dict[str, Any]:
        """Train all who have been heard and learn from them; the training loss and the algorithm's traces."""
        updates, loss = self._train(told)
        if updates.losses is not None:
            self._losses = [list(each) for each in zip(updates.ids.tolist(), updates.losses.tolist(), strict=True)]
        staleness = np.array([told.number - arrival.version for arrival in told.arrivals])
        updates = replace(updates, staleness=staleness)
        before, wanted, round_key = self.state, self._report.contributions, told.round_key
        state = self._next(updates, np.array([arrival.cell for arrival in told.arrivals]))
        if not math.isfinite(state["w"].sum()):  # one pass: a number that is none spoils its sum
            raise diverged(self._scenario, round_key, "it has NaN or infinite numbers")
        self.state = state
        columns = {**columns, "train_loss": loss, **self._algorithm.trace(self.state, updates)}
        if not wanted or round_key.extra or round_key.round % wanted.every:
            return {"columns": columns}
        players = updates.ids if wanted.players == "participants" else self._algorithm.contributors(self.state, updates)
        values = self.learner.contributions(before, updates, players, self._groups.labels(round_key.session))
        return {"columns": columns, "contributions": list(zip(players.tolist(), values.tolist(), strict=True))}

    def _replay(self, told: Learn) -> dict[str, float]:
        """Learn from nobody; the algorithm's traces."""
        updates = self.learner.empty_updates(self.state, told.number, self._lr(told.round_key))
        self.state = self.learner.aggregate(self.state, updates)
        return self._algorithm.trace(self.state, updates)

    def _next(self, updates: Updates, cells: Ids) -> dict[str, Any]:
        """The server's next state; with models at the base stations, the mean of these that a cloud would get."""
        if self._edges is None:
            return self.learner.aggregate(self.state, updates)
        self._edges = self._edges.learn(updates, cells, self.learner.aggregate)
        w, statistics = self._edges.mean()
        self.learner.use_statistics(statistics)
        return {**self.state, "w": w}

    def evaluations(self, session: int) -> Evaluations:
        """The global model's, and those of the models that the scenario wants besides; in the background."""
        models = {"test": self.state["w"], **self.learner.mean_models(self._heard)}
        labels = self._groups.labels(session)
        return {name: self.learner.evaluate(w, labels) for name, w in models.items()}

    def save(self, file: BinaryIO) -> None:
        """Write all of it, between two rounds."""
        values = {
            "state": self.state,
            "heard": self._heard,
            "sent": {stage: [list(received) for received in sent] for stage, sent in self._sent.items()},
            "edges": None if self._edges is None else vars(self._edges),
            "starts": self._starts.dump(),
        }
        self.learner.save(file, values)

    def restore(self, file: BinaryIO) -> None:
        """Take back what `save` has written."""
        values = self.learner.restore(file)
        self.state, self._heard = values["state"], values["heard"]
        self._sent = {stage: [tuple(received) for received in sent] for stage, sent in values["sent"].items()}
        self._edges = values["edges"] and EdgeModels(**values["edges"])
        self._starts.restore(values["starts"])


def diverged(scenario: Scenario, round_key: RoundKey, how: str) -> RunError:
    """What ends a run whose global model is of no use since a round: where, and the likely cause."""
    where = round_key.named(several=scenario.in_sessions.several)
    has_rate = "server_lr" in type(scenario.algorithm).model_fields
    rates = "training.lr or algorithm.server_lr" if has_rate else "training.lr"
    text = f"{where}: the global model diverged ({how}); the likely cause is a learning rate that is too high"
    return RunError(f"{text}: lower {rates}")
