"""The learner: the engines against each other and against plain PyTorch; how jobs are grouped must not matter."""

from functools import partial

import numpy as np
import pytest
import torch
from learner_cases import SIZES, learners, make_learner, random_data, shuffled_parts, train_round
from torch import nn

from edgefl.core.errors import InputError, RunError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.datasets import Data
from edgefl.learning.learner.engines.batches import PAD, mini_batches
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models import Model
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.models.logistic import Logistic
from edgefl.learning.training_section import Training
from edgefl.learning.workload import local_steps


def data(dtype="float32"):
    return random_data(sum(SIZES), dtype)


def parts():
    return shuffled_parts(SIZES)


class Cnn(Model):
    """A module that no fast path knows: it goes through vmap."""

    def module(self, shape, classes):
        return nn.Sequential(
            nn.Unflatten(1, (1, 4)), nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, classes)
        )

    def parameters(self, shape, classes):
        return 20 + 13 * classes

    def multiplications(self, shape, classes):
        return 2 * 9 * 6 + 12 * classes


PLANS = {"serial": SERIAL, "vmap": Plan("batched", "vmap", 8), "layers": Plan("batched", "layers", 8)}
ENGINES = list(PLANS)


@pytest.fixture
def learner():
    """Makes learners, and closes them."""
    with learners() as make_any:

        def make(engine="vmap", model=None, algorithm=None, dtype="float32", width=8, processes=0, **keys):
            plan = SERIAL if engine == "serial" else Plan("batched", engine, width)
            keys = {"local_epochs": 2, **keys}
            return make_any(model, algorithm, data=data(dtype), plan=plan, processes=processes, **keys)

        yield make


def train(of, devices=None, index=4, start=None):
    if devices is None:
        devices = range(len(SIZES))
    return train_round(of, devices, index, start)


SOLVERS = [
    {},
    {"clip_norm": 0.05},
    {"momentum": 0.9, "weight_decay": 0.1},
    {"local_epochs": None, "local_steps": 20, "clip_norm": 1.0, "weight_decay": 0.01, "momentum": 0.5},
    {"batch_size": "full"},
    {"optimizer": "adam", "clip_norm": 1.0, "weight_decay": 0.01, "lr": 0.01},
]


DENSE = ("layers", Fcn(hidden=(8,)))
LINEAR = ("layers", Logistic())
CONVOLUTION = ("vmap", Cnn())
# The solver is one for all kernels: each of its keys meets one of them, and the longest list of keys meets each.
COMBINATIONS = [
    (*DENSE, SOLVERS[0], "float32"),
    (*LINEAR, SOLVERS[1], "float64"),
    (*CONVOLUTION, SOLVERS[2], "float64"),
    (*DENSE, SOLVERS[3], "float64"),
    (*LINEAR, SOLVERS[3], "float32"),
    (*CONVOLUTION, SOLVERS[3], "float64"),
    (*LINEAR, SOLVERS[4], "float64"),
    (*DENSE, SOLVERS[5], "float64"),
    (*CONVOLUTION, SOLVERS[5], "float32"),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("engine", "model", "training", "dtype"), COMBINATIONS)
def test_batched_is_serial(learner, engine, model, training, dtype):
    """Relative to the size of the update; unequal clients, short batches and all parts of the solver."""
    tolerance = {"float32": 1e-5, "float64": 1e-10}[dtype]
    prox = FedProx(mu=0.1)
    serial, serial_loss = train(learner("serial", model, prox, dtype, **training))
    batched, batched_loss = train(learner(engine, model, prox, dtype, **training))
    assert_close(serial.vectors["delta"], batched.vectors["delta"], tolerance)
    assert batched_loss == pytest.approx(serial_loss, rel=tolerance)
    assert serial.samples.tolist() == batched.samples.tolist() == SIZES


def assert_close(expected, got, tolerance):
    """Row by row, relative to the row's length."""
    for a, b in zip(expected, got, strict=True):
        assert torch.linalg.norm(a - b) <= tolerance * torch.linalg.norm(a)


OPTIMIZERS = {
    "sgd": ({"momentum": 0.9}, partial(torch.optim.SGD, momentum=0.9)),
    "adamw": ({}, torch.optim.AdamW),
    "rmsprop": ({}, torch.optim.RMSprop),
    "adam": ({"adam_betas": [0.8, 0.99], "adam_eps": 1e-3}, partial(torch.optim.Adam, betas=(0.8, 0.99), eps=1e-3)),
}


@pytest.mark.oracle
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_engine_is_plain_pytorch(learner, kind):
    """torch.optim, clip_grad_norm_ and the same batches, client by client, some with fewer steps (card 0.2)."""
    keys, optimizer_of = OPTIMIZERS[kind]
    keys = {"optimizer": kind, "clip_norm": 0.5, "weight_decay": 0.01, "lr": 0.2, **keys}
    found = []
    for engine in ENGINES:
        of = learner(engine, dtype="float64", **keys)
        found.append(train(of)[0].vectors["delta"])
    arrays = data("float64")
    x = torch.from_numpy(arrays.train_x)
    y = torch.from_numpy(arrays.train_y)
    for device, part in enumerate(parts()):
        module = Fcn(hidden=(8,)).module((4, 5), 3).double()
        nn.utils.vector_to_parameters(of.initial.clone(), module.parameters())
        optimizer = optimizer_of(module.parameters(), lr=0.2, weight_decay=0.01)
        for batch in mini_batches(part, of.task.training, lambda d=device: Streams(5).generator("batches", d, 4)):
            rows = torch.from_numpy(batch[batch != PAD])
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
            nn.utils.clip_grad_norm_(module.parameters(), 0.5)
            optimizer.step()
        expected = nn.utils.parameters_to_vector(module.parameters()) - of.initial
        for deltas in found:
            assert torch.allclose(deltas[device], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_full_batch_step_is_gradient_descent(learner, engine):
    of = learner(engine, dtype="float64", local_epochs=None, local_steps=1, batch_size="full", lr=0.3)
    updates, loss = train(of, devices=[3])
    w = of.initial.clone().requires_grad_()
    part = parts()[3]
    arrays = data("float64")
    network = of._network
    outputs = network.train(network.parameters.views(w), [], torch.from_numpy(arrays.train_x[part]))
    objective = nn.functional.cross_entropy(outputs, torch.from_numpy(arrays.train_y[part]))
    objective.backward()
    assert torch.allclose(updates.vectors["delta"][0], -0.3 * w.grad, rtol=1e-12)
    assert loss == pytest.approx(objective.item(), rel=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_jobs_changes_nothing(learner, engine):
    forwards, _ = train(learner(engine))
    backwards, _ = train(learner(engine), devices=reversed(range(len(SIZES))))
    assert backwards.ids.tolist() == forwards.ids.tolist() == list(range(len(SIZES)))
    assert torch.equal(backwards.vectors["delta"], forwards.vectors["delta"])


@pytest.mark.oracle
@pytest.mark.parametrize(("engine", "processes"), [*zip(ENGINES, [3, 1, 2], strict=True)])
def test_the_number_of_workers_changes_nothing(learner, engine, processes):
    """Also none: then training happens in this process."""
    results = [train(learner(engine, width=2, processes=count))[0].vectors["delta"] for count in (0, processes)]
    assert torch.equal(*results)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ["vmap", "layers"])
def test_the_width_of_a_chunk_changes_no_more_than_rounding(learner, engine):
    whole, *others = (train(learner(engine, width=width))[0].vectors["delta"] for width in (8, 1, 4))
    for narrow in others:
        assert torch.allclose(whole, narrow, rtol=1e-5, atol=1e-7)


def test_jobs_of_different_rounds_and_models_in_one_call(learner):
    """As asynchronous policies will have them: each job has its own start, batches and learning rate."""
    schedule = {"lr_schedule": {"kind": "exponential", "decay": 0.5}}
    of = learner("layers", **schedule)
    other = of.initial + 0.1
    of.submit(1, 0, of.initial, {})
    of.submit(3, 2, other, {})
    mixed, _ = of.collect()
    first, _ = train(learner("serial", **schedule), [1], 0)
    second, _ = train(learner("serial", **schedule), [3], 2, other)
    expected = torch.cat([first.vectors["delta"], second.vectors["delta"]])
    assert torch.allclose(mixed.vectors["delta"], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
def test_the_schedule_scales_the_learning_rate_of_the_jobs_round(learner, engine):
    """0.5^2 of 0.4 is 0.1: in round index 2 both have the same batches and the same rate."""
    decayed, _ = train(learner(engine, lr=0.4, lr_schedule={"kind": "exponential", "decay": 0.5}), index=2)
    constant, _ = train(learner(engine, lr=0.1), index=2)
    assert torch.equal(decayed.vectors["delta"], constant.vectors["delta"])


def test_batches_wrap_and_keep_the_short_one():
    samples = np.arange(100, 107)
    section = Training(local_steps=5, batch_size=3)
    batches = mini_batches(samples, section, lambda: np.random.default_rng(0))
    lengths = [int((batch != PAD).sum()) for batch in batches]
    assert lengths == [3, 3, 1, 3, 3]
    assert sorted(batches[:3][batches[:3] != PAD].tolist()) == samples.tolist()
    full = mini_batches(samples, Training(local_epochs=2, batch_size="full"), lambda: np.random.default_rng(0))
    assert full.tolist() == [samples.tolist()] * 2  # all samples at once: their order means nothing
    epochs = mini_batches(samples, Training(local_epochs=2, batch_size=4), lambda: np.random.default_rng(0))
    first = epochs[:2].flatten()
    second = epochs[2:].flatten()
    assert sorted(first[first != PAD]) == sorted(second[second != PAD]) == samples.tolist()
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize(
    "training",
    [
        {"local_steps": 5},
        {"local_steps": 2, "wrap": False},
        {"local_epochs": 3},
        {"local_epochs": 2, "batch_size": "full"},
    ],
)
@pytest.mark.parametrize("count", [1, 7, 50, 51, 130])
def test_steps_are_counted_as_they_are_made(training, count):
    section = Training.model_validate(training)
    made = mini_batches(np.arange(count), section, lambda: np.random.default_rng(0))
    assert local_steps(np.array([count]), *section.work).tolist() == [len(made)]


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
def test_without_wrap_steps_end_with_the_pass(learner, engine):
    """At most 3 batches of 16: devices with fewer stop after one epoch, others go as far as with wrap."""
    work = {"local_epochs": None, "local_steps": 3}
    stopped, _ = train(learner(engine, wrap=False, **work))
    assert stopped.steps.tolist() == [min(3, -(-size // 16)) for size in SIZES] == [1, 3, 2, 3, 1, 3]
    whole = train(learner(engine, local_epochs=1))[0]
    wrapped = train(learner(engine, **work))[0]
    for row, size in enumerate(SIZES):
        like = whole if size <= 48 else wrapped
        assert_close(like.vectors["delta"][row : row + 1], stopped.vectors["delta"][row : row + 1], 1e-5)


def test_a_short_last_batch_weighs_as_a_full_step():
    """Its mean is over its own samples: padding must not thin it out."""
    ones = Data(np.ones((3, 1, 1)), np.array([0, 0, 0]), np.ones((1, 1, 1)), np.array([0]), 2, dtype="float64")
    work = {"local_epochs": 1, "batch_size": 2, "lr": 1.0}
    deltas = []
    for plan in PLANS.values():
        of = make_learner(Logistic(), data=ones, parts=[np.arange(3)], plan=plan, **work)
        deltas.append(train(of, [0])[0].vectors["delta"])
        of.close()
    assert torch.allclose(deltas[0], deltas[1], rtol=1e-12)
    assert torch.allclose(deltas[0], deltas[2], rtol=1e-12)


def test_the_initial_model_is_keyed_and_the_global_generator_untouched(learner):
    torch.manual_seed(99)
    expected = torch.rand(4)
    torch.manual_seed(99)
    first = learner().initial
    train(learner())
    assert torch.equal(torch.rand(4), expected)
    assert torch.equal(first, learner().initial)
    bound = 1 / np.sqrt(20)  # torch's own initialisation of a linear layer
    weights = first[: 20 * 8]
    assert float(weights.abs().max()) <= bound
    assert float(weights.std()) == pytest.approx(bound / np.sqrt(3), rel=0.15)


def test_the_number_of_torch_threads_is_given_back(learner):
    before = torch.get_num_threads()
    train(learner())
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("init", [{"kind": "zeros"}, {"kind": "value", "value": 0.25}])
def test_constant_initial_models(learner, init):
    model = Logistic.model_validate({"init": init})
    assert torch.equal(learner(model=model).initial, torch.full((63,), init.get("value", 0.0)))


def test_an_initial_model_from_a_file(learner, tmp_path):
    vector = np.linspace(-1, 1, 63, dtype=np.float32)
    np.save(tmp_path / "w.npy", vector)
    model = Logistic.model_validate({"init": {"kind": "file", "path": str(tmp_path / "w.npy")}})
    assert np.array_equal(learner(model=model).initial.numpy(), vector)
    np.save(tmp_path / "w.npy", vector[:-1])
    with pytest.raises(InputError, match=r"holds float32 \[62\], the model needs finite floats \[63\]"):
        learner(model=model)


def test_evaluation_against_hand_count(learner):
    of = learner(model=Logistic(), dtype="float64")
    w = torch.linspace(-1, 1, 63, dtype=torch.float64)
    arrays = data("float64")
    logits = arrays.test_x.reshape(30, 20) @ w[:60].view(3, 20).numpy().T + w[60:].numpy()
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    evaluation = of.evaluate(w).result()
    assert evaluation.accuracy == np.mean(logits.argmax(axis=1) == arrays.test_y)
    assert evaluation.loss == pytest.approx(-log_p[np.arange(30), arrays.test_y].mean(), rel=1e-12)


def test_chunks_do_not_change_training_or_evaluation(learner, monkeypatch):
    of = learner()
    whole = of.evaluate(of.initial).result()
    monkeypatch.setattr("edgefl.learning.learner.evaluation.EVALUATION_SAMPLES", 7)
    assert of.evaluate(of.initial).result().accuracy == whole.accuracy
    assert of.evaluate(of.initial).result().loss == pytest.approx(whole.loss, rel=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_names_round_and_device(learner, engine):
    of = learner(engine, lr=1e30, local_epochs=4, processes=1)
    with pytest.raises(RunError, match=r"round 5: device \d: local training diverged .* training.lr"):
        train(of)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("engine", ENGINES)
def test_gpu_is_cpu(learner, engine):
    cpu, _ = train(learner("serial", dtype="float64"))
    gpu, _ = train(learner(engine, dtype="float64", device="cuda"))
    assert torch.allclose(gpu.vectors["delta"].cpu(), cpu.vectors["delta"], rtol=1e-9, atol=1e-12)
