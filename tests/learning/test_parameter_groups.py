"""Learning rates and weight decay of single parameters, held against the parameter groups of torch's optimisers."""

import numpy as np
import pytest
import torch
from learner_cases import learners, train_round
from plain_torch import plain_move
from torch.nn.functional import cross_entropy

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.learner.plans.plan import SERIAL, Plan

GROUPS = [
    {"names": "1", "lr": 0.02},
    {"names": "*.bias", "weight_decay": 0.0},
    {"names": "3.bias", "lr": 0.08},
    {"names": "*.bias", "weight_decay": 0.3},  # the last one that says a key counts
]
BASE = {"lr": 0.05, "weight_decay": 0.1, "local_epochs": 2, "parameter_groups": GROUPS}
BY_HAND = {"1.weight": (0.02, 0.1), "1.bias": (0.02, 0.3), "3.weight": (0.05, 0.1), "3.bias": (0.08, 0.3)}
PLANS = {"serial": SERIAL, "by hand": Plan("batched", "layers", 6), "vmap": Plan("batched", "vmap", 6)}
OPTIMIZERS = {  # of torch; ours have the same names and keys
    "sgd": (torch.optim.SGD, {}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {}),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_client_takes_the_steps_of_torchs_parameter_groups(optimizer, plan):
    """In the second round; the schedule and the variation multiply all rates."""
    made, keys = OPTIMIZERS[optimizer]

    def loss_of(module, x, y):
        return cross_entropy(module(x), y)

    def optimizer_of(module):
        groups = []
        for name, parameter in module.named_parameters():
            lr, weight_decay = BY_HAND[name]
            groups.append({"params": [parameter], "lr": factor * lr, "weight_decay": weight_decay})
        return made(groups, **keys)

    more = {"lr_schedule": {"kind": "exponential", "decay": 0.5}, "variations": [{"group": "boards", "lr": 0.1}]}
    with learners() as make:
        learner = make(plan=PLANS[plan], optimizer=made.__name__.lower(), **BASE, **keys, **more)
        learner.task.training.know_groups({"phones": (0, 3), "boards": (3, 6)})
        updates, _ = train_round(learner, range(6), 1)
        for device, move in enumerate(updates.vectors["delta"]):
            factor = 0.5 if device < 3 else 0.5 * 0.1 / 0.05
            wanted = plain_move(learner.task, device, loss_of, 1, optimizer_of=optimizer_of)
            assert (move - wanted).abs().max() < 1e-9


@pytest.mark.oracle
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("engine", ["serial", "batched", "vmap"])
def test_a_regression_learns_as_the_closed_form_says(engine, keeps):
    """The model is a x + b at x = 1, with errors e = a + b - t; a learns at the rate r, b at the rate s.

    A step shrinks the mean of e by 1 - 2 (r + s) and, if a stays at the devices, deviations by 1 - 2 r.
    """
    r = 0.02
    s = 0.1
    targets = np.array([3.0, 3.0, -1.0, -1.0], dtype=np.float32)
    x = np.ones((4, 1), dtype=np.float32)
    dataset = edgefl.arrays(x, targets, x, targets, owner=np.arange(4), test_owner=np.arange(4))
    training = {"local_steps": 1, "batch_size": "full", "loss": "mse", "engine": engine, "lr": s}
    training["parameter_groups"] = [{"names": "*.weight", "lr": r}]
    if keeps:  # then the weight comes behind the bias
        training["parts"] = {"keep": ["*.weight"]}
    data = {"dataset": dataset, "partition": "natural", "test_partition": "like_train"}
    model = {"kind": "logistic", "init": {"kind": "zeros"}}
    keys = {"rounds": 8, "data": data, "model": model, "training": training, "devices": {"count": 4}}
    rounds = np.arange(1, 9)
    mean = -targets.mean() * (1 - 2 * (r + s)) ** rounds
    losses = mean**2 + targets.var() * ((1 - 2 * r) ** (2 * rounds) if keeps else 1.0)
    assert edgefl.run(keys).rounds["test_loss"].tolist() == pytest.approx(losses, rel=1e-5)


DIGITS = {"rounds": 1, "data": {"dataset": "digits"}, "model": {"kind": "mlp", "hidden": [8]}, "devices": {"count": 4}}
RATE = "{names: '1', lr: 0.1}"


@pytest.mark.oracle
def test_decay_of_a_group_is_computed_and_takes_its_time_with_any_algorithm():
    decays = ({"weight_decay": 0.1}, {"parameter_groups": [{"names": "*.bias", "weight_decay": 0.1}]}, {})
    runs = [edgefl.run({**DIGITS, "algorithm": "scaffold", "training": keys}, train=False) for keys in decays]
    times = [run.devices["compute_s"].sum() for run in runs]
    assert times[0] == times[1] > times[2]


@pytest.mark.parametrize(
    ("groups", "override", "text"),
    [
        (RATE + ", {names: 'head.*', lr: 0.1}", "rounds=1", r"parameter_groups\.1\.names: 'head\.\*' names no"),
        (RATE, "training.parts={train: ['3']}", r"'1' names no parameter that is trained; there are 3\.weight, 3"),
        ("{names: '1'}", "rounds=1", r"parameter_groups\.0: changes nothing: give lr or weight_decay"),
        (RATE, "training.lr=0", r"training\.lr: the rates of training\.parameter_groups .*: set it above 0"),
        (RATE, "algorithm=scaffold", r"training\.parameter_groups: scaffold assumes one rate for all parameters"),
        (RATE, "algorithm={kind: fednova, mu: 0.1}", r"training\.parameter_groups: fednova assumes"),
    ],
)
def test_a_group_that_cannot_be_is_one_line(groups, override, text):
    with pytest.raises(InputError, match=text):
        edgefl.run(DIGITS, overrides=[f"training.parameter_groups=[{groups}]", override], train=False)
