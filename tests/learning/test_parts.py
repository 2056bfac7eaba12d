"""Parts of a model: frozen ones stay bit for bit, kept ones stay at their devices, and costs follow."""

import copy
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import edgefl
from edgefl.core.errors import InputError
from edgefl.runs.data_division import divide
from edgefl.scenario import load

DEVICES = 4
ROUNDS = 3
STEPS = 2
LR = 0.2
HIDDEN = 6
FLOAT_BYTES = 4

BASE = {
    "name": "parts",
    "rounds": ROUNDS,
    "data": {
        "dataset": "digits",
        "partition": {"kind": "dirichlet", "alpha": 0.5},
        "test_partition": "like_train",
    },
    "model": {"kind": "mlp", "hidden": [HIDDEN]},
    "training": {"local_steps": STEPS, "batch_size": "full", "lr": LR},
    "devices": {"count": DEVICES},
    "server": {"participants": DEVICES},
}
FIRST = 64 * HIDDEN + HIDDEN
LAST = HIDDEN * 10 + 10


def with_parts(engine="auto", **parts):
    return {**BASE, "training": {**BASE["training"], "engine": engine, "parts": parts}}


def first_model(keys):
    """The model before training: steps of a rate so small that they are lost in rounding."""
    return edgefl.run({**keys, "rounds": 1, "training": {**keys["training"], "lr": 1e-30}}).model()


# Frozen parts


@pytest.mark.parametrize("engine", ["serial", "vmap"])
@pytest.mark.oracle
def test_only_the_named_part_trains_and_the_rest_keeps_its_bits(engine):
    keys = with_parts(engine, train=["3"])
    before = first_model(keys).state_dict()
    after = edgefl.run(keys).model().state_dict()
    for name in after:
        assert torch.equal(before[name], after[name]) == name.startswith("1.")


def test_costs_follow_the_part_that_trains():
    """Forward 64 x 6 + 6 x 10 products; backward only those of the head's weights."""
    rounds = edgefl.run({**with_parts(train=["3"]), "report": {"eval_every": ROUNDS}}).rounds
    assert rounds["bytes_up"].tolist() == [DEVICES * FLOAT_BYTES * LAST] * ROUNDS
    assert rounds["bytes_down"].tolist() == [
        DEVICES * FLOAT_BYTES * count for count in (FIRST + LAST, *[LAST] * (ROUNDS - 1))
    ]
    network = load(with_parts(train=["3"])).network
    forward = 64 * HIDDEN + HIDDEN * 10
    assert network.flops_per_sample((64,), 10) == pytest.approx(2 * (forward + HIDDEN * 10))
    assert load(BASE).network.flops_per_sample((64,), 10) == pytest.approx(3 * 2 * forward)


@pytest.mark.oracle
def test_parts_that_all_train_and_travel_change_no_number():
    runs = [edgefl.run(keys) for keys in (BASE, with_parts(train=["*"], send=["*"]))]
    assert runs[0].rounds.equals(runs[1].rounds)
    assert np.array_equal(runs[0].parameters, runs[1].parameters)


@pytest.mark.oracle
def test_frozen_part_begins_with_the_values_of_a_file(tmp_path):
    edgefl.run(BASE, out=tmp_path / "trained")
    trained = edgefl.read(tmp_path / "trained").model().state_dict()
    file = {"kind": "file", "path": str(tmp_path / "trained" / "model.safetensors")}
    keys = with_parts(train=["3"])
    tuned = edgefl.run({**keys, "model": {**BASE["model"], "init": file}}).model().state_dict()
    assert torch.equal(tuned["1.weight"], trained["1.weight"])
    assert not torch.equal(tuned["3.weight"], trained["3.weight"])


# Kept parts


@cache
def fedper(kept):
    """FedPer in plain torch: each device's own module; after each round the parameters that travel are averaged."""
    divided = divide(load(BASE))
    data = divided.data
    modules = [copy.deepcopy(first_model(BASE)).train() for _ in range(DEVICES)]
    for _ in range(ROUNDS):
        for module, rows in zip(modules, divided.parts, strict=True):
            x = torch.from_numpy(data.normalised(data.train_x[rows]))
            y = torch.from_numpy(data.train_y[rows])
            solver = torch.optim.SGD(module.parameters(), lr=LR)
            for _ in range(STEPS):
                solver.zero_grad()
                cross_entropy(module(x), y).backward()
                solver.step()
        sizes = [len(rows) for rows in divided.parts]
        states = [module.state_dict() for module in modules]
        for name in states[0]:
            if not name.startswith(kept):
                mean = sum(size * state[name] for size, state in zip(sizes, states, strict=True)) / sum(sizes)
                for state in states:
                    state[name].copy_(mean)
    accuracies = []
    for module, rows in zip(modules, divided.test_parts, strict=True):
        x = torch.from_numpy(data.normalised(data.test_x[rows]))
        accuracies.append((module(x).argmax(1).numpy() == data.test_y[rows]).mean())
    return modules, accuracies


@pytest.mark.oracle
@pytest.mark.parametrize(("engine", "kept"), [("serial", "1"), ("batched", "3"), ("vmap", "1")])
def test_kept_parts_train_as_in_a_plain_torch_program(engine, kept):
    keys = with_parts(engine, keep=[kept])
    result = edgefl.run(keys)
    modules, accuracies = fedper(kept)
    for device, module in enumerate(modules):
        found = result.model(device=device).state_dict()
        for name, expected in module.state_dict().items():
            torch.testing.assert_close(found[name], expected, rtol=1e-4, atol=1e-5)
    assert result.device_accuracy["accuracy"].tolist() == pytest.approx(accuracies, abs=1e-6)
    assert result.summary["fairness"]["mean"] == pytest.approx(np.mean(accuracies), abs=1e-6)
    samples = [len(rows) for rows in divide(load(keys)).test_parts]
    mean = np.average(accuracies, weights=samples)
    assert result.rounds["test_accuracy"].iloc[-1] == pytest.approx(mean, abs=1e-6)


@pytest.mark.oracle
def test_send_names_what_keep_leaves():
    runs = [edgefl.run(with_parts(**parts)) for parts in ({"keep": ["3"]}, {"send": ["1"]})]
    assert np.array_equal(runs[0].model(device=1)[3].weight.detach(), runs[1].model(device=1)[3].weight.detach())
    assert runs[1].rounds["bytes_up"].iloc[0] == DEVICES * FLOAT_BYTES * FIRST


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.oracle
def test_two_clusters_learn_as_the_closed_form_says(keeps):
    """The model is a x + b at x = 1, with errors e = a + b - t from targets t.

    A step of rate r shrinks the mean of e by 1 - 4 r and, if b stays at the devices, deviations by 1 - 2 r.

    With FedAvg deviations never shrink: its loss ends at the variance of the targets, and that of FedPer at 0.
    """
    rate = 0.1
    targets = np.array([3.0, 3.0, -1.0, -1.0], dtype=np.float32)
    x = np.ones((DEVICES, 1), dtype=np.float32)
    owner = np.arange(DEVICES)
    dataset = edgefl.arrays(x, targets, x, targets, owner=owner, test_owner=owner)
    training = {"local_steps": 1, "batch_size": "full", "lr": rate, "loss": "mse"}
    if keeps:
        training["parts"] = {"keep": ["*.bias"]}
    keys = {
        **BASE,
        "rounds": 8,
        "data": {"dataset": dataset, "partition": "natural", "test_partition": "like_train"},
        "model": {"kind": "logistic", "init": {"kind": "zeros"}},
        "training": training,
    }
    rounds = np.arange(1, 9)
    mean = -targets.mean() * (1 - 4 * rate) ** rounds
    shrunk = (1 - 2 * rate) ** (2 * rounds) if keeps else 1.0
    losses = mean**2 + targets.var() * shrunk
    assert edgefl.run(keys).rounds["test_loss"].tolist() == pytest.approx(losses, rel=1e-4)


class Normed(nn.Module):
    """A network with batch normalisation, whose names are those of FedBN's program."""

    def __init__(self, classes):
        super().__init__()
        self.fc1 = nn.Linear(64, HIDDEN)
        self.bn1 = nn.BatchNorm1d(HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.bn1(self.fc1(x.flatten(1)))))


@pytest.mark.oracle
def test_batch_normalisation_stays_with_its_statistics():
    keys = {**with_parts(keep=["bn1"]), "model": {"kind": Normed}}
    result = edgefl.run(keys)
    assert result.rounds["bytes_up"].iloc[0] == DEVICES * FLOAT_BYTES * (FIRST + LAST)
    states = [result.model(device=device).state_dict() for device in range(DEVICES)]
    for name in states[0]:
        is_own = name in {"bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var"}
        assert torch.equal(states[0][name], states[1][name]) != is_own, name


@pytest.mark.oracle
def test_only_statistics_may_stay():
    """This is FedBN without the affine part: the same learning as with `batch_norm: local`."""
    model = {"model": {"kind": Normed}}
    kept = edgefl.run({**with_parts(keep=["*.running_*"]), **model})
    local = edgefl.run({**BASE, "training": {**BASE["training"], "batch_norm": "local"}, **model})
    assert np.array_equal(kept.parameters, local.parameters)


# Messages


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"train": ["4"]}, r"training\.parts\.train: '4' names no parameter of the model; there are 1\.weight"),
        ({"keep": ["3.wieght"]}, r'parts\.keep: .* that is trained \(did you mean "3\.weight"\?\)'),
        ({"train": ["3"], "keep": ["1"]}, r"parts\.keep: '1' names no parameter that is trained"),
        ({"keep": ["*"]}, r"parts\.keep: leaves nothing to send: keep fewer parameters"),
        ({"keep": ["3"], "send": ["*"]}, r"parts\.keep: 3\.weight is in send, too"),
        ({"keep": ["3.bias"], "send": ["1"]}, r"parts\.send: 3\.weight trains, and neither"),
    ],
)
def test_wrong_pattern_is_named_with_a_remedy(parts, text):
    with pytest.raises(InputError, match=text):
        edgefl.run(with_parts(**parts))


def test_unknown_device_has_no_model():
    result = edgefl.run(with_parts(keep=["3"]))
    for device in (DEVICES, -1):
        with pytest.raises(InputError, match=rf"there is no device {device}: devices are 0 to 3"):
            result.model(device=device)


def test_run_without_kept_parts_has_one_model():
    with pytest.raises(InputError, match=r"devices have no models of their own"):
        edgefl.run(BASE).model(device=0)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"algorithm": "moon"}, "algorithm"),
        ({"algorithm": "feddyn"}, "algorithm"),
        ({"report": {"models": ["sel"]}}, r"report\.models"),
        ({"report": {"device_losses": True}}, r"report\.device_losses"),
        ({"server": {"selection": "power_of_choice"}}, r"training\.parts"),
        ({"data": {"dataset": "digits"}}, r"data\.test_partition"),
    ],
)
def test_need_of_one_model_is_refused(changes, key):
    with pytest.raises(InputError, match=rf"^scenario: {key}: .*, or leave"):
        load({**with_parts(keep=["3"]), **changes})
