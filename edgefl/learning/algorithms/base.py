"""What an algorithm is: arithmetic on flat parameter vectors, written for one client.

The engine may hand every hook a leading client axis ([C, d] for vectors, [C, 1] for scalars such as the learning rate):
the same lines serve one client and a whole batch. All hooks are pure and default to FedAvg.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from edgefl.core.catalogue import Member

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RunInfo:
    """What all rounds of a run have in common."""

    population: int = 1  # devices in the scenario, N
    rounds: int = 1  # before the server's state begins anew, T
    participants: float = 1.0  # expected in a round, m
    lr: float = 1.0  # learning rate that the schedule starts from, eta_0
    steps: float = 1.0  # local steps of a device with the mean number of samples, K_ref
    momentum: float = 0.0  # of local SGD
    labels: tuple[int, ...] = ()  # samples of each class that all devices hold together
    test_labels: tuple[int, ...] = ()  # samples of each class in the test set
    presence: tuple[float, ...] = ()  # with which chance each device is there in a round; always where not given
    groups: int = 1  # of devices, of which one is there before the server's state begins anew
    began: int = 0  # index of the round with which that state began
    samples: float = 1.0  # that a device holds on average
    work: tuple[int | None, int | None, int | None] = (None, 1, None)  # epochs or steps, and batch size, None for all


class ForwardPass(NamedTuple):
    """What a model makes of samples."""

    outputs: Tensor  # [..., B, classes]
    z: Tensor  # [..., B, features] representations: what the last linear layer gets; where it is the first, the outputs


class Batch(NamedTuple):
    """What the samples of a step are besides."""

    y: Tensor  # [..., B] labels
    weight: Tensor  # [..., B] of each in the loss; 0 for padding
    received: Mapping[str, Tensor]  # what `downlink` sent besides w


@dataclass(frozen=True)
class LocalContext:
    """What one device knows during its local training."""

    start: Tensor  # [d] the model as received
    lr: Tensor | float  # this round's learning rate
    received: Mapping[str, Tensor] = field(default_factory=dict)  # what `downlink` sent besides w
    state: Mapping[str, Tensor] = field(default_factory=dict)  # what `remember` kept in its last round
    steps: Tensor | float = 1.0  # local steps of this round, K
    weight: Tensor | float = 1.0  # its samples over the mean of all devices, omega
    index: Tensor | float = 0.0  # of the round, from 0
    gradient: Tensor | float = 0.0  # [d] of the mean loss of all its samples at `start`, where `needs_gradient`
    run: RunInfo = RunInfo()


@dataclass(frozen=True)
class Updates:
    """What the server received in one round, stacked over participants in the order of their ids."""

    vectors: Mapping[str, Tensor]  # what `finish` uploaded, each [C, d]
    ids: npt.NDArray[np.int64]  # [C]
    samples: npt.NDArray[np.int64]  # [C] size of each device's data set
    population: int  # devices in the scenario, N
    steps: npt.NDArray[np.float64] | None = None  # [C] local steps that each took
    losses: npt.NDArray[np.float64] | None = None  # [C] mean training loss of each
    staleness: npt.NDArray[np.int64] | None = None  # [C] aggregations since each got its model; None is 0
    starts: tuple[Tensor, ...] | None = None  # [C] models [d] that each got; None is the server's present one for all
    index: int = 0  # of the round, from 0
    lr: float = 1.0  # learning rate of the round
    labels: npt.NDArray[np.int64] | None = None  # [C, classes] how many samples of each class a device has
    statistics: Tensor | None = None  # [C, b] of batch normalisation
    weights: npt.NDArray[np.float64] | None = None  # [C], in place of the algorithm's own in `mean`
    run: RunInfo = RunInfo()

    def mean(self, name: str = "delta", *, by_samples: bool = False) -> Tensor:
        """The mean [d] of an upload over participants: by `weights` where there are any, else uniform or by samples."""
        vectors, weights = self.vectors[name], self.weights
        if weights is None and by_samples:
            weights = self.samples / self.samples.sum()
        return vectors.mean(dim=0) if weights is None else vectors.new_tensor(weights) @ vectors

    def only(self, rows: npt.NDArray[np.int64]) -> Updates:
        """The updates of some participants, by their rows."""

        def cut(value: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
            return None if value is None else value[rows]

        return replace(
            self,
            vectors={name: vector[rows] for name, vector in self.vectors.items()},
            ids=self.ids[rows],
            samples=self.samples[rows],
            steps=cut(self.steps),
            losses=cut(self.losses),
            staleness=cut(self.staleness),
            starts=None if self.starts is None else tuple(self.starts[row] for row in rows.tolist()),
            labels=cut(self.labels),
            statistics=None if self.statistics is None else self.statistics[rows],
            weights=cut(self.weights),
        )


def _zeros(d: int) -> Tensor:
    """A vector [d] for hooks, which are arithmetic, so that NumPy serves."""
    import numpy as np

    return cast("Tensor", np.zeros(d))


DEVICE_HOOKS = (
    "client_state", "downlink", "needs_gradient", "references", "loss", "correct", "decay", "finish", "remember",
)  # fmt: skip
"""The hooks of `Algorithm` that decide how a device trains and what it sends."""


class Algorithm(Member):
    """Base of all algorithms; the fields of a subclass are its hyper-parameters."""

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """What the server keeps, from the initial model [d]; the entry "w" is the global model."""
        return {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """What the server keeps of each device, before its first update: its state has N rows of it, by device id."""
        return {}

    def initial_state(self, w: Tensor, population: int) -> dict[str, Tensor]:
        """No hook: the server's state before the first round, `server_state` and N rows of `device_rows`."""
        rows = {name: row.repeat(population, 1) for name, row in self.device_rows(w).items()}
        return {**self.server_state(w), **rows}

    def restarted(self, server: Mapping[str, Tensor], w: Tensor, population: int) -> dict[str, Tensor]:
        """The server's state where a session begins with the model w [d], from what the last one has left."""
        return self.initial_state(w, population)

    def keeps_updates(self) -> bool:
        """No hook: whether the server keeps a vector of the model's size of each device."""
        import numpy as np

        return any(np.size(row) == 2 for row in self.device_rows(_zeros(2)).values())

    def counting(self, server: Mapping[str, Tensor], updates: Updates) -> Ids:
        """Ids of the devices whose update, new or stored, has made the server's next state; ascending.

        Args:
            server: the next state.
            updates: what led to it.
        """
        import numpy as np

        kept = [(server[name] != row).any(dim=1).cpu() for name, row in self.device_rows(server["w"]).items()]
        stored = [np.flatnonzero(changed.numpy()) for changed in kept]
        return np.unique(np.concatenate([updates.ids, *stored]))

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """What a device keeps between its rounds, before its first one; from the initial model [d]."""
        return {}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """What a device's `state` counts in the server's means over all N devices, by the names that these have there.

        Args:
            state: what it keeps.
            weight: its samples over the mean of all devices, omega.
        """
        return {}

    def forgets(self) -> bool:
        """No hook: whether the server can take a device out of what it keeps."""
        zero = _zeros(1)
        return not self.coupled() or bool(self.held(self.client_state(zero), 1.0))

    def without(
        self, server: Mapping[str, Tensor], ids: Ids, held: Iterable[Mapping[str, Tensor]], population: int
    ) -> dict[str, Tensor]:
        """No hook: the server's state as if devices had never taken part, but for the model.

        The means stay means over all N: these devices count as at the beginning.

        Args:
            server: its state.
            ids: of the devices [n].
            held: what `held` says of each [n].
            population: N.
        """
        after = dict(server)
        for theirs in held:
            for name, vector in theirs.items():
                after[name] = after[name] - vector / population
        for name, row in self.device_rows(server["w"]).items():
            after[name] = server[name].clone()
            after[name][ids] = row
        return after

    def divisible(self) -> bool:
        """Whether each of several servers can run it for devices of its own: it keeps nothing but the model."""
        return not self._keeps_more()

    def _keeps_more(self) -> bool:
        """Whether the server keeps anything besides the model."""
        return set(self.server_state(_zeros(1))) != {"w"} or bool(self.device_rows(_zeros(1)))

    def coupled(self) -> bool:
        """No hook: whether the server keeps sums of what devices keep, so that neither begins anew alone."""
        return self._keeps_more() and bool(self.client_state(_zeros(1)))

    def divides_by_lr(self) -> bool:
        """No hook: whether what devices send or keep is a move over the learning rate, which then must not be 0."""
        import numpy as np

        zero = _zeros(1)
        local = LocalContext(
            zero, 0.0, self.downlink(self.server_state(zero)), self.client_state(zero), run=RunInfo(lr=0.0)
        )
        with np.errstate(all="ignore"):
            made = [*self.finish(zero, local).values(), *self.remember(zero, local).values()]
        return not all(np.isfinite(np.asarray(vector)).all() for vector in made)

    def trains_by_plain_sgd(self) -> bool:
        """No hook: whether devices run nothing but SGD on the task's loss, and send nothing but how far they moved."""
        return all(getattr(type(self), hook) is getattr(Algorithm, hook) for hook in DEVICE_HOOKS)

    def only_averages(self) -> bool:
        """Whether the next model is a weighted mean of the participants' models: of one device's, that model."""
        return False

    def uploads_changes(self) -> bool:
        """Whether devices send how a vector that they keep has changed, and the server adds these changes up."""
        return False

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        """Return the hyper-parameter that does not suit sessions, and why; None if all do.

        Args:
            groups: of devices that take turns; 1 if all devices may take part in each session.
        """
        return None

    def check(self, population: int) -> str | None:
        """Why this algorithm cannot work with so many devices; None if it can."""
        return None

    def awaited(self, before: Ids, heard: Ids, population: int, rng: np.random.Generator) -> Ids:
        """Ids of the devices for which the next model waits: the server's entry "awaited", where there are any.

        Called before the first round with nobody, and after each round, also where nothing is learned.

        Args:
            before: who was awaited in the round.
            heard: whose update has arrived in it.
            population: devices in the scenario, N.
            rng: of the round.
        """
        return before

    def admit(self, ids: Ids, server: Mapping[str, Any], rng: np.random.Generator) -> Ids:
        """Those of the selected devices that are to take part, in the same order; `server` may hold "awaited" alone."""
        return ids

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        """The model [d] that participants start from."""
        return server["w"]

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Vectors sent to participants besides the model."""
        return {}

    def lasting(self) -> frozenset[str]:
        """Which of these stay the same while the server's state grows from one beginning: a device gets them once."""
        return frozenset()

    def needs_gradient(self) -> bool:
        """Whether devices take one more pass over all their samples, for `LocalContext.gradient`."""
        return False

    def references(self, local: LocalContext) -> dict[str, Tensor]:
        """Models [d] that stay as they are, with which `loss` compares; a forward pass each a step."""
        return {}

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """The loss of each sample [..., B], where it is not the task's.

        Args:
            losses: [..., B] of the task.
            own: what the model in training makes of the samples.
            references: what those make of them that `references` names.
            batch: the samples' labels and weights.
        """
        return losses

    def has_own_loss(self) -> bool:
        """No hook: whether `loss` is another than the task's."""
        return type(self).loss is not Algorithm.loss

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """The gradient after the algorithm's corrections, before clipping and weight decay."""
        return gradient

    def decay(self, local: LocalContext) -> Tensor | float:
        """Weight decay beside that of the scenario, which no clipping sees; the same at every step."""
        return 0.0

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """The vectors that a device uploads after training; w [d] is the result of its training."""
        return {"delta": w - local.start}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Those vectors of `finish` that the server can work out itself, so that they need not be sent.

        Args:
            upload: the other ones.
            local: what the server knows too: all but the device's `state` and `gradient`.
        """
        return {}

    def upload(self, w: Tensor, local: LocalContext, *, minimal: bool) -> dict[str, Tensor]:
        """No hook: what a device sends, `finish`; where it is to be minimal, without what is `derived`."""
        sent = self.finish(w, local)
        left_out = self.derived(sent, local) if minimal else {}
        return {name: vector for name, vector in sent.items() if name not in left_out}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """The device's next client state; w [d] is the result of its training."""
        return {}

    def replays(self) -> bool:
        """Whether the server learns also from nobody, by what it keeps; then `updates` of no rows must do, too."""
        return False

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """The server's next state."""
        raise NotImplementedError

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """More columns of the round's row, from the server's next state and what led to it."""
        return {}
