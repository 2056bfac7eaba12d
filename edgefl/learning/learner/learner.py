"""The learner: collects jobs while the clock runs, and trains them together when the first result is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from torch import Tensor

from edgefl.core.arrays import Floats, Ids, Indices, Ints
from edgefl.core.errors import RunError
from edgefl.learning.algorithms import RunInfo, Updates
from edgefl.learning.algorithms.steps import forget as forget_devices
from edgefl.learning.algorithms.steps import initial_state, new_session, no_vectors
from edgefl.learning.algorithms.trial import watched_outside
from edgefl.learning.learner.calls import Workers, as_is
from edgefl.learning.learner.client_inputs import ClientInputs, first_inputs
from edgefl.learning.learner.contributions import ContributionGame, unheard_rows
from edgefl.learning.learner.evaluation import Evaluator, Pending
from edgefl.learning.learner.jobs import Job
from edgefl.learning.learner.members import Members
from edgefl.learning.learner.memory import budget
from edgefl.learning.learner.networks.network import trained_model
from edgefl.learning.learner.own_models import OwnModels
from edgefl.learning.learner.plans.choice import choose_plan
from edgefl.learning.learner.plans.plan import CannotBatchError, Plan
from edgefl.learning.learner.round_training import RoundTraining
from edgefl.learning.learner.states import snapshot
from edgefl.learning.learner.states.client_states import ClientStates
from edgefl.learning.learner.states.minimal import completed
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.learner.workers.gpu import FlagsForGpus
from edgefl.learning.learner.workers.malloc import keep_memory, return_memory
from edgefl.learning.learner.workers.processes import TrainingWorkers, cores, one_thread_each
from edgefl.learning.learner.workers.rule import messages_each
from edgefl.learning.learner.workers.setup import build_trainers, torch_devices
from edgefl.learning.measures.learned_round import WantedContributions
from edgefl.learning.trained_model import TrainedModel


class Learner:
    """Trains and evaluates; holds the pending jobs, the clients' states and the workers.

    Args:
        task: the learning task.
        device: cpu, cuda (all GPUs) or cuda:i.
        plan: how to train; None: as the scenario says.
        processes: workers on the CPU; None: one for each core.
        brief: all training is so short that this process does it.
        cluster: a Ray cluster whose machines train, see `core.ray_cluster.connected`.

    Raises:
        InputError: the model does not fit the data, or the initial parameters do not fit the model.
    """

    run: RunInfo  # what all rounds have in common; `begin` says how many there are

    def __init__(
        self,
        *,
        task: LearningTask,
        device: str,
        plan: Plan | None = None,
        processes: int | None = None,
        brief: bool = False,
        cluster: Any = None,
    ) -> None:
        self.task = task
        self.run = task.run_info()
        self._algorithm = watched_outside(task.algorithm)  # for its few calls at the server
        devices = torch_devices(device)
        built = build_trainers(task, devices)
        self.initial = built.initial
        self.statistics = built.statistics  # [b] of the global model's batch normalisation
        self._network = built.network
        self._states = ClientStates(task, self.initial, built.kept, built.own_statistics)
        self._own = OwnModels(task.model, built.network, built.kept, self._states, len(task.parts))
        if brief:
            processes = 0
        elif cluster is None:
            processes = _processes(device, processes)
        if processes or brief or cluster is not None:
            return_memory()
        else:  # this process trains
            keep_memory()
        self._workers: Workers
        if cluster is not None:
            from edgefl.learning.learner.workers.cluster import ClusterWorkers  # late: most runs have no cluster

            self._workers = ClusterWorkers(task, cluster)
        else:
            self._workers = TrainingWorkers(built.trainers, processes or 0, devices=devices)
        self._messages = messages_each(task)
        self.evaluator = Evaluator(self._workers, task)
        self._pending: list[Job] = []
        self.members = Members()
        self._flags = FlagsForGpus()
        # a failed measurement (or Ctrl-C) must not leave worker processes behind
        try:
            if device != "cpu":
                self._flags.hold(self, exact=task.training.precision != "tf32")
            self.plan = plan or choose_plan(task, self._network, self._workers, self._first_inputs())
        except BaseException:
            self.close()
            raise

    def _first_inputs(self) -> ClientInputs:
        return first_inputs(self.task, self.initial, self._states.initial_state, self.statistics, self.run)

    def refusal(self, plan: Plan) -> str | None:
        """Return why clients cannot be trained by a plan; None if they can."""
        try:
            self._workers.submit("rehearse", partial(as_is, (plan, self._first_inputs())), as_is).result()
        except CannotBatchError as error:
            return str(error)
        return None

    # Beginning: the first round, sessions, departures

    def begin(
        self, rounds: int, participants: float, presence: Sequence[float] = (), members: Ids | None = None
    ) -> dict[str, Tensor]:
        """Return the server's state before the first round.

        Args:
            rounds: number of rounds of the run, or until the server's state begins again.
            participants: expected number of participants in a round.
            presence: [N] probability that each device is present in a round; empty: always.
            members: [N] the devices that the state is about, see `limit`.

        Raises:
            RunError: what the server keeps of each device does not fit into the memory.
        """
        self.run = replace(self.run, rounds=rounds)
        self.limit(participants, presence, members)
        algorithm = self.task.algorithm
        population = self.run.population
        rows = algorithm.device_rows(self.initial)
        needed_bytes = population * sum(row.nbytes for row in rows.values())
        free_bytes = budget(self.initial.device)
        if needed_bytes > free_bytes:
            raise RunError(
                f"what the server keeps of each of {population} devices does not fit into the memory: it needs "
                f"{needed_bytes / 1e9:.3g} GB, but only {free_bytes / 1e9:.3g} GB may be used: use fewer devices"
            )
        return initial_state(algorithm, self.initial, population)

    def limit(self, participants: float, presence: Sequence[float] = (), members: Ids | None = None) -> None:
        """Limit the server's state to the devices `members` [N], ascending, or to all; all means are over these N.

        A round expects so many `participants`, and each device is present with a probability (`presence` [N]; empty:
        always).
        """
        self.members = Members(members)
        run = self.task.run_info(members)
        if all(probability == 1 for probability in presence):
            presence = ()  # every worker gets these numbers with every message
        self.run = replace(
            run, rounds=self.run.rounds, began=self.run.began, participants=participants, presence=tuple(presence)
        )

    def restart(self, index: int) -> None:
        """Begin a session with round `index`: forget the states of devices that belong to the server's state."""
        self.run = replace(self.run, began=index)
        self._states.restart()

    def restarted(self, server: Mapping[str, Tensor], w: Tensor) -> dict[str, Tensor]:
        """Return the server's state at the beginning of a session with the model w [d], given that of the last one."""
        return new_session(self._algorithm, server, w, self.run.population)

    def depart(self, ids: Ids, server: Mapping[str, Tensor], *, forget: bool) -> Mapping[str, Tensor]:
        """Forget the states of departed devices; return the server's state, without their share in it if `forget`."""
        if forget:
            concerned = self.members.among(ids)
            shares = (self._states.share_in_means(device, self.run.samples) for device in concerned.tolist())
            rows = self.members.rows(concerned)
            server = forget_devices(self.task.algorithm, server, rows, shares, self.run.population)
        self._states.depart(ids)
        return server

    # Training

    def submit(
        self,
        device: int,
        index: int,
        start: Tensor,
        received: Mapping[str, Tensor],
        statistics: Tensor | None = None,
        lr: float | None = None,
        samples: Indices | None = None,
    ) -> None:
        """Queue a device's training as a job in round `index`, from 0; nothing is computed yet.

        Args:
            device: the device's id.
            index: index of the round, from 0.
            start: [d] the model that the device received.
            received: the vectors that came with it.
            statistics: [b] of batch normalisation that came with it; None: the current ones.
            lr: learning rate; None: that of the round in a run without sessions.
            samples: [n] the training samples of this round; None: all that the device holds.
        """
        if statistics is None:
            statistics = self.statistics
        if lr is None:
            lr = self.task.training.rate(index, self.run.rounds)
        factor = self.task.training.lr_factor(device, index)
        self._pending.append(Job(device, index, start, received, statistics, lr, samples, factor))

    def collect(self, where: str | None = None) -> tuple[Updates, float]:
        """Train all pending jobs; return their updates by ascending device id, and the mean training loss by samples.

        The updates have `rows` instead of ids. Error messages name the round `where`; None: as the job does.

        Raises:
            HookError: a hook of the algorithm fails or returns a wrong value.
            RunError: a training loss or a model is no longer finite.
        """
        jobs = sorted(self._pending, key=lambda job: job.device)
        self._pending = []
        ids = np.array([job.device for job in jobs])
        parts = [job.samples_of(self.task.parts) for job in jobs]
        samples = np.array([len(part) for part in parts])
        steps = self._steps(jobs, samples)
        training = self._trained(jobs, steps, samples, where)
        statistics = training.outcome["statistics"]
        uploads = self._received_uploads(training, jobs, steps, samples)
        losses = training.outcome["losses"].cpu().numpy()
        index, lr = max((job.index, job.lr) for job in jobs)  # of the latest round that is among the jobs
        updates = Updates(
            uploads,
            self.members.rows(ids),
            samples,
            self.run.population,
            steps,
            losses,
            index=index,
            lr=lr,
            starts=tuple(job.start for job in jobs),
            labels=self.task.class_counts(parts),
            statistics=statistics,
            run=self.run,
        )
        if len(self._network.statistics):
            self.statistics = updates.mean_statistics()
        return updates, float(np.average(losses, weights=samples))

    def norms(
        self, ids: Ids, index: int, w: Tensor, received: Mapping[str, Tensor], lr: float, counted: Ints | None
    ) -> Floats:
        """Return the L2 norms [n] of the moves that devices `ids` [n] would make from the model w [d]; keep nothing.

        Args:
            ids: the devices, ascending.
            index: index of the round, from 0.
            w: [d] the model that they receive.
            received: the vectors that come with it.
            lr: learning rate.
            counted: [n] number of largest parameters that count; None: all.

        Raises:
            RunError: a training loss or a model is no longer finite.
            ValueError: devices keep states, which this training would change.
        """
        if self._states.store is not None:
            raise ValueError("devices that keep states cannot train to see what they would send")
        if not len(ids):
            return np.zeros(0)
        factor = partial(self.task.training.lr_factor, index=index)
        devices = ids.tolist()
        jobs = [Job(device, index, w, received, self.statistics, lr, None, factor(device)) for device in devices]
        samples = np.array([len(job.samples_of(self.task.parts)) for job in jobs])
        moves = self._trained(jobs, self._steps(jobs, samples), samples, None).uploads["delta"].double()
        if counted is None:
            return np.asarray(moves.norm(dim=1).cpu())
        norms = [move.abs().topk(int(count)).values.norm().item() for move, count in zip(moves, counted, strict=True)]
        return np.array(norms)

    def _steps(self, jobs: Sequence[Job], samples: Ints) -> Floats:
        ids = np.array([job.device for job in jobs])
        indices = np.array([job.index for job in jobs], dtype=np.int64)
        return self.task.workload.steps(ids, indices, samples)

    def _trained(self, jobs: Sequence[Job], steps: Floats, samples: Ints, where: str | None) -> RoundTraining:
        """Train jobs [n], in order of their devices, that take `steps` [n] on `samples` [n]."""
        ids = np.array([job.device for job in jobs])
        # Longest first, so that no worker begins a long cohort when the others are done; similar clients stand next to
        # each other and share cohorts, which need little padding.
        order = np.lexsort((ids, -samples, -steps))
        training = RoundTraining(jobs, self._workers, self._states.store, self.run, self._messages)
        with one_thread_each():
            self.plan = training.train(order, self.plan)
            training.check_finite(where)
        return training

    def _received_uploads(
        self, training: RoundTraining, jobs: Sequence[Job], steps: Floats, samples: Ints
    ) -> Mapping[str, Tensor]:
        """Return the uploads [C, ...] as the server has them: decoded, with the vectors that it derives itself."""
        self._states.compression.apply(jobs, training.uploads)
        if not self.task.training.minimal_uploads:
            return training.uploads
        weights = samples / self.run.samples  # omega, as in `LocalContext.weight`
        return completed(training.uploads, jobs, steps, weights, self.task.algorithm, self.run)

    def empty_updates(self, server: Mapping[str, Tensor], index: int, lr: float) -> Updates:
        """Return the updates, without rows, of round `index` when none has arrived; `server` gives their sizes."""
        vectors = no_vectors(self.task.algorithm, self.initial, server, self.run)
        none = np.empty(0, dtype=np.int64)
        population = self.run.population
        return Updates(vectors, none, none, population, staleness=none, index=index, lr=lr, run=self.run)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return the server's next state; bit by bit the same on any number of cores."""
        # several threads would divide sums among them, and round otherwise for each number of threads
        with one_thread_each():
            return self._algorithm.aggregate(server, updates)

    def use_statistics(self, statistics: Tensor) -> None:
        """Give the global model other statistics [b] of batch normalisation."""
        self.statistics = statistics

    def trained(self, w: Tensor, statistics: Tensor) -> TrainedModel:
        """Return the model w [d] with the statistics [b] of its evaluations.

        Parameters that devices keep have their first values, and beside them those of each device.
        """
        return trained_model(self._network, self._own.first(w), statistics, self.task.data, self._own.tensors())

    # Evaluation

    @property
    def has_own_models(self) -> bool:
        """Whether devices keep a part of the model, so that each has its own."""
        return self._own.exist

    def evaluate_own(self, w: Tensor) -> Pending:
        """Evaluate each device's model on its own samples, given the parameters w [d] that travel; return the means."""
        return self.evaluator.evaluate_own(self._own.of_devices(w, self.statistics))

    def accuracies(self, w: Tensor) -> Floats | None:
        """Return the accuracy on the own samples of each device that has any; None without classes."""
        if self._own.exist:
            return self.evaluator.own_accuracies(self._own.of_devices(w, self.statistics))
        return self.evaluator.accuracies(w, self.statistics)

    def evaluate(self, w: Tensor, classes: tuple[int, ...] | None = None, devices: Ids | None = None) -> Pending:
        """Evaluate the model w [d] with the present statistics, see `Evaluator.evaluate`."""
        return self.evaluator.evaluate(w, self.statistics, classes, devices)

    def views(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the parameters in a vector [d] by the names of their tensors."""
        parameters = self._network.parameters
        return dict(zip(parameters.names, parameters.views(vector), strict=True))

    def mean_models(self, ids: Ids) -> dict[str, Tensor]:
        """Return the extra models [d] of `report.models`, in a round that received updates of `ids`.

        "sel" is the mean of their local models; "all" is the mean of the N devices' last models, with the initial model
        for devices that have sent none (as in the program of FedDyn, Acar et al., 2021).
        """
        members = self.members.ids
        if members is None:
            members = np.arange(len(self.task.parts))
        return self._states.mean_models(ids, members)

    def contributions(
        self,
        wanted: WantedContributions,
        server: Mapping[str, Tensor],
        updates: Updates,
        players: Ids,
        classes: tuple[int, ...] | None = None,
    ) -> Floats:
        """Return the Shapley values of the updates of `players` (rows); `server` is the state before the round.

        With `classes` only the test samples of these count.
        """
        unheard = unheard_rows(wanted, self.task.algorithm, self.initial)
        game = ContributionGame(
            section=wanted,
            server=server,
            updates=updates,
            players=players,
            unheard=unheard,
            aggregate=self.aggregate,
            evaluate=lambda w: self.evaluate(w, classes).result(),
        )
        return game.contributions(self.task.streams)

    # Saving and restoring

    def save(self, file: BinaryIO, more: Mapping[str, Any]) -> None:
        """Write the clients' states, the statistics, the plan and `more` values to a file.

        Raises:
            ValueError: jobs are pending.
        """
        if self._pending:
            raise ValueError("jobs are pending: nothing can be saved between `submit` and `collect`")
        lost = self._states.compression.lost
        lost_names = None
        if lost is not None:
            lost_names = lost.names
        own = {
            "statistics": self.statistics,
            "plan": asdict(self.plan),
            "began": self.run.began,
            "lost": lost_names,
        }
        snapshot.write(file, {"learner": own, **more}, self._states.stores())

    def restore(self, file: BinaryIO) -> dict[str, Any]:
        """Restore what `save` has written, before anything is learned; return the `more` values."""
        values = snapshot.read_values(file, self.initial.device)
        own = values.pop("learner")
        self.statistics = own["statistics"]
        self.plan = Plan(**own["plan"])
        self.run = replace(self.run, began=own["began"])
        if own["lost"]:
            self._states.compression.make_room(own["lost"])
        snapshot.fill_stores(file, self._states.stores())
        return values

    # Properties, and the end

    def described(self) -> dict[str, object]:
        """Return how clients are trained, for the manifest."""
        return {**asdict(self.plan), "workers": len(self._workers), "state_home": self._states.home}

    @property
    def weight_tensors(self) -> list[slice]:
        """The places of the model's weights in a flat vector, tensor by tensor, without biases."""
        slices = self._network.parameters.slices()
        return [place for name, place in slices.items() if "bias" not in name]

    def close(self) -> None:
        """End the workers; give memory and files back, and torch's flags for GPUs."""
        self._workers.close()
        self._states.close()
        self._flags.release()


def _processes(device: str, wanted: int | None) -> int:
    if device != "cpu":
        return 0  # a forked process could not use the GPU either: CUDA does not survive a fork
    return cores() if wanted is None else wanted
