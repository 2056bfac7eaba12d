"""The learner: takes jobs while the clock runs, trains them together when the first result is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, BinaryIO, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.core.errors import RunError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm, LocalContext, RunInfo, Updates
from edgefl.learning.data_section import Augmentation
from edgefl.learning.datasets import Data
from edgefl.learning.learner import snapshot
from edgefl.learning.learner.choice import chosen, source
from edgefl.learning.learner.coalition import coalition
from edgefl.learning.learner.compression import Compression
from edgefl.learning.learner.engine import LAST
from edgefl.learning.learner.evaluation import Evaluator, Pending
from edgefl.learning.learner.initial import build_module, initial_parameters
from edgefl.learning.learner.layers_gradient import LayersGradient
from edgefl.learning.learner.memory import budget
from edgefl.learning.learner.minimal import completed
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.plan import Plan, Trial
from edgefl.learning.learner.round import Job, Round
from edgefl.learning.learner.samples import Samples
from edgefl.learning.learner.setup import exact_products, in_common, places_of
from edgefl.learning.learner.shapley import EXACT, Coalition, sampled, shapley
from edgefl.learning.learner.store import StateStore
from edgefl.learning.learner.trainer import STATISTICS, Trainer, Vectors
from edgefl.learning.learner.workers import Workers, cores, keep_memory, one_thread_each
from edgefl.learning.models import Model
from edgefl.learning.report_section import ReportSection
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload

T = TypeVar("T")


class Learner:
    """Trains and evaluates; holds the pending jobs, the clients' states and the workers.

    Args:
        model: what is trained.
        algorithm: how.
        training: the scenario's section.
        data: the samples.
        parts: [devices] which training samples each device holds.
        streams: keyed randomness.
        device: cpu, cuda (all GPUs) or cuda:i.
        augmentation: random crops and flips, or None.
        cut: parameters of the front in split learning, see Solver.
        report: which models and contributions are wanted.
        test_parts: [devices] which test samples each device holds; None where the test set is not divided.
        plan: how to train; measured, or taken from the cache, where not given.
        processes: workers on the CPU; one a core where not given.

    Raises:
        InputError: the model does not fit the data, or the initial parameters do not fit the model.
    """

    run: RunInfo  # what all rounds have in common; `begin` says how many there are

    def __init__(
        self,
        model: Model,
        algorithm: Algorithm,
        training: Training,
        data: Data,
        parts: Sequence[npt.NDArray[np.int64]],
        streams: Streams,
        device: str,
        *,
        augmentation: Augmentation | None = None,
        cut: int | None = None,
        report: ReportSection = ReportSection(),  # noqa: B008 - frozen
        test_parts: Sequence[npt.NDArray[np.int64]] | None = None,
        plan: Plan | None = None,
        processes: int | None = None,
    ) -> None:
        dtype = torch.float64 if data.dtype == "float64" else torch.float32
        self.model, self.training, self.data, self.parts = model, training, data, parts
        self._algorithm, self._sizes = algorithm, np.array([len(part) for part in parts])
        self.run = in_common(training, data, parts)
        places = places_of(device)
        module = build_module(model, data, streams).to(dtype)
        self.initial = initial_parameters(model, data, module).to(places[0], dtype)
        trainers = []
        for place in places:
            train = Samples(data.train_x, data.train_y, data.mean, data.std, place, dtype, augmentation)
            test = Samples(data.test_x, data.test_y, data.mean, data.std, place, dtype)
            network = Network(module.to(place))
            trainers.append(Trainer(network, model, algorithm, training, train, test, parts, streams, cut))
        self._network = trainers[0].network
        self.statistics = self._network.initial_statistics.to(places[0])  # [b] of the global model
        self._initial_state = algorithm.client_state(self.initial)
        if training.batch_norm == "local" and len(self._network.statistics):
            self._initial_state[STATISTICS] = self.statistics
        if report.models:
            self._initial_state[LAST] = self.initial
        self._store = StateStore(self._initial_state, len(parts), training.state_home) if self._initial_state else None
        keep_memory()
        if places[0] != "cpu":
            exact_products(exact=training.precision != "tf32")
        self._workers = Workers(trainers, (cores() if processes is None else processes) if device == "cpu" else 0)
        own: Literal["train", "test"] = "train" if test_parts is None else "test"
        self._evaluator = Evaluator(self._workers, data, own, parts if test_parts is None else test_parts)
        self._streams, self._report = streams, report
        self._compression = Compression(training.codec, self.initial, len(parts), streams, training.state_home)
        self._pending: list[Job] = []
        try:
            self.plan = plan or self._plan()
        except BaseException:
            self.close()
            raise

    def begin(
        self, rounds: int, participants: float, presence: Sequence[float] = (), groups: int = 1
    ) -> dict[str, Tensor]:
        """The server's state before the first round.

        Args:
            rounds: before that state begins anew, or those of the run.
            participants: of a round, as is expected.
            presence: [devices] with which chance each is there in a round; always where not given.
            groups: of devices, of which one is there before that state begins anew.

        Raises:
            RunError: what the server keeps of each device does not fit into the memory.
        """
        self.run = replace(self.run, rounds=rounds, participants=participants, presence=tuple(presence), groups=groups)
        rows = self._algorithm.device_rows(self.initial)
        needed = len(self.parts) * sum(row.nbytes for row in rows.values())
        if needed > (free := budget(self.initial.device)):
            sizes = f"{needed / 1e9:.3g} GB, may take {free / 1e9:.3g} GB"
            raise RunError(f"what the server keeps of each of {len(self.parts)} devices does not fit: it takes {sizes}")
        return self._algorithm.initial_state(self.initial, len(self.parts))

    def restart(self, index: int) -> None:
        """Hear that the server's state begins anew with a round `index`, and with it what belongs to it at the devices.

        Their own batch normalisation and the last models that the report wants stay, and what they keep for themselves.
        """
        self.run = replace(self.run, began=index)
        if not self._algorithm.coupled():
            return
        if self._store is not None:
            self._store.forget(self._initial_state.keys() - {STATISTICS, LAST})
        if (lost := self._compression.lost) is not None:
            lost.forget(lost.names)

    def depart(self, ids: npt.NDArray[np.int64], server: Mapping[str, Tensor], *, forget: bool) -> Mapping[str, Tensor]:
        """Hear that devices have left and lost what they kept; the server's state, which may `forget` them, too.

        Their last models stay for the report.
        """
        if forget:
            server = self._algorithm.without(server, ids, map(self._held, ids.tolist()), len(self.parts))
        if self._store is not None:
            self._store.forget(self._initial_state.keys() - {LAST}, ids)
        if (lost := self._compression.lost) is not None:
            lost.forget(lost.names, ids)
        return server

    def _held(self, device: int) -> dict[str, Tensor]:
        """What a device's memory counts in the server's means."""
        kept = {} if self._store is None else self._store.gather(np.array([device]))
        state = {name: vector[0] for name, vector in kept.items()}
        return self._algorithm.held(state, float(self._sizes[device] / self._sizes.mean()))

    def submit(
        self,
        device: int,
        index: int,
        start: Tensor,
        received: Mapping[str, Tensor],
        statistics: Tensor | None = None,
        lr: float | None = None,
    ) -> None:
        """Take a device's training in the round `index`, from the model `start` [d]; nothing is computed yet.

        `statistics` [b] of batch normalisation came with the model; the present ones where not given. `lr` is the
        learning rate, where it is not that of the round in a run without sessions.
        """
        came = self.statistics if statistics is None else statistics
        rate = self.training.rate(index, self.run.rounds) if lr is None else lr
        self._pending.append(Job(device, index, start, received, came, rate))

    @property
    def waiting(self) -> int:
        """How many jobs are pending."""
        return len(self._pending)

    def collect(self, where: str | None = None) -> tuple[Updates, float]:
        """Train all pending jobs; their updates in the order of device ids, and the mean training loss by samples.

        `where` is the round, as messages name it; that of the job where not given.

        Raises:
            RunError: a training loss or a model is no longer a finite number.
        """
        jobs = sorted(self._pending, key=lambda job: job.device)
        self._pending = []
        ids = np.array([job.device for job in jobs])
        samples = self._sizes[ids]
        indices = np.array([job.index for job in jobs], dtype=np.int64)
        steps = Workload(self.training, self._sizes, self._streams).steps(ids, indices)
        order = np.lexsort((ids, -samples, -steps))  # longest first; alike clients together, so that little is padded
        this = Round(jobs, self._workers, self._store, self.run)
        with one_thread_each():
            self.plan = this.train(order, self.plan)
        losses, statistics = this.outcome["losses"], this.outcome["statistics"]
        this.check_finite(where)
        if len(self._network.statistics):
            self.statistics = torch.from_numpy(samples / samples.sum()).to(statistics) @ statistics
        self._compression.apply(jobs, this.uploads)
        vectors, omega = this.uploads, samples / self._sizes.mean()
        if self.training.minimal_uploads:
            vectors = completed(vectors, jobs, steps, omega, self._algorithm, self.training, self.run)
        each = losses.cpu().numpy()
        index, lr = max((job.index, job.lr) for job in jobs)
        updates = Updates(
            vectors,
            ids,
            samples,
            len(self.parts),
            steps,
            each,
            index=index,
            lr=lr,
            starts=tuple(job.start for job in jobs),
            labels=self._histograms(ids),
            statistics=statistics,
            run=self.run,
        )
        return updates, float(np.average(each, weights=samples))

    def nobody(self, server: Mapping[str, Tensor], index: int, lr: float) -> Updates:
        """The updates of a round in which none has arrived, as `collect` would have them: of no rows.

        Args:
            server: its state, which says what uploads look like.
            index: of the round, from 0.
            lr: the round's learning rate.
        """
        algorithm, w, nothing = self._algorithm, self.initial, np.empty(0, dtype=np.int64)
        local = LocalContext(w, 1.0, algorithm.downlink(server), algorithm.client_state(w), run=self.run)
        vectors = {name: vector[None][:0] for name, vector in algorithm.finish(w, local).items()}
        return Updates(vectors, nothing, nothing, len(self.parts), staleness=nothing, index=index, lr=lr, run=self.run)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """The server's next state, as the algorithm says; bit by bit the same on any number of cores."""
        with one_thread_each():
            return self._algorithm.aggregate(server, updates)

    def evaluate(self, w: Tensor, classes: tuple[int, ...] | None = None) -> Pending:
        """The model w [d] on the test set, or on its samples of some classes, in the background."""
        return self._evaluator.evaluate(w, self.statistics, classes)

    def losses(
        self, w: Tensor, ids: npt.NDArray[np.int64], samples: npt.NDArray[np.int64], index: int
    ) -> npt.NDArray[np.float64]:
        """The mean loss [n] of the model w [d] on training samples of devices [n], each by itself.

        It is on all that a device holds, or on so many `samples` [n] of them, drawn anew in each round `index`.
        """
        calls = [
            partial(_same, (w, self.statistics, self._some(*each, index)))
            for each in zip(ids.tolist(), samples.tolist(), strict=True)
        ]
        return np.array([loss.result() for loss in [self._workers.submit("loss", call, float) for call in calls]])

    def _some(self, device: int, samples: int, index: int) -> Tensor:
        """Numbers of so many of a device's training samples."""
        part = self.parts[device]
        few = samples < len(part)
        rng = self._streams.generator("poll", device, index)
        return torch.from_numpy(rng.choice(part, samples, replace=False) if few else part)

    def device_accuracies(self, w: Tensor) -> npt.NDArray[np.float64] | None:
        """Accuracy [devices] of the model w [d] on each device's own samples; None without labels.

        These are test samples where the test set is divided, of the devices that have any; training samples else.
        """
        return self._evaluator.accuracies(w, self.statistics)

    def mean_models(self, ids: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """Further models [d] that the scenario wants evaluated, in a round in which the devices `ids` were heard.

        "sel" is the mean of their local models, "all" the mean of all devices' last ones, the initial model for those
        that were never heard; the FedDyn paper's programs report both (Acar et al., ICLR 2021).
        """
        wanted, store = self._report.models, self._store
        if store is None or not wanted:
            return {}
        means = {"sel": store.mean(LAST, ids)} if "sel" in wanted and len(ids) else {}
        if "all" in wanted:
            means["all"] = store.mean(LAST, np.arange(len(self.parts)))
        return means

    def contributions(
        self,
        server: Mapping[str, Tensor],
        updates: Updates,
        players: npt.NDArray[np.int64],
        classes: tuple[int, ...] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Shapley values [players] of updates: what each adds to what the algorithm makes of `server` and them.

        Args:
            server: the state before the round.
            updates: the round's.
            players: ids of the devices, participants or more.
            classes: only the test samples of these count; all where not given.

        Raises:
            ValueError: the scenario wants none.
        """
        if (wanted := self._report.contributions) is None:
            raise ValueError("report.contributions is not set")

        blank = self._algorithm.device_rows(self.initial) if wanted.players == "all" else {}

        def value(some: Coalition) -> float:
            members = players[list(some)]
            w = self.aggregate(*coalition(server, updates, players, members, blank))["w"] if some else server["w"]
            test = self.evaluate(w, classes).result()
            return -test.loss if wanted.value == "loss" or test.accuracy is None else test.accuracy

        if (count := len(players)) <= EXACT:
            return shapley(count, value)
        rng = self._streams.generator("contributions", 0, updates.index)
        return sampled(rng.permuted(np.tile(np.arange(count), (wanted.permutations, 1)), axis=1), value)

    def described(self) -> dict[str, object]:
        """How clients are trained, for the manifest; what happened to be fastest does not show in the scenario."""
        store = None if self._store is None else self._store.home
        return {**asdict(self.plan), "workers": len(self._workers), "state_home": store}

    def save(self, file: BinaryIO, more: Mapping[str, Any]) -> None:
        """Write the clients' states, the statistics and the plan to a file, with more that is to be there, too.

        Raises:
            ValueError: jobs are pending.
        """
        if self._pending:
            raise ValueError("jobs are pending: nothing can be saved between `submit` and `collect`")
        own = {"statistics": self.statistics, "plan": asdict(self.plan), "began": self.run.began}
        own["lost"] = self._compression.lost and self._compression.lost.names
        snapshot.write(file, {"learner": own, **more}, self._stores())

    def restore(self, file: BinaryIO) -> dict[str, Any]:
        """Take all that back, before anything is learned; what else is there."""
        values = snapshot.values(file, self.initial.device)
        own = values.pop("learner")
        self.statistics, self.plan = own["statistics"], Plan(**own["plan"])
        self.run = replace(self.run, began=own["began"])
        if own["lost"]:
            self._compression.expect(own["lost"])
        snapshot.fill(file, self._stores())
        return values

    def _stores(self) -> dict[str, StateStore]:
        stores = {"clients": self._store, "lost": self._compression.lost}
        return {name: store for name, store in stores.items() if store is not None}

    @property
    def weight_tensors(self) -> list[slice]:
        """Where the model's parameters lie in a flat vector, tensor by tensor, without biases."""
        layout = self._network.parameters
        ends = np.cumsum(layout.sizes).tolist()
        pieces = zip(layout.names, layout.sizes, ends, strict=True)
        return [slice(end - size, end) for name, size, end in pieces if "bias" not in name]

    def close(self) -> None:
        """Let the workers go."""
        self._workers.close()
        for store in self._stores().values():
            store.close()

    def _histograms(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many samples of each class some devices have [C, classes]."""
        y, classes = self.data.train_y, self.data.classes
        return np.array([np.bincount(y[self.parts[device]], minlength=classes)[:classes] for device in ids])

    def _plan(self) -> Plan:
        """The fastest way to train here, or the one that the scenario asks for."""
        training, algorithm, module = self.training, self._algorithm, self._network.module
        server = algorithm.server_state(self.initial)
        received = {name: value[None] for name, value in algorithm.downlink(server).items()}
        state = {name: value[None] for name, value in self._initial_state.items()}
        lr = self.initial.new_tensor([[training.lr]])
        vectors = Vectors(self.initial[None], received, state, self.statistics[None], lr, self.run)

        def attempt(plan: Plan) -> Trial:
            trial: Trial = self._workers.submit("attempt", lambda: (plan, vectors), _same).result()
            return trial

        key = {
            "model": f"{module} {self._network.parameters.shapes}",
            "code": source(module),
            "data": f"{self.data.shape} {self.initial.dtype}",
            "algorithm": type(algorithm).__name__ + algorithm.has_own_loss() * " with its own loss",
        }
        by_hand = LayersGradient.fits(self._network, self.model)
        return chosen(training, self.initial.device, attempt, key, by_hand=by_hand, workers=len(self._workers))


def _same(value: T) -> T:
    return value
