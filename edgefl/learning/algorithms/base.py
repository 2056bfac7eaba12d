"""The hooks of an algorithm: arithmetic on flat parameter vectors, written for one client.

The engine may give every hook of a device a leading client axis ([C, d] for vectors, [C, 1] for scalars such as the
learning rate), so that the same lines serve one client and a batch. All hooks are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from edgefl.core.catalogue import Member
from edgefl.core.streams import Streams

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from edgefl.core.arrays import Floats, Ids, Ints


@dataclass(frozen=True)
class RunInfo:
    """Facts that all rounds share until the server's state begins again.

    All numbers are over the N devices of the state: all of the scenario, or those of the session with groups that take
    turns.
    """

    population: int = 1  # N
    rounds: int = 1  # until the server's state begins again, T
    participants: float = 1.0  # expected number of participants in a round, m
    lr: float = 1.0  # learning rate that the schedule starts from, eta_0
    steps: float = 1.0  # local steps of a device with the mean number of samples, K_ref
    momentum: float = 0.0  # of local SGD
    labels: tuple[int, ...] = ()  # samples of each class that the N devices hold together
    test_labels: tuple[int, ...] = ()  # samples of each class in the test set
    presence: tuple[float, ...] = ()  # [N] probability that each can be asked in a round; empty: always
    began: int = 0  # index of the round when that state began
    samples: float = 1.0  # mean number of samples of a device
    devices: tuple[int, ...] = ()  # [N] ids in the scenario of devices 0 .. N - 1; empty: the same
    work: tuple[int | None, int | None, int | None] = (None, 1, None)  # epochs, steps and batch size; see `LocalWork`
    seed: int | str = 0  # of the run's random numbers
    nesterov: bool = False  # whether the momentum is Nesterov's

    def generator(self, name: str, entity: int = 0, index: int = 0) -> np.random.Generator:
        """Return the generator of a hook's random numbers: the same for the same seed, name, entity and index.

        Args:
            name: what the numbers are for; others get other numbers.
            entity: a device, or 0 for the server.
            index: of the round, from 0.
        """
        return Streams(self.seed).apart(f"algorithm/{name}").generator("hook", entity, index)


class ForwardPass(NamedTuple):
    """Outputs and representations that a model computes from a batch."""

    outputs: Tensor  # [..., B, classes]
    z: Tensor  # [..., B, features] representations: inputs of the last linear layer; the outputs if it is the only one


class AddedLoss(NamedTuple):
    """The term that an algorithm adds to the losses of the task, with its gradient."""

    losses: Tensor  # [..., B]
    z_gradient: Tensor  # [..., B, features] of each sample's loss, in its representation


class Batch(NamedTuple):
    """The samples of a local step, as the hook `loss` sees them."""

    y: Tensor  # [..., B] labels
    weight: Tensor  # [..., B] weight of each sample in the loss; 0 for padding
    received: Mapping[str, Tensor]  # what `downlink` sent besides w


@dataclass(frozen=True)
class LocalContext:
    """Everything that one device knows during its local training."""

    start: Tensor  # [d] the model as received
    lr: Tensor | float  # this round's learning rate
    received: Mapping[str, Tensor] = field(default_factory=dict)  # what `downlink` sent besides w
    state: Mapping[str, Tensor] = field(default_factory=dict)  # what `remember` kept in its last round
    steps: Tensor | float = 1.0  # local steps of this round, K
    weight: Tensor | float = 1.0  # its number of samples over the mean of the N devices, omega
    index: Tensor | float = 0.0  # index of the round, from 0
    gradient: Tensor | float = 0.0  # [d] gradient of the mean loss over all its samples at `start`, if `needs_gradient`
    run: RunInfo = RunInfo()
    epoch_steps: Tensor | float = 1.0  # local steps of one pass over its samples
    device_id: Tensor | float = 0.0  # its id in the scenario

    def rate(self, which: Literal["initial", "current"]) -> Tensor | float:
        """Return the learning rate that the schedule starts from, or that of this round."""
        return self.run.lr if which == "initial" else self.lr

    def each(self, change: Callable[[Tensor], Tensor]) -> LocalContext:
        """Return the same context with `change` applied to every tensor."""

        def changed(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: change(entry) for name, entry in value.items()}
            if isinstance(value, float | RunInfo):  # the same for all devices
                return value
            return change(value)

        return replace(self, **{entry.name: changed(getattr(self, entry.name)) for entry in fields(self)})


@dataclass(frozen=True)
class Updates:
    """Everything that the server received in one round, stacked over participants in the order of their ids.

    Ids count from 0 to N - 1. With groups that take turns they are places in `run.devices`, and N devices are those of
    the session.
    """

    vectors: Mapping[str, Tensor]  # what `finish` uploaded, each [C, d]
    ids: Ids  # [C] rows of the tables of `device_rows`
    samples: Ints  # [C] size of each device's data set
    population: int  # N, see RunInfo
    steps: Floats | None = None  # [C] local steps that each device took
    losses: Floats | None = None  # [C] mean training loss of each device
    staleness: Ints | None = None  # [C] aggregations since each device received its model; None: 0
    starts: tuple[Tensor, ...] | None = None  # [C] model [d] that each device received; None: the server's current one
    index: int = 0  # index of the round, from 0
    lr: float = 1.0  # learning rate of the round
    labels: Ints | None = None  # [C, classes] how many samples of each class a device has
    statistics: Tensor | None = None  # [C, b] buffers of the models, such as statistics of batch normalisation
    weights: Floats | None = None  # [C] weights of means over participants, instead of the algorithm's own
    run: RunInfo = RunInfo()

    def mean(self, name: str = "delta", *, by_samples: bool = False) -> Tensor:
        """Return the mean [d] of an upload over participants: by `weights` if given, else uniform or by samples."""
        vectors = self.vectors[name]
        weights = self.weights
        if weights is None and by_samples:
            weights = self.samples / self.samples.sum()
        if weights is None:
            return vectors.mean(dim=0)
        return vectors.new_tensor(weights) @ vectors

    def mean_statistics(self) -> Tensor:
        """Return the mean [b] of the statistics over participants, by samples whatever the algorithm does.

        Raises:
            ValueError: participants have sent none.
        """
        if self.statistics is None:
            raise ValueError("these updates have no statistics")
        mean = self.statistics.new_tensor(self.samples / self.samples.sum()) @ self.statistics
        return unless_alike(mean, self.statistics)

    def only(self, rows: npt.NDArray[np.int64]) -> Updates:
        """Return the updates of some participants, given by their rows."""

        def cut(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(value[row] for row in rows.tolist())
            return None if value is None else value[rows]

        return replace(
            self,
            vectors={name: vector[rows] for name, vector in self.vectors.items()},
            ids=self.ids[rows],
            samples=self.samples[rows],
            steps=cut(self.steps),
            losses=cut(self.losses),
            staleness=cut(self.staleness),
            starts=cut(self.starts),
            labels=cut(self.labels),
            statistics=cut(self.statistics),
            weights=cut(self.weights),
        )


def unless_alike(mean: Tensor, rows: Tensor) -> Tensor:
    """Return a mean [b] of rows [n, b], with the rows' number where all are equal: no rounding moves a constant."""
    return rows[0].where((rows == rows[0]).all(0), mean)


class Algorithm(Member):
    """Base of all algorithms; the fields of a subclass are its hyper-parameters.

    The hooks stand in the order of a run's calls. All but `aggregate` have a default, that of FedAvg. The
    module `properties` answers questions about an algorithm.
    """

    # Flags: what the code around an algorithm cannot find out by calling its hooks.

    depends_on_rounds: ClassVar[bool | None] = None
    """True if a hook uses `RunInfo.rounds`; False if none does; None: not said, which counts as True from outside."""

    same_steps: ClassVar[bool] = False
    """True if each device takes the steps of one with the mean number of samples, however many samples it has."""

    @property
    def needs_gradient(self) -> bool:
        """True if devices need `LocalContext.gradient`: they then pass over all their samples once more."""
        return False

    @property
    def replays(self) -> bool:
        """True if the server learns from stored updates even in a round without new ones; `aggregate` gets no rows."""
        return False

    @property
    def weighs_population(self) -> bool:
        """True if the weights of updates depend on all devices, so that several servers cannot share them out."""
        return False

    @property
    def uploads_changes(self) -> bool:
        """True if devices upload the change of a vector that they keep, and the server adds up these changes."""
        return False

    @property
    def needs_classes(self) -> bool:
        """True if it works with the classes of samples, which the numbers of a regression do not have."""
        return False

    # Before the first round.

    def know_groups(self, borders: Mapping[str, tuple[int, int]]) -> None:
        """Note the first device of each of `devices.groups`, and the first one after it, by the group's name."""

    def check(self, population: int) -> str | None:
        """Return why this algorithm cannot work with `population` devices; None if it can."""
        return None

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        """Return the hyper-parameter that does not suit sessions, and why; None if all do.

        The number of `groups` that take turns with one state is 1 if each session has its own state.
        """
        return None

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the server's initial state, given the initial model w [d]; the entry "w" is the global model."""
        return {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's rows in the server's state before its first update: tables [N, ...] have N such rows."""
        return {}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the state of a device before its first round, given the initial model w [d]."""
        return {}

    def own_models(self) -> dict[str, str]:
        """Return the vectors of a device's state that begin as a random model, each with the name of a flag.

        As long as the flag, another entry of the state, is 0, the vector is drawn like an initial model, for each
        device.
        """
        return {}

    # Who takes part.

    def awaited(self, awaited: Ids, received: Ids, population: int, rng: np.random.Generator) -> Ids:
        """Return the ids of the devices that the next model waits for: the server's entry "awaited", if any.

        Called with empty ids before the first round, and then after each round, also in runs without learning.

        Args:
            awaited: ids of the devices that the model waited for in the round.
            received: ids of the devices whose update arrived in the round.
            population: devices in the scenario, N.
            rng: the round's random numbers.
        """
        return awaited

    def admit(self, ids: Ids, server: Mapping[str, Any], rng: np.random.Generator) -> Ids:
        """Return the selected devices `ids` that take part, in the same order.

        Args:
            ids: ids of the selected devices.
            server: the server's state; in runs without learning it has only "awaited".
            rng: the round's random numbers.
        """
        return ids

    def waits(self, server: Mapping[str, Any], received: Ids) -> bool:
        """Return True if a round leaves the model as it is, because the algorithm waits for more devices.

        Such rounds do not advance the schedule of the learning rate (`training.lr_clock: updates`). The `server` has
        its state before the round; `received` are the devices whose update arrived, as in `Updates.ids`.
        """
        return False

    # The way down.

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        """Return the model [d] that participants start from."""
        return server["w"]

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the vectors sent to participants besides the model."""
        return {}

    def sent_once(self) -> frozenset[str]:
        """Return the names in `downlink` that never change within a session, so that a device receives them once."""
        return frozenset()

    # Local training.

    def labels(self, y: Tensor, local: LocalContext) -> Tensor:
        """Return the labels [..., B] on which a device trains, given those of its samples y [..., B]."""
        return y

    def references(self, local: LocalContext) -> dict[str, Tensor]:
        """Return the fixed models [d] that `loss` compares with; each costs one forward pass in every step."""
        return {}

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """Return the loss of each sample [..., B].

        Args:
            losses: [..., B] losses of the task.
            own: outputs and representations of the model in training.
            references: the same of each model that the hook `references` returned.
            batch: the samples' labels and weights.
        """
        return losses

    def added_loss(self, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> AddedLoss | None:
        """Return the term that `loss` adds to the task's losses, with its gradient; None leaves that to autograd.

        It only makes steps faster. It must agree with `loss`, and counts only if the same class defines both.
        """
        return None

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the corrected gradient, before clipping and weight decay."""
        return gradient

    def decay(self, local: LocalContext) -> Tensor | float:
        """Return weight decay to add to the scenario's; it is not clipped, and is the same in all steps of a round."""
        return 0.0

    # The way up; w [d] is the result of local training.

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the vectors that a device uploads."""
        return {"delta": w - local.start}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return the vectors of `finish` that the server can derive, so that they need not be sent.

        Args:
            upload: the vectors that are sent.
            local: the device's context; the server knows all of it but `state` and `gradient`.
        """
        return {}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the device's next state."""
        return {}

    # The end of the round.

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return the server's next state."""
        raise NotImplementedError

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return more columns of the round's row, given the server's next state and the updates that led to it."""
        return {}

    def contributors(self, server: Mapping[str, Tensor], updates: Updates) -> Ids:
        """Return the ids, ascending, of the devices whose update, new or stored, is part of the next state `server`."""
        found = [updates.ids]
        # A row that differs from the initial one holds an update from an earlier round.
        for name, row in self.device_rows(server["w"]).items():
            has_stored = (server[name] != row).any(dim=1).cpu().numpy()
            found.append(np.flatnonzero(has_stored))
        return np.unique(np.concatenate(found))

    # Between sessions, and when a device leaves.

    def carried_over(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the entries of the server's state that the next session starts with; all others begin again."""
        return {}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return N times what a device's state adds to means over N devices, by their names in the server's state.

        The `state` is what `remember` returned; `weight` is its number of samples over the mean of all devices, omega.
        """
        return {}
