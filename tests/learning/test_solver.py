"""The local solver: its optimisers against torch.optim, step by step, and in closed form."""

import json

import numpy as np
import pytest
import torch

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import LocalContext
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.learner.engines.phases import Phase
from edgefl.learning.learner.engines.solver import Solver
from edgefl.learning.training_section import Training
from edgefl.scenario import load

WHOLE = Phase(frozen=(), before=0)  # all parameters train


OPTIMIZERS = {  # of torch, with its keys and ours
    "sgd": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {}, {}),
    "adamw": (torch.optim.AdamW, {"betas": (0.8, 0.9)}, {"adam_betas": [0.8, 0.9]}),
    "adagrad": (torch.optim.Adagrad, {"eps": 1e-3}, {"adagrad_eps": 1e-3}),
    "rmsprop": (torch.optim.RMSprop, {"alpha": 0.8, "eps": 1e-3}, {"rmsprop_alpha": 0.8, "rmsprop_eps": 1e-3}),
}


@pytest.mark.parametrize("settings", [{}, {"weight_decay": 0.1}, {"clip_norm": 0.5, "weight_decay": 0.3}])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_is_torchs_step_by_step(name, settings):
    """Three clients at once: FedProx's pull, clipping by each client's own norm, decay, moments; 20 steps."""
    made, keys, own_keys = OPTIMIZERS[name]
    training = Training.model_validate({"optimizer": name, "lr": 0.05, **own_keys, **settings})
    random = torch.Generator().manual_seed(3)
    mu = 0.2
    start = torch.randn(3, 7, generator=random, dtype=torch.float64)
    solver = Solver(FedProx(mu=mu), training)
    w = start.clone()
    moments = solver.moments(w)
    clients = [torch.nn.Parameter(row.clone()) for row in start]
    decay = settings.get("weight_decay", 0.0)
    optimizers = [made([one], lr=0.05, weight_decay=decay, **keys) for one in clients]
    for number in range(1, 21):
        gradients = torch.randn(3, 7, generator=random, dtype=torch.float64)
        for one, optimizer, gradient, first in zip(clients, optimizers, gradients, start, strict=True):
            one.grad = gradient + mu * (one.detach() - first)
            if "clip_norm" in settings:
                torch.nn.utils.clip_grad_norm_([one], settings["clip_norm"])
            optimizer.step()
        solver.step(w, gradients.clone(), moments, LocalContext(start, training.lr), number, WHOLE)
        assert (w - torch.stack([one.detach() for one in clients])).abs().max() < 1e-10


def test_a_rate_that_rises_within_a_round_is_torchs_lambda():
    training = Training.model_validate({"lr": 0.05, "momentum": 0.9, "warmup_steps": 4})
    solver = Solver(FedAvg(), training)
    assert solver.counts_steps
    start = torch.ones(2, 3, dtype=torch.float64)
    w = start.clone()
    moments = solver.moments(w)
    plain = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.SGD([plain], lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
    for number in range(1, 8):
        solver.step(w, 2 * w, moments, LocalContext(start, training.lr), number, WHOLE)
        plain.grad = 2 * plain.detach()
        optimizer.step()
        schedule.step()
        assert (w - plain.detach()).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("shape", "dtype", "decay"),
    [
        ((1, 1), torch.float32, 0.3),
        ((1, 7), torch.float64, 0.0),
        ((3, 1001), torch.float32, 1e-4),
        ((40, 64), torch.float32, 0.0),
        ((40, 64), torch.float64, 0.3),
        ((2, 300_001), torch.float32, 1e-4),
    ],
)
def test_a_step_in_one_pass_has_the_bits_of_two(shape, dtype, decay):
    """Of plain SGD in the memory of the CPU; also of the first clients of a cohort, whose rows are a view."""
    random = torch.Generator().manual_seed(5)
    start = torch.randn(shape[0] + 1, *shape[1:], generator=random, dtype=dtype)
    gradient = torch.randn(*shape, generator=random, dtype=dtype)
    wanted = start[:-1] - 0.0
    wanted.add_(gradient.add(wanted, alpha=decay), alpha=-0.07)
    w = start.clone()
    solver = Solver(FedAvg(), Training.model_validate({"lr": 0.07, "weight_decay": decay}))
    solver.step(w[:-1], gradient, [], LocalContext(start[:-1], 0.07), 1, WHOLE)
    assert torch.equal(w[:-1], wanted)
    assert torch.equal(w[-1], start[-1])


def test_vectors_with_gaps_take_the_same_step():
    """A gradient that an algorithm from outside has transposed, for example."""
    random = torch.Generator().manual_seed(6)
    start = torch.randn(3, 50, generator=random)
    gradient = torch.randn(50, 3, generator=random).t()
    solver = Solver(FedAvg(), Training.model_validate({"lr": 0.07, "weight_decay": 0.1}))
    w = start.clone()
    solver.step(w, gradient.clone(memory_format=torch.preserve_format), [], LocalContext(start, 0.07), 1, WHOLE)
    together = start.clone()
    solver.step(together, gradient.contiguous(), [], LocalContext(start, 0.07), 1, WHOLE)
    assert torch.equal(w, together)


QUADRATIC = {
    "rounds": 2,
    "data": {"dataset": "quadratic", "coefficients": [[0.5, -1, 0], [2, 3, 0]]},
    "model": {"init": {"kind": "value", "value": 2.0}},
    "training": {"local_steps": 1, "batch_size": "full", "lr": 0.1, "optimizer": "adam"},
    "algorithm": {"kind": "fedavg", "weighting": "uniform"},
}


@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_the_first_step_has_the_length_of_the_learning_rate(engine):
    """m' = g and v' = g^2: lr g / (|g| + eps), in every round, as moments are fresh in each."""
    eps = 0.5
    result = edgefl.run(QUADRATIC, overrides=[f"training.engine={engine}", f"training.adam_eps={eps}"])
    x = 2.0
    (a, b, _) = np.array(QUADRATIC["data"]["coefficients"]).T
    for expected in result.rounds["parameter"]:
        gradient = 2 * a * x + b
        x -= 0.1 * np.mean(gradient / (np.abs(gradient) + eps))
        assert expected == pytest.approx(x, abs=1e-12)


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"optimizer": "adam", "momentum": 0.9}, r"training\.momentum: belongs to sgd: leave it out"),
        ({"adam_eps": 1e-7}, r"training\.adam_eps: belongs to adam and adamw: leave it out, or set optimizer: adam"),
        ({"nesterov": True}, r"training\.nesterov: needs a momentum"),
        ({"optimizer": "adam", "adam_betas": [0.9, 1.0]}, r"training\.adam_betas.*: must be < 1, got 1\.0"),
        ({"optimizer": "lbfgs"}, r'training\.optimizer: must be .*, got "lbfgs"'),
    ],
)
def test_keys_of_another_optimizer_are_refused(training, message):
    with pytest.raises(InputError, match=message):
        load({"training": training})


@pytest.mark.parametrize(("engine", "kind"), [("serial", "fedavg"), ("batched", "fedacg")])
def test_the_rate_decays_after_each_local_epoch(engine, kind, tmp_path):
    """Epochs of 1, 2 and 4 steps, three of them: 0.1, 0.05 and 0.025 in each step of an epoch, for each device."""
    path = tmp_path / "parts.json"
    path.write_text(json.dumps({"0": [0], "1": [1, 1], "2": [2] * 4}))
    functions = [[0.5, -1, 0], [2, 3, 0], [1, -2, 0]]
    scenario = {
        "rounds": 1,
        "data": {"dataset": "quadratic", "coefficients": functions, "partition": {"kind": "file", "path": str(path)}},
        "model": {"init": {"kind": "value", "value": 2.0}},
        "training": {
            "local_epochs": 3,
            "batch_size": 1,
            "lr": 0.1,
            "epoch_lr_decay": 0.5,
            "engine": engine,
            "width": 3,
        },
        "algorithm": {"kind": kind, "weighting": "uniform"},
    }
    if kind == "fedacg":
        scenario["algorithm"]["beta"] = 0.0
    moves = []
    for (a, b, _), steps in zip(functions, (1, 2, 4), strict=True):
        x = 2.0
        for epoch in range(3):
            for _ in range(steps):
                x -= 0.1 * 0.5**epoch * (2 * a * x + b)
        moves.append(x - 2.0)
    assert edgefl.run(scenario).rounds["parameter"][0] == pytest.approx(2.0 + np.mean(moves), abs=1e-12)
