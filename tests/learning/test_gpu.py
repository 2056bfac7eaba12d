"""Tests on a GPU: the CPU's results, states in every home, exact products, the same bytes twice."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from learner_cases import make_learner, parts_in_order, train_round
from model_cases import default, samples
from recorded_steps import task_with_graphs, two_rounds
from repeated_rounds import WAYS, check_same_bytes, fits

import edgefl
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.datasets import Data
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models import MODELS
from edgefl.learning.models.fcn import Fcn

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
]
SIZES = [9, 4, 6]
WORK = {"sizes": [20, 20, 12], "local_epochs": 2, "batch_size": 4}  # six steps of all three, which are recorded
NEEDS_TEACHER = {"distilled", "relation_distilled"}  # sessions give it to them
SMALL = 1_000_000  # parameters; double precision of the large ones takes long


def learner(model, shape, classes, plan, device, dtype="float64", **training):
    torch.manual_seed(0)
    x = samples(model, shape, sum(SIZES)).numpy()
    y = np.random.default_rng(0).integers(0, max(classes, 1), sum(SIZES))
    work = {"batch_size": 4, "lr": 0.05, "local_steps": 5, **training}
    data = Data(x, y, x[:5], y[:5], classes, dtype=dtype)
    own = {"data": data, "parts": parts_in_order(SIZES), "seed": 3}
    return make_learner(model, Scaffold(), **own, device=device, plan=plan, processes=None, **work)


def rounds(of, count=2):
    """The server's state after some rounds of SCAFFOLD with changing participants."""
    algorithm = of.task.algorithm
    server = algorithm.server_state(of.initial)
    for number in range(count):
        devices = ([0, 1, 2], [0, 2])[number % 2]
        updates, _ = train_round(of, devices, number, server["w"], algorithm.downlink(server))
        server = of.aggregate(server, updates)
    loss = of.evaluate(server["w"]).result().loss
    of.close()
    return server["w"].cpu(), loss


@pytest.mark.parametrize("name", list(MODELS.members))
def test_every_model_in_every_engine_as_on_the_cpu(name):
    model, shape, classes = default(name)
    if model.parameters(shape, classes) > SMALL:
        pytest.skip("large: double precision takes long")
    expected, expected_loss = rounds(learner(model, shape, classes, SERIAL, "cpu"))
    plans = [SERIAL, Plan("batched", "vmap", 8)]
    if LayersGradient.fits(Network(model.module(shape, classes)), model):
        plans.append(Plan("batched", "layers", 8))
    for plan in plans:
        w, loss = rounds(learner(model, shape, classes, plan, "cuda:0"))
        assert torch.linalg.norm(w - expected) <= 1e-9 * torch.linalg.norm(expected)
        assert loss == pytest.approx(expected_loss, rel=1e-8)


@pytest.mark.parametrize("home", ["device", "host", "disk"])
def test_client_states_in_every_home(home):
    model = Fcn(hidden=(8,))
    expected, _ = rounds(learner(model, (4, 5), 3, SERIAL, "cpu"), 4)
    w, _ = rounds(learner(model, (4, 5), 3, Plan("batched", "layers", 8), "cuda:0", state_home=home), 4)
    assert torch.allclose(w, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", ["layers", "vmap"])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS.members if name not in NEEDS_TEACHER])
def test_recorded_steps_of_every_algorithm(name, kernel):
    task = task_with_graphs(Fcn(hidden=(8,)), inputs((4, 5)), 3, ALGORITHMS.load(name)(), **WORK)
    check_on_gpu(task, Plan("batched", kernel, 8))


@pytest.mark.parametrize("name", ["mlp", "lenet5", "cnn_mnist", "svhn_cnn"])
def test_recorded_steps_of_models(name):
    model, shape, classes = default(name)
    task = task_with_graphs(model, inputs(shape), classes, Scaffold(), **WORK)
    check_on_gpu(task, Plan("batched", "vmap", 8))


def inputs(shape):
    return np.random.default_rng(0).normal(size=(sum(WORK["sizes"]), *shape))


def check_on_gpu(task, plan):
    """Two rounds with recorded steps are as without, and the same to the last bit when they are done again."""
    eager = replace(task, training=task.training.model_copy(update={"graphs": "off"}))
    expected = two_rounds(eager, plan, device="cuda:0")
    found = two_rounds(task, plan, device="cuda:0")
    again = two_rounds(task, plan, device="cuda:0")
    for one, other, third in zip(expected, found, again, strict=True):
        for name, value in one.uploads.items():
            assert torch.allclose(other.uploads[name], value, rtol=1e-9, atol=1e-12), name
            assert torch.equal(other.uploads[name], third.uploads[name]), name


def test_a_run_with_recorded_steps_is_one_without():
    scenario = {"rounds": 3, "data": {"dataset": "digits"}, "devices": {"count": 10}, "training": {"graphs": "auto"}}
    recorded = edgefl.run(scenario, device="cuda").parameters
    plain = edgefl.run({**scenario, "training": {"graphs": "off"}}, device="cuda").parameters
    assert np.allclose(recorded, plain, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_float32_is_exact_by_default(precision):
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    of = learner(Fcn(hidden=(8,)), (4, 5), 3, SERIAL, "cuda:0", precision=precision)
    rounds_factors = precision == "tf32"
    assert torch.backends.cudnn.allow_tf32 == rounds_factors
    assert torch.backends.cuda.matmul.allow_tf32 == rounds_factors
    of.close()
    assert before == (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)


# A language model has a label for each token, and the task here one for each sample.
@pytest.mark.parametrize("name", [name for name in MODELS.members if name != "llama"])
@pytest.mark.parametrize(("engine", "graphs"), WAYS)
def test_the_same_bytes_twice_and_when_resumed(name, engine, graphs):
    if not fits(name, engine):
        pytest.skip("its layers have no gradients by hand")
    check_same_bytes(name, engine, graphs, "cuda:0")


@pytest.mark.parametrize("model", ["fcn", "cnn_mnist"])
def test_a_run_has_the_same_bytes_twice(model):
    scenario = {"rounds": 3, "data": {"dataset": "digits"}, "devices": {"count": 10}, "model": model}
    first, second = (edgefl.run(scenario, device="cuda").parameters for _ in range(2))
    assert np.array_equal(first, second)


def test_no_thread_computes_without_a_context(recwarn):
    check_same_bytes("lenet5", "vmap", "off", "cuda:0")
    assert not [warning for warning in recwarn if "no current CUDA context" in str(warning.message)]


class Waiting(FedAvg):
    """FedAvg whose steps wait for a number, which no record can hold."""

    def correct(self, gradient, w, local):
        if not bool(gradient.isfinite().all()):
            return 0 * gradient
        return gradient


def test_a_step_that_waits_for_a_number_is_taken(caplog):
    task = task_with_graphs(Fcn(hidden=(8,)), inputs((4, 5)), 3, Waiting(), **WORK)
    plan = Plan("batched", "layers", 8)
    found = two_rounds(task, plan, device="cuda:0")
    expected = two_rounds(task, plan, UnableToRecord(), device="cuda:0")
    assert ["cannot be recorded" in record.message for record in caplog.records] == [True, True]  # one a run
    for one, other in zip(found, expected, strict=True):
        for name, value in one.uploads.items():
            assert torch.equal(other.uploads[name], value), name


class UnableToRecord:
    """Records nothing."""

    def __call__(self, step):
        raise RuntimeError("no record")
