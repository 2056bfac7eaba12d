"""Recorded steps: a replay gives what the step itself does, for values that it has never seen."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from model_cases import samples
from recorded_steps import Recorder, task_with_graphs, trainer_of, two_rounds

from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.feddyn import FedDyn
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.data_section import Augmentation
from edgefl.learning.datasets.base import IGNORED
from edgefl.learning.learner.client_inputs import ClientInputs, rounded_rates
from edgefl.learning.learner.engines import step_graphs
from edgefl.learning.learner.jobs import JobKey
from edgefl.learning.learner.kernels import arithmetic
from edgefl.learning.learner.plans.plan import Plan
from edgefl.learning.models.cnn import LeNet5, SvhnCnn
from edgefl.learning.models.fcn import Fcn, Mlp
from edgefl.learning.models.imported import Imported

LAYERS = Plan("batched", "layers", 8)
VMAP = Plan("batched", "vmap", 8)
SIZES = [20, 20, 12]
EPOCHS = {"local_epochs": 2, "batch_size": 4}
FULL_STEPS = 2 * 2 * 3  # two rounds of two epochs; the smallest device has three mini-batches
NEEDS_TEACHER = {"distilled", "relation_distilled"}  # sessions give it to them


def small_task(algorithm=None, model=None, shape=(4, 5), classes=3, **keys):
    torch.manual_seed(0)
    model = model or Fcn(hidden=(8,))
    sizes = keys.pop("sizes", SIZES)
    x = samples(model, shape, sum(sizes)).numpy()
    return task_with_graphs(model, x, classes, algorithm, sizes=sizes, **{**EPOCHS, **keys})


def numbers(trained):
    named = {**trained.uploads, **{f"state {name}": value for name, value in trained.state.items()}}
    return {**named, "losses": trained.losses, "statistics": trained.statistics}


def check_replays(task, plan, **keys):
    """Compare two rounds with and without records; the recorder that was used."""
    recorder = Recorder()
    expected = two_rounds(task, plan, **keys)
    found = two_rounds(task, plan, recorder, **keys)
    for one, other in zip(expected, found, strict=True):
        for name, value in numbers(one).items():
            assert torch.allclose(numbers(other)[name], value, rtol=1e-9, atol=1e-12), name
    return recorder


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "plan"),
    [
        *((name, LAYERS) for name in ALGORITHMS.members if name not in NEEDS_TEACHER),
        *((name, VMAP) for name in ("moon",)),
    ],
)
def test_every_algorithm(name, plan):
    algorithm = ALGORITHMS.load(name)()
    recorder = check_replays(small_task(algorithm), plan)
    assert recorder.records == 1  # the second round trains in the memory of the first
    assert recorder.replays == FULL_STEPS


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("training", "plan"),
    [
        ({"momentum": 0.9, "clip_norm": 1.0, "weight_decay": 0.01}, LAYERS),
        ({"batch_size": "full", "local_epochs": 6}, VMAP),
    ],
)
def test_every_solver_that_does_not_count(training, plan):
    sizes = [8, 8, 8]
    assert check_replays(small_task(Scaffold(), sizes=sizes, **training), plan).replays > 0


@pytest.mark.oracle
def test_a_solver_that_counts_steps_is_not_recorded():
    for training in ({"optimizer": "adam"}, {"epoch_lr_decay": 0.9}):
        assert check_replays(small_task(**training), LAYERS).records == 0


@pytest.mark.oracle
def test_clients_may_start_from_different_models():
    assert check_replays(small_task(Scaffold()), LAYERS, same_start=False).records == 1


@pytest.mark.oracle
def test_dropout_draws_again_in_each_step():
    task = small_task(model=Mlp(dropout=0.5))
    for plan in (LAYERS, VMAP):
        assert check_replays(task, plan).replays == FULL_STEPS


@pytest.mark.oracle
@pytest.mark.usefixtures("narrow_svhn_cnn")
def test_batch_normalisation_replays_steps_of_equal_batches():
    task = small_task(model=SvhnCnn(dropout=0.0), shape=(8, 8), sizes=[10, 10], batch_size=2)
    assert check_replays(task, VMAP).replays == 2 * 2 * 5


@pytest.mark.oracle
def test_augmentation():
    images = np.random.default_rng(0).random((24, 1, 16, 16))
    augmentation = Augmentation(crop_padding=2)
    task = task_with_graphs(LeNet5(), images, 10, sizes=[12, 12], augmentation=augmentation, **EPOCHS)
    assert check_replays(task, LAYERS).replays == 2 * 2 * 3


def test_a_cohort_with_few_full_steps_is_not_recorded():
    assert check_replays(small_task(local_epochs=1), LAYERS).records == 0


@pytest.mark.oracle
def test_another_shape_or_session_gets_another_record():
    recorder = Recorder()
    task = small_task(Scaffold())
    two_rounds(task, LAYERS, recorder)
    trainer, built = trainer_of(task, recorder)
    assert recorder.records == 1
    train = in_rounds(trainer, built, task)
    train([0, 1, 2], task.run_info())
    train([0, 1], task.run_info())
    train([0, 1], replace(task.run_info(), population=7))
    train([0, 1, 2], task.run_info())
    assert recorder.records == 1 + 3


def in_rounds(trainer, built, task):
    """A function that trains some devices."""
    algorithm = task.algorithm
    received = algorithm.downlink(algorithm.server_state(built.initial))
    state = algorithm.client_state(built.initial)

    def train(devices, run):
        inputs = ClientInputs(
            start=built.initial[None],
            received={name: value[None] for name, value in received.items()},
            state={name: value[None].repeat(len(devices), 1) for name, value in state.items()},
            statistics=built.statistics[None],
            lr=rounded_rates([0.05] * len(devices), built.initial.dtype),
            run=run,
        )
        return trainer.train(LAYERS, [[JobKey(device, 0, None) for device in devices]], inputs)

    return train


def test_the_record_that_was_used_longest_ago_makes_room():
    recorder = Recorder()
    task = small_task(sizes=[12] * 4)
    trainer, built = trainer_of(task, recorder)
    train = in_rounds(trainer, built, task)
    with patch.object(step_graphs, "MOST", 2):
        for count in (1, 2, 1, 3, 1):  # the third shape takes the place of the second
            train(list(range(count)), task.run_info())
        assert recorder.records == 3
        train([0, 1], task.run_info())
        assert recorder.records == 4


class FailingRecorder(Recorder):
    """Fails after some calls of the step, as the record of a CUDA graph does."""

    def __init__(self, error, after=0):
        super().__init__()
        self._error = error
        self._after = after

    def __call__(self, step):
        if self.records < self._after:
            return super().__call__(step)
        self.records += 1
        step()
        step()
        raise self._error


REFUSED = RuntimeError("operation not permitted when stream is capturing\nmore")


def bytes_of(sent):
    return [{name: value.numpy().tobytes() for name, value in numbers(trained).items()} for trained in sent]


@pytest.mark.oracle
@pytest.mark.parametrize(("model", "plan"), [(Fcn(hidden=(8,)), VMAP), (Mlp(dropout=0.5), LAYERS)])
def test_a_step_that_cannot_be_recorded_is_taken(model, plan, caplog):
    """The bytes are those of recorded steps, and the run says once that it records none."""
    task = small_task(Scaffold(), model=model, momentum=0.5)
    failing = FailingRecorder(REFUSED)
    recorder = Recorder()
    with patch.object(arithmetic, "numpy_can_read", lambda _: False):  # as in a record
        found = two_rounds(task, plan, failing)
        expected = two_rounds(task, plan, recorder)
    assert recorder.replays == FULL_STEPS
    assert bytes_of(found) == bytes_of(expected)
    assert failing.records == 1
    (said,) = caplog.records
    assert said.message == (
        "training.graphs: a local step cannot be recorded (operation not permitted when stream is capturing): "
        "training goes on without, and takes longer"
    )


def test_a_run_records_nothing_more_after_a_failure(caplog):
    """Not even the shapes that it has recorded before: all later rounds go the same way."""
    task = small_task(sizes=[12] * 3)
    recorder = FailingRecorder(REFUSED, after=1)
    trainer, built = trainer_of(task, recorder)
    train = in_rounds(trainer, built, task)
    run = task.run_info()
    expected = numbers(train([0], run))
    replays = recorder.replays
    train([0, 1], run)
    again = numbers(train([0], run))
    train([0, 1, 2], run)
    assert (recorder.records, recorder.replays) == (2, replays)
    assert len(caplog.records) == 1
    for name, value in expected.items():
        assert torch.allclose(again[name], value, rtol=1e-9, atol=1e-12), name


def test_all_gpus_of_a_run_share_one_failure(caplog):
    recording = step_graphs.Recording()
    recording.end(REFUSED)
    recording.end(RuntimeError("another one"))
    assert not recording.is_on
    assert len(caplog.records) == 1


def test_memory_that_runs_out_in_a_record_makes_cohorts_narrower():
    """The round's training halves cohorts when it meets this error."""
    with pytest.raises(torch.OutOfMemoryError):
        two_rounds(small_task(), LAYERS, FailingRecorder(torch.OutOfMemoryError("CUDA out of memory")))


def test_without_the_key_nothing_is_recorded():
    recorder = Recorder()
    task = small_task()
    task = replace(task, training=task.training.model_copy(update={"graphs": "off"}))
    two_rounds(task, LAYERS, recorder)
    assert recorder.records == 0


def test_devices_with_other_numbers_of_samples():
    """FedDyn pulls devices with few samples more strongly."""
    task = small_task(FedDyn(alpha=0.5))
    recorder = Recorder()
    found = []
    for used in (None, recorder):
        trainer, built = trainer_of(task, used)
        train = in_rounds(trainer, built, task)
        train([0, 1], task.run_info())
        found.append(numbers(train([1, 2], task.run_info())))
    assert recorder.records == 1
    for name, value in found[0].items():
        assert torch.allclose(found[1][name], value, rtol=1e-9, atol=1e-12), name


@pytest.mark.oracle
def test_labels_of_pixels_of_which_some_do_not_count():
    model = Imported(import_path="test_step_graphs:pixelwise")
    model._maker = pixelwise
    task = small_task(model=model, shape=(2, 3, 4))
    y = np.random.default_rng(0).integers(-2, 3, (sum(SIZES), 3, 4))
    y[y < 0] = IGNORED
    test_y = np.zeros((len(task.data.test_y), 3, 4), np.int64)
    task = replace(task, data=replace(task.data, train_y=y, test_y=test_y))
    assert check_replays(task, VMAP).replays == FULL_STEPS


def pixelwise(classes):
    return torch.nn.Conv2d(2, classes, 1)
