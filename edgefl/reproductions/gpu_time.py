"""The time of a recipe on a GPU that is not here, estimated from rounds that were measured on an H100.

An estimate, not a measurement: it divides the operations of a run by the operations a second of a measured round, the
one whose model is most like the run's. It leaves out what algorithms other than FedAvg compute besides, and starting.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from edgefl.core.errors import InputError
from edgefl.learning.datasets import DATASETS
from edgefl.learning.models import MODELS
from edgefl.learning.models.base import Model
from edgefl.learning.workload import local_samples
from edgefl.reproductions.plan import Plan, PlannedRun
from edgefl.reproductions.scenarios import scenario_of
from edgefl.runs.result_needs import expected_participants
from edgefl.scenario import Scenario

Shape = tuple[int, ...]

MOST_UNLIKE = 10.0  # factor between the operations of a model and of the measured one, beyond which nothing is said
CLASSES = 10  # of the measured models


class MeasuredRound(NamedTuple):
    """A round of FedAvg on the GPU, with everything that edgefl does, and the same for one client after another."""

    model: str
    shape: Shape  # of a sample
    participants: int
    steps: int  # of each of them
    batch: int
    together_s: float
    in_turn_s: float

    @property
    def member(self) -> Model:
        """The model, with the defaults of its keys."""
        return MODELS.load(self.model)()

    @property
    def sample_flops(self) -> float:
        """The operations of training on a sample."""
        return self.member.flops_per_sample(self.shape, CLASSES)

    @property
    def flops(self) -> float:
        """The operations of the round's training."""
        return self.participants * self.steps * self.batch * self.sample_flops

    @property
    def together_flops_per_s(self) -> float:
        """The operations a second if the GPU trains clients together."""
        return self.flops / self.together_s

    @property
    def in_turn_flops_per_s(self) -> float:
        """The operations a second if it trains one client after another."""
        return self.flops / self.in_turn_s


H100 = (
    MeasuredRound("logistic", (28, 28), 100, 5, 60, 0.0139, 0.40),
    MeasuredRound("fcn", (28, 28), 15, 60, 50, 0.0220, 1.05),
    MeasuredRound("cnn", (3, 32, 32), 10, 10, 50, 0.0545, 0.213),
    MeasuredRound("resnet18", (3, 32, 32), 10, 5, 20, 0.358, 0.57),
    MeasuredRound("resnet18", (3, 32, 32), 50, 5, 10, 1.06, 2.28),
)
"""Rounds on one NVIDIA H100 on 2026-11-26, with edgefl 0.3.0, PyTorch 2.11 and CUDA 13; medians in seconds.

Together: `training.graphs: auto`. In turn: `training.engine: serial` for ResNet-18, and a bare loop for the others.
docs/benchmarks.md has these figures, and the command that measures them. For clients together they make 0.1 (logistic),
2.4 (dense), 8.1 (small CNN), 9.3 and 7.9 (ResNet-18) times 1e12 operations a second.
"""


class Size(NamedTuple):
    """The samples of a dataset, and what a model needs to know of them."""

    train: int
    test: int
    shape: Shape
    outputs: int


PUBLISHED = {
    "cifar10": Size(50_000, 10_000, (3, 32, 32), 10),
    "cifar100": Size(50_000, 10_000, (3, 32, 32), 100),
    "cinic10": Size(90_000, 90_000, (3, 32, 32), 10),
}
"""Datasets as published, for recipes whose data are not here; the datasets' docstrings name the sources."""


class GpuTime(NamedTuple):
    """The estimated time of a plan's runs on the GPU."""

    whole_s: float  # one run after the other
    shortest_s: float  # of one run
    longest_s: float


def gpu_time(plan: Plan, *, data_are_here: bool) -> GpuTime | None:
    """Return the estimated time of a plan on an H100; None if no measured round is like one of its runs.

    Args:
        plan: the recipe at a scale.
        data_are_here: whether its data can be read; otherwise their published size counts.

    Raises:
        InputError: a scenario is wrong, or its data are damaged.
    """
    if not plan.recipe.train:
        return None
    estimate = _Estimate(data_are_here)
    runs_s = []
    for point in plan.points:
        scenario = scenario_of(plan, PlannedRun(point, plan.seeds[0]))
        one_s = estimate.run_s(scenario)
        if one_s is None:
            return None
        runs_s.append(one_s)
    return GpuTime(len(plan.seeds) * sum(runs_s), min(runs_s), max(runs_s))


class _Like(NamedTuple):
    """A model's operations, and the measured round that is most like it."""

    sample_flops: float  # of training
    measured: MeasuredRound


@dataclass
class _Estimate:
    """Estimates of single runs, which share data and models."""

    data_are_here: bool
    _sizes: dict[str, Size | None] = field(default_factory=dict)
    _likes: dict[str, _Like | None] = field(default_factory=dict)

    def run_s(self, scenario: Scenario) -> float | None:
        """Return the time of a run that no key `stop` ends [s]; None if no measured round is like it."""
        policy = scenario.server.policy
        if policy.overlapping or policy.exchanges or policy.splits_model:
            return None  # such rounds were not measured
        if scenario.report.contributions is not None:
            return None  # nor tests of very many subsets of devices
        size = self._size(scenario)
        if size is None:
            return None
        device_samples = size.train / scenario.devices.count
        batch = scenario.training.work.batch_size or round(device_samples)
        like = self._like(scenario.network, size, batch)
        if like is None:
            return None

        rounds = scenario.in_sessions.total
        (samples,) = local_samples(np.array([device_samples]), *scenario.training.work)
        training_flops = rounds * expected_participants(scenario) * samples * like.sample_flops
        flops_per_s = like.measured.together_flops_per_s
        if not policy.averages:  # the model goes from device to device
            flops_per_s = like.measured.in_turn_flops_per_s

        report = scenario.report
        tests = math.ceil(rounds / report.eval_every) * (1 + len(report.models))
        passes = scenario.network.training_passes(size.shape, size.outputs)
        test_flops = tests * size.test * like.sample_flops / passes
        return float(training_flops / flops_per_s + test_flops / like.measured.together_flops_per_s)

    def _size(self, scenario: Scenario) -> Size | None:
        """Return the size of a run's dataset, from its files or as published; None if it is not known."""
        section = scenario.data
        name = DATASETS.name_of(section.dataset)
        if not self.data_are_here:
            return PUBLISHED.get(name)
        key = f"{name} {section.dataset!r} {section.channel_axis}"
        if key not in self._sizes:
            data = section.load()
            size = Size(len(data.train_x), len(data.test_x), data.shape, data.outputs)
            self._sizes[key] = None if data.tokens else size
        return self._sizes[key]

    def _like(self, model: Model, size: Size, batch: int) -> _Like | None:
        """Return a model's operations and the measured round; None if they are not known, or no round is similar."""
        key = f"{MODELS.name_of(model.bare)} {model!r} {size.shape} {size.outputs} {batch}"
        if key not in self._likes:
            self._likes[key] = _found(model, size, batch)
        return self._likes[key]


def _found(model: Model, size: Size, batch: int) -> _Like | None:
    try:
        sample_flops = model.flops_per_sample(size.shape, size.outputs)
        measured = _most_like(model, size, sample_flops, batch)
    except InputError:  # operations of a model from outside may be unknown
        return None
    if measured is None:
        return None
    return _Like(sample_flops, measured)


def _most_like(model: Model, size: Size, sample_flops: float, batch: int) -> MeasuredRound | None:
    """Return the measured round with the most similar model, then batch; None if none is similar.

    Models with convolutions are compared with such models: a GPU computes them at other rates than dense layers.
    """
    convolves = _convolves(model, size.shape, size.outputs)
    alike = [one for one in H100 if _convolves(one.member, one.shape, CLASSES) == convolves]

    def distance(one: MeasuredRound) -> tuple[float, float]:
        """Return the logarithms of the ratios of operations and of batches."""
        return abs(math.log(sample_flops / one.sample_flops)), abs(math.log(batch / one.batch))

    nearest = min(alike, key=distance)
    if distance(nearest)[0] > math.log(MOST_UNLIKE):
        return None
    return nearest


def _convolves(model: Model, shape: Shape, outputs: int) -> bool:
    return model.forward_counts(shape, outputs).convolution_macs > 0
