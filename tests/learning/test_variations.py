"""Rates, batches and local work that differ between groups of devices, or between rounds."""

import numpy as np
import pytest
from learner_cases import SIZES, learners, train_round
from plain_torch import plain_move
from torch.nn.functional import cross_entropy

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload
from edgefl.runs.learning_key import learning_setting
from edgefl.scenario import load

PHONES = range(3)  # the first devices of six; the others are boards
GROUPS = {"phones": (0, 3), "boards": (3, 6)}
VARIATIONS = [
    {"group": "boards", "lr": 0.02, "batch_size": 8, "local_epochs": 3},
    {"from_round": 3, "local_epochs": 1},
    {"group": "phones", "from_round": 3, "batch_size": "full", "lr": 0.3},
]
BASE = {"lr": 0.1, "batch_size": 16, "local_epochs": 2}
BY_HAND = {  # lr, batch size, epochs; the first round is 0
    ("phones", 0): (0.1, 16, 2),
    ("phones", 1): (0.1, 16, 2),
    ("phones", 2): (0.3, "full", 1),
    ("boards", 0): (0.02, 8, 3),
    ("boards", 1): (0.02, 8, 3),
    ("boards", 2): (0.02, 8, 1),
}
PLANS = {"serial": SERIAL, "by hand": Plan("batched", "layers", 6), "vmap": Plan("batched", "vmap", 6)}


def setting(device, index):
    lr, batch_size, epochs = BY_HAND["phones" if device in PHONES else "boards", index]
    return Training(lr=lr, batch_size=batch_size, local_epochs=epochs)


def varied_learner(make, plan=SERIAL, algorithm=None, **training):
    learner = make(algorithm=algorithm, plan=plan, **{**BASE, "variations": VARIATIONS, **training})
    learner.task.training.know_groups(GROUPS)
    return learner


def move_by_hand(task, device, index, momentum):
    """The move of a device in plain torch, with the keys that are written above."""
    return plain_move(
        task, device, lambda module, x, y: cross_entropy(module(x), y), index, setting(device, index), momentum
    )


@pytest.mark.parametrize("plan", PLANS)
def test_each_client_takes_the_steps_of_plain_torch_with_its_groups_keys(plan):
    with learners() as make:
        learner = varied_learner(make, PLANS[plan], momentum=0.5)
        for index in (0, 2):
            updates, _ = train_round(learner, range(6), index)
            for device, move in enumerate(updates.vectors["delta"]):
                assert (move - move_by_hand(learner.task, device, index, 0.5)).abs().max() < 1e-12


def test_late_devices_train_by_the_round_that_they_began_in():
    """As with asynchronous policies, where one aggregation learns from several rounds."""
    with learners() as make:
        learner = varied_learner(make, PLANS["by hand"])
        for device in range(6):
            learner.submit(device, 2 * (device % 2), learner.initial, {})
        updates, _ = learner.collect()
        for device, move in enumerate(updates.vectors["delta"]):
            assert (move - move_by_hand(learner.task, device, 2 * (device % 2), 0.0)).abs().max() < 1e-12


def test_rates_of_groups_follow_the_schedule_and_reach_hooks():
    with learners() as make:
        learner = varied_learner(make, algorithm=FedProx(mu=0.5), lr_schedule={"kind": "exponential", "decay": 0.5})
        plain = make(algorithm=FedProx(mu=0.5), lr=0.02 * 0.5, batch_size=8, local_epochs=3)
        varied, _ = train_round(learner, [4], 1)
        same, _ = train_round(plain, [4], 1)
        assert (varied.vectors["delta"] - same.vectors["delta"]).abs().max() < 1e-12
        assert varied.lr == 0.1 * 0.5  # the server's steps go by the rate of the round


def test_steps_and_samples_by_hand_with_and_without_stragglers():
    training = Training.model_validate({**BASE, "variations": VARIATIONS})
    training.know_groups(GROUPS)
    sizes = np.array(SIZES)
    ids = np.arange(6)
    for index in range(3):
        work = Workload(training, sizes, Streams(1))
        steps = work.steps(ids, index)
        for device, size in enumerate(SIZES):
            _, batch, epochs = BY_HAND["phones" if device in PHONES else "boards", index]
            batch = size if batch == "full" else batch
            assert steps[device] == epochs * -(-size // batch)
            assert work.samples(ids, index, steps)[device] == epochs * size
    assert work.largest_batches().tolist() == [7, 40, 23, 8, 1, 8]
    slow = training.model_copy(
        update={"stragglers": Training.model_validate({"stragglers": {"share": 1.0}}).stragglers}
    )
    fewer = Workload(slow, sizes, Streams(1)).steps(ids, 0)
    epochs_of_boards = fewer[3:] / np.ceil(sizes[3:] / 8)
    assert set(epochs_of_boards) <= {1.0, 2.0, 3.0}


KEYS = {
    "rounds": 3,
    "data": {"dataset": "digits", "partition": "iid"},
    "model": {"kind": "mlp", "hidden": [8]},
    "training": {**BASE, "variations": VARIATIONS},
    "devices": {"count": 6, "groups": [{"name": "phones", "count": 3}, {"name": "boards", "count": 3}]},
    "server": {"participants": 6},
}


def with_training(**training):
    return {**KEYS, "training": {**BASE, **training}}


@pytest.mark.oracle
@pytest.mark.parametrize("more", [{}, {"data": {**KEYS["data"], "redivide": "iid"}}], ids=["held", "divided again"])
def test_computing_is_priced_by_each_devices_work(more):
    """A priced model: a sample costs the same on all devices, and a step nothing."""
    cost = {"parameters": 1000, "flops_per_parameter": 6.0}
    keys = {**KEYS, **more, "model": {**KEYS["model"], "cost": cost}, "cost": "paper"}
    rows = edgefl.run(keys, train=False).devices
    plain = edgefl.run({**keys, "training": {**BASE, "local_epochs": 1}}, train=False).devices
    epochs = (rows["compute_s"] / plain["compute_s"]).to_numpy().reshape(3, 6)
    assert epochs == pytest.approx(np.array([[2, 2, 2, 3, 3, 3], [2, 2, 2, 3, 3, 3], [1] * 6]))


@pytest.mark.oracle
def test_runs_with_varied_training_repeat_and_groups_share_no_learning_with_others_names():
    first = edgefl.run(KEYS)
    again = edgefl.run({**KEYS, "training": {**KEYS["training"], "engine": "serial"}})
    assert first.rounds["test_loss"].to_numpy() == pytest.approx(again.rounds["test_loss"].to_numpy(), abs=1e-5)
    swapped = {"count": 6, "groups": [{"name": "boards", "count": 3}, {"name": "phones", "count": 3}]}
    assert learning_setting(load({**KEYS, "devices": swapped})) != learning_setting(load(KEYS))
    assert load(load(KEYS).model_dump(mode="json", exclude_none=True)).training == load(KEYS).training


@pytest.mark.parametrize(
    ("training", "text"),
    [
        (
            {"variations": [{"group": "bords", "lr": 0.1}]},
            r'variations\.0\.group: unknown group \(did you mean "boards"',
        ),
        ({"variations": [{"group": "boards"}]}, r"varies nothing: give lr, batch_size or local_epochs"),
        ({"variations": [{"local_steps": 3}]}, r"does not go with training\.local_epochs: give local_epochs"),
        ({"lr": 0.0, "variations": [{"lr": 0.1}]}, r"needs a training\.lr above 0"),
        (
            {"variations": [{"lr": 0.1}], "parts": {"first": {"train": ["1"], "epochs": 1}}},
            r"training\.variations: does not go with training\.parts\.first",
        ),
    ],
)
def test_a_wrong_variation_is_one_line(training, text):
    with pytest.raises(InputError, match=text):
        load(with_training(**training))


def test_measured_times_hold_for_one_batch_size(tmp_path):
    table = tmp_path / "times.csv"
    table.write_text("device,network,batch_size,step_s\n" + "".join(f"pi,mlp,{size},{size / 10}\n" for size in (8, 16)))
    compute = {"measured": {"path": str(table), "device": "pi"}}
    groups = [{**group, "compute": compute} for group in KEYS["devices"]["groups"]]
    keys = {**KEYS, "devices": {"count": 6, "groups": groups}}
    by_group = {**BASE, "variations": VARIATIONS[:1]}
    rows = edgefl.run({**keys, "training": by_group}, train=False).devices
    samples = 1500 // 6
    assert rows["compute_s"].iloc[5] / (3 * samples * 0.1) == pytest.approx(1.0, rel=0.1)
    with pytest.raises(InputError, match=r"set training\.batch_size to a number that holds in all rounds"):
        edgefl.run(keys, train=False)
