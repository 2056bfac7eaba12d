"""A part that trains alone at first, as the heads of FedRep: learning, frozen bits and costs."""

import copy
from functools import cache

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import LocalContext
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.learner.engines.batches import mini_batches
from edgefl.learning.learner.engines.phases import Phase
from edgefl.learning.learner.engines.solver import Solver
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload
from edgefl.runs.data_division import divide
from edgefl.scenario import load

DEVICES = 3
ROUNDS = 2
HIDDEN = 6
BATCH = 120
SEED = 4
FIRST_EPOCHS = 2
CLIP = 0.5
HEAD = "3."

BASE = {
    "name": "first",
    "seed": SEED,
    "rounds": ROUNDS,
    "data": {
        "dataset": "digits",
        "partition": {"kind": "dirichlet", "alpha": 0.5, "size_sigma": 0.6},
        "test_partition": "like_train",
    },
    "model": {"kind": "mlp", "hidden": [HIDDEN]},
    "training": {
        "local_epochs": FIRST_EPOCHS + 1,
        "batch_size": BATCH,
        "lr": 0.1,
        "clip_norm": CLIP,
        "parts": {"keep": ["3"], "first": {"train": ["3"], "epochs": FIRST_EPOCHS}},
    },
    "devices": {"count": DEVICES},
    "server": {"participants": DEVICES},
}
SOLVERS = {
    "momentum": {"momentum": 0.8, "weight_decay": 0.01},
    "adam": {"optimizer": "adam", "lr": 0.01},
}


def with_training(**training):
    return {**BASE, "training": {**BASE["training"], **training}}


def first_model(keys):
    """The model before training: steps of a rate so small that they are lost in rounding."""
    training = {**keys["training"], "lr": 1e-30, "momentum": 0, "weight_decay": 0, "optimizer": "sgd"}
    return edgefl.run({**keys, "rounds": 1, "training": training}).model(device=0)


def train(module, batches, names, training):
    """One phase in plain torch, in which all parameters but those of some names ask for no gradient."""
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name in names)
        parameter.grad = None
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if training.optimizer == "adam":
        solver = torch.optim.Adam(trained, lr=training.lr)
    else:
        solver = torch.optim.SGD(
            trained, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay
        )
    for x, y in batches:
        solver.zero_grad()
        cross_entropy(module(x), y).backward()
        clip_grad_norm_(trained, CLIP)
        solver.step()


@cache
def fedrep(solver):
    """FedRep in plain torch on the same mini-batches: each device's module."""
    keys = with_training(**SOLVERS[solver])
    scenario = load(keys)
    training = scenario.training
    divided = divide(scenario)
    data = divided.data
    modules = [copy.deepcopy(first_model(keys)).train() for _ in range(DEVICES)]
    heads = [name for name, _ in modules[0].named_parameters() if name.startswith(HEAD)]
    rest = [name for name, _ in modules[0].named_parameters() if not name.startswith(HEAD)]
    for index in range(ROUNDS):
        for device, module in enumerate(modules):
            samples = divided.parts[device]
            rng = Streams(SEED).generator("batches", device, index)
            batches = []
            for padded in mini_batches(samples, training, lambda rng=rng: rng):
                rows = padded[padded >= 0]
                batches.append(
                    (torch.from_numpy(data.normalised(data.train_x[rows])), torch.from_numpy(data.train_y[rows]))
                )
            first = FIRST_EPOCHS * -(-len(samples) // BATCH)
            train(module, batches[:first], heads, training)
            train(module, batches[first:], rest, training)
        sizes = [len(rows) for rows in divided.parts]
        states = [module.state_dict() for module in modules]
        for name in rest:
            mean = sum(size * state[name] for size, state in zip(sizes, states, strict=True)) / sum(sizes)
            for state in states:
                state[name].copy_(mean)
    return modules


@pytest.mark.oracle
@pytest.mark.parametrize(("engine", "solver"), [("serial", "momentum"), ("batched", "adam"), ("vmap", "momentum")])
def test_heads_train_first_as_in_a_plain_torch_program(engine, solver):
    """Devices hold different numbers of samples, so that some train their heads while others are past them."""
    keys = with_training(engine=engine, **SOLVERS[solver])
    assert len({-(-len(rows) // BATCH) for rows in divide(load(keys)).parts}) > 1
    result = edgefl.run(keys)
    for device, module in enumerate(fedrep(solver)):
        found = result.model(device=device).state_dict()
        for name, expected in module.state_dict().items():
            torch.testing.assert_close(found[name], expected, rtol=1e-5, atol=1e-6)


# Frozen bits


@pytest.mark.parametrize("solver", [{"momentum": 0.9}, {"optimizer": "adam"}, {"clip_norm": 0.1}])
def test_frozen_part_keeps_its_bits_and_its_moments(solver):
    """Weight decay, a pull to the received model and moments would all move it."""
    torch.manual_seed(1)
    solver = Solver(FedProx(mu=0.5), Training.model_validate({"lr": 0.1, "weight_decay": 0.1, **solver}))
    w, start, gradient = torch.randn(3, 2, 8)
    moments = [moment.normal_().abs_() for moment in solver.moments(w)]
    before = [tensor.clone() for tensor in (w, *moments)]
    solver.step(w, gradient, moments, LocalContext(start, 0.1), 3, Phase([slice(2, 5)], 1))
    for old, new in zip(before, (w, *moments), strict=True):
        assert torch.equal(old[:, 2:5], new[:, 2:5])
        assert not (old == new)[:, [0, 1, 5, 6, 7]].any()


@pytest.mark.oracle
def test_phases_are_one_run_after_another(tmp_path):
    """One device: first the head alone, then from that model the rest alone, with the same bits."""
    alone = {"devices": {"count": 1}, "server": {"participants": 1}, "rounds": 1}
    training = {"batch_size": "full", "lr": 0.1, "engine": "serial"}

    def run(training, **model):
        keys = {**BASE, **alone, "data": {"dataset": "digits"}, "model": {**BASE["model"], **model}}
        return edgefl.run({**keys, "training": training}).model().state_dict()

    both = run({**training, "local_steps": 5, "parts": {"first": {"train": ["3"], "steps": 3}}})
    head = run({**training, "local_steps": 3, "parts": {"train": ["3"]}})
    torch.save(head, tmp_path / "head.pt")
    init = {"kind": "file", "path": str(tmp_path / "head.pt")}
    rest = run({**training, "local_steps": 2, "parts": {"train": ["1"]}}, init=init)
    assert torch.equal(both["3.weight"], head["3.weight"])
    assert torch.equal(both["1.weight"], rest["1.weight"])
    assert not torch.equal(head["1.weight"], rest["1.weight"])


# Costs


def products(part):
    """Products of a step on one sample: the forward pass, the part's weight gradient and what leads to it."""
    forward = 64 * HIDDEN + HIDDEN * 10
    if part == "head":
        return forward + HIDDEN * 10
    return forward + HIDDEN * 10 + 64 * HIDDEN


def test_costs_follow_the_part_that_trains():
    scenario = load(BASE)
    divided = divide(scenario)
    sizes = np.array([len(rows) for rows in divided.parts])
    payload = measure(scenario.network, scenario.algorithm, scenario.training, divided.data, sizes)
    steps = -(-sizes // BATCH)
    parameters = 64 * HIDDEN + HIDDEN + HIDDEN * 10 + 10
    solver = 2 + 2 * 0 + 3  # the step itself and clipping, for each parameter
    of_heads = FIRST_EPOCHS * sizes * 2 * products("head")
    of_rest = sizes * 2 * products("rest")
    expected = of_heads + of_rest + (FIRST_EPOCHS + 1) * steps * solver * parameters
    assert payload.flops.tolist() == pytest.approx(expected.tolist())


def test_straggler_pays_for_the_heads_first():
    keys = with_training(stragglers={"share": 0.8})
    scenario = load(keys)
    divided = divide(scenario)
    sizes = np.array([len(rows) for rows in divided.parts])
    payload = measure(scenario.network, scenario.algorithm, scenario.training, divided.data, sizes)
    workload = Workload(scenario.training, sizes, Streams(SEED))
    ids = np.arange(DEVICES)
    per_epoch = -(-sizes // BATCH)
    seen = set()
    for index in range(8):
        epochs = workload.steps(ids, index) / per_epoch
        heads = np.minimum(epochs, FIRST_EPOCHS)
        solver = 5 * (64 * HIDDEN + HIDDEN + HIDDEN * 10 + 10) * epochs * per_epoch
        expected = sizes * 2 * (heads * products("head") + (epochs - heads) * products("rest")) + solver
        for held in (None, sizes):
            assert payload.flops_in(ids, index, workload, held).tolist() == pytest.approx(expected.tolist())
        seen |= set(epochs.tolist())
    assert seen == {1.0, 2.0, 3.0}


# Messages


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ({"train": ["4"], "epochs": 1}, r"training\.parts\.first\.train: '4' names no parameter that is trained"),
        ({"train": ["*"], "epochs": 1}, r"parts\.first\.train: leaves nothing to train in the rest of the round"),
        ({"train": ["3"]}, r"parts\.first: needs either epochs or steps"),
        ({"train": ["3"], "epochs": 1, "steps": 2}, r"parts\.first: needs either epochs or steps"),
        ({"train": ["3"], "steps": 2}, r"parts\.first: needs epochs here, as training has local_epochs: give epochs"),
        ({"train": ["3"], "epochs": 3}, r"parts\.first\.epochs: must be below training\.local_epochs, 3"),
    ],
)
def test_wrong_first_part_is_named_with_a_remedy(first, text):
    with pytest.raises(InputError, match=text):
        edgefl.run(with_training(parts={"first": first}))


@pytest.mark.parametrize("algorithm", ["scaffold", "fednova", "feddc"])
def test_algorithm_that_weighs_steps_is_refused(algorithm):
    keys = with_training(parts={"first": {"train": ["3"], "epochs": 1}})
    with pytest.raises(InputError, match=r"^scenario: algorithm: .*, or leave training\.parts\.first out"):
        load({**keys, "algorithm": algorithm})
    assert load({**keys, "algorithm": "fedprox"})
