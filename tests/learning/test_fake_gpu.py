"""The paths of a GPU, on a machine without one: nothing stands on the wrong device, and no step waits for a number."""

from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
import torch
from fake_gpu import AUTOGRAD, CUDA, CountedReplays, Launches, fake_device, places, round_on, task_on, trained_on
from model_cases import default, samples
from torch._subclasses.fake_tensor import DataDependentOutputException

from edgefl.learning.algorithms import ALGORITHMS, Updates
from edgefl.learning.algorithms.base import Algorithm
from edgefl.learning.algorithms.fednova import FedNova
from edgefl.learning.algorithms.properties import has_own_loss
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.algorithms.steps import initial_state
from edgefl.learning.data_section import Augmentation
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.learner.workers import trainer
from edgefl.learning.learner.workers.trainer import Trainer
from edgefl.learning.models import MODELS
from edgefl.learning.models.cnn import CnnMnist
from edgefl.learning.models.fcn import Fcn, Mlp

# Once autograd has met a device other than the CPU, torch refuses backward passes in all processes forked later.
pytestmark = pytest.mark.own_process
VMAP = Plan("batched", "vmap", 8)
LAYERS = Plan("batched", "layers", 8)
LARGE = 3_000_000  # parameters: fake ones cost nothing, but the initial ones are drawn
PLACE = {SERIAL: AUTOGRAD, VMAP: AUTOGRAD, LAYERS: CUDA}
NEEDS_TEACHER = {"distilled", "relation_distilled"}  # sessions give it to them


def inputs_of(model, shape, count=19):
    torch.manual_seed(0)
    return samples(model, shape, count).numpy()


def fitting_plans(model, shape, classes):
    plans = [SERIAL, VMAP]
    if LayersGradient.fits(Network(model.module(shape, classes)), model):
        plans.append(LAYERS)
    return plans


# One of each kind of layers: dense, convolutions, batch norm, residual sums, embeddings, attention, a sum of numbers.
# Others have the same layers in other sizes. A language model has a label for each token, the task one for each sample.
KINDS = {"mlp", "lenet5", "svhn_cnn", "resnet20", "fasttext", "din", "quadratic"}
EACH = [
    pytest.param(name, marks=() if name in KINDS else pytest.mark.slow) for name in MODELS.members if name != "llama"
]


@pytest.mark.parametrize("name", EACH)
def test_every_model_in_every_engine(name):
    model, shape, classes = default(name)
    if model.parameters(shape, classes) > LARGE:
        pytest.skip("large: its initial parameters take long to draw")
    task = task_on(model, inputs_of(model, shape), classes, Scaffold())
    for plan in fitting_plans(model, shape, classes):
        with fake_device():
            trained, *_ = trained_on(task, PLACE[plan], plan)
            assert places(trained) == {PLACE[plan]}
            assert trained.uploads["delta"].shape == (3, model.parameters(shape, classes))


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        *((name, LAYERS) for name in ALGORITHMS.members if name not in NEEDS_TEACHER),
        *((name, plan) for name in ("fedavg", "moon", "scaffold") for plan in (SERIAL, VMAP)),
    ],
)
def test_every_algorithm_in_every_engine_and_at_the_server(name, plan):
    algorithm: Algorithm = ALGORITHMS.load(name)()
    place = PLACE[plan]
    if has_own_loss(algorithm):  # autograd differentiates it, whatever the kernel
        place = AUTOGRAD
    task = task_on(Fcn(hidden=(8,)), inputs_of(Fcn(), (4, 5)), 3, algorithm)
    with fake_device():
        trained, _, built = trained_on(task, place, plan)
        assert places(trained) == {place}
        after = algorithm.aggregate(initial_state(algorithm, built.initial, 3), updates_of(task, trained, built))
        assert {str(value.device) for value in after.values()} == {place}


def updates_of(task, trained, built):
    """The updates of a round as the server has them; what is counted is on the host."""
    return Updates(
        trained.uploads,
        np.arange(3),
        np.array([9, 6, 4]),
        3,
        np.full(3, 5.0),
        np.ones(3),
        index=0,
        lr=0.05,
        starts=(built.initial,) * 3,
        labels=task.class_counts(task.parts),
        statistics=trained.statistics,
        run=task.run_info(),
    )


def test_only_fednova_with_a_pull_waits_for_a_number():
    """Its normaliser is a recursion of as many steps as the longest device takes: it asks once a cohort."""
    for algorithm in (FedNova(), FedNova(mu=0.1)):
        task = task_on(Fcn(hidden=(8,)), inputs_of(Fcn(), (4, 5)), 3, algorithm, momentum=0.5)
        waits = pytest.raises(DataDependentOutputException) if algorithm.mu else nullcontext()
        with fake_device(), waits:
            trained_on(task, CUDA, LAYERS)


@pytest.mark.parametrize(
    "training",
    [
        {"momentum": 0.9, "clip_norm": 1.0, "weight_decay": 0.01},
        {"optimizer": "adam"},
        {"epoch_lr_decay": 0.9},
        {"batch_size": "full"},
    ],
    ids=["momentum and clipping", "adam", "rates by epoch", "full batches"],
)
def test_every_solver(training):
    task = task_on(Fcn(hidden=(8,)), inputs_of(Fcn(), (4, 5)), 3, **training)
    with fake_device():
        for rates in ([0.05] * 3, [0.05, 0.04, 0.03]):
            trained, *_ = trained_on(task, CUDA, LAYERS, rates)
            assert places(trained) == {CUDA}


def test_augmentation():
    images = np.zeros((19, 3, 16, 16), np.uint8)
    augmentation = Augmentation(crop_padding=2)
    task = task_on(CnnMnist(), images, 10, augmentation=augmentation)
    with fake_device():
        trained, *_ = trained_on(task, CUDA, LAYERS)
        assert places(trained) == {CUDA}


def test_evaluation():
    task = task_on(Fcn(hidden=(8,)), inputs_of(Fcn(), (4, 5)), 3)
    with fake_device():
        _, trainer, built = trained_on(task, CUDA, LAYERS)
        w = built.initial
        results = trainer.test(w, built.statistics, 0, 5, ranked=False)
        assert {str(value.device) for value in results} == {CUDA}
        sums = trainer.test_rows(w, built.statistics, torch.arange(19))
        assert {str(value.device) for value in sums} == {CUDA}


@pytest.mark.parametrize("home", ["device", "host"])
def test_a_round_on_two_gpus(home):
    """Each trains its share where it is; results meet on the first, and states go to their home."""
    task = task_on(Fcn(hidden=(8,)), inputs_of(Fcn(), (4, 5)), 3, Scaffold(), sizes=[5, 5, 4, 3, 2])
    with fake_device():
        training, built, workers, store = round_on(task, [CUDA, "cuda:1"], LAYERS, home)
        for trainer, place in zip(built.trainers, [CUDA, "cuda:1"], strict=True):
            assert str(trainer.samples["train"].x.device) == place
        assert workers.calls == 2  # five clients on two GPUs: three and two, though eight may train together
        tensors = [*training.uploads.values(), *training.outcome.values()]
        assert {str(value.device) for value in tensors} == {CUDA}
        assert {len(value) for value in tensors} == {5}
        kept = store.gather(np.arange(5))
        assert {str(value.device) for value in kept.values()} == {CUDA}
        rows = [row for table in store._tables.values() for row in table._views]
        assert {row.device.type for row in rows} == {"cuda" if home == "device" else "cpu"}


def test_a_round_on_two_gpus_whose_memory_is_too_small():
    """A GPU that refuses more than one client at a time gets them one by one, and the round ends."""
    task = task_on(Fcn(hidden=(8,)), inputs_of(Fcn(), (4, 5)), 3, Scaffold(), sizes=[5, 5, 4, 3, 2])
    train = Trainer.train
    refused = []

    def cramped(self, plan, cohorts, inputs):
        widest = max(len(cohort) for cohort in cohorts)
        if widest > 1:
            refused.append(widest)
            raise torch.OutOfMemoryError("CUDA out of memory")
        return train(self, plan, cohorts, inputs)

    with fake_device(), patch.object(Trainer, "train", cramped):
        training, *_ = round_on(task, [CUDA, "cuda:1"], LAYERS)
        assert sorted(refused, reverse=True) == refused == [3, 2, 2]
        assert {str(value.device) for value in training.uploads.values()} == {CUDA}
        assert {len(value) for value in training.uploads.values()} == {5}


def launched(model, shape, classes, sizes):
    """The kernels and copies of a round of so many samples a device, trained together."""
    task = task_on(model, inputs_of(model, shape, sum(sizes)), classes, sizes=sizes)
    with fake_device():
        trained_on(task, CUDA, LAYERS)  # the first time, some tensors are made that stay
        with Launches() as counted:
            trained_on(task, CUDA, LAYERS)
    return counted


@pytest.mark.parametrize("name", ["fcn", "lenet5"])
def test_launches_do_not_depend_on_the_number_of_clients(name):
    model, shape, classes = default(name)
    few = launched(model, shape, classes, [6] * 2)
    many = launched(model, shape, classes, [6] * 7)
    assert (few.kernels, few.copies) == (many.kernels, many.copies)
    assert few.kernels > 20


@pytest.mark.parametrize("dropout", [None, 0.5])
def test_a_replayed_step_is_one_launch_and_the_copies_of_its_mini_batches(dropout):
    """Rows and weights, and with dropout the keys, which a product, a shift or the like makes of those of the round."""

    def launches(epochs):
        model = Mlp(dropout=dropout) if dropout else Fcn(hidden=(8,))
        keys = {"sizes": [8, 8], "local_epochs": epochs, "graphs": "auto"}
        task = task_on(model, inputs_of(Fcn(), (4, 5), 16), 3, Scaffold(), **keys)
        with fake_device(), patch.object(trainer, "CudaGraphs", CountedReplays):
            *_, built = trained_on(task, CUDA, LAYERS)
            CountedReplays.replays = 0
            with Launches() as counted:
                trained_on(task, CUDA, LAYERS, built=built)
        return counted, CountedReplays.replays

    few, few_replays = launches(5)
    many, many_replays = launches(6)
    assert (few_replays, many_replays) == (10, 12)  # two mini-batches an epoch
    assert many.copies == few.copies
    assert (many.kernels - few.kernels) / 2 <= (4 if dropout else 2)


def test_reading_a_number_from_the_device_is_an_error():
    """The fake device refuses what a GPU would have to wait for, as this file relies on."""
    with fake_device():
        vector = torch.zeros(3, device=CUDA)
        with pytest.raises(DataDependentOutputException):
            vector.sum().item()
        with pytest.raises(RuntimeError, match="device"):
            vector + torch.zeros(3)
