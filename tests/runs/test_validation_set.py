"""The validation set: training samples that no device holds, on which each evaluated model is tested, too."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import joined, renumbered
from edgefl.runs.data_division import divide
from edgefl.scenario import load

SMALL = {
    "rounds": 2,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}, "validation_share": 0.2},
    "training": {"local_steps": 2, "batch_size": 8, "lr": 0.1},
    "devices": {"count": 10},
    "server": {"participants": 4},
}
OWNED = {"dataset": "synthetic", "owners": 10, "features": 5, "classes": 3}
SCALAR = {"dataset": "quadratic", "coefficients": [[1.0, 2.0, 3.0]] * 10}
WHOLE = ["iid", {"kind": "dirichlet", "alpha": 0.5}, "quantity_skew", {"kind": "dirichlet_by_class", "alpha": 0.5}]


def scenario(data, **more):
    return load({**SMALL, "data": data, **more})


def divided(data, **more):
    return divide(scenario(data, **more))


@pytest.mark.parametrize("partition", WHOLE, ids=str)
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5])
def test_each_training_sample_is_held_by_one_device_or_held_out(partition, share):
    found = divided({"dataset": "digits", "partition": partition, "validation_share": share})
    assert len(found.validation) == max(round(share * len(found.data.train_y)), 1)
    everything = np.concatenate([joined(found.parts), found.validation])
    assert np.array_equal(np.sort(everything), np.arange(len(found.data.train_y)))


def test_devices_of_owners_lose_the_samples_that_are_held_out():
    whole = divided({**OWNED, "partition": "natural"})
    found = divided({**OWNED, "partition": "natural", "validation_share": 0.3})
    assert len(found.validation) == round(0.3 * len(found.data.train_y))
    for part, before in zip(found.parts, whole.parts, strict=True):
        assert np.array_equal(part, np.setdiff1d(before, found.validation))


def test_partition_of_a_file_loses_the_samples_that_are_held_out(tmp_path):
    path = tmp_path / "parts.json"
    path.write_text(json.dumps({device: list(range(device, 1000, 10)) for device in range(10)}))
    found = divided({"dataset": "digits", "partition": {"kind": "file", "path": str(path)}, "validation_share": 0.2})
    for device, part in enumerate(found.parts):
        assert np.array_equal(part, np.setdiff1d(np.arange(device, 1000, 10), found.validation))


def test_device_that_would_lose_its_only_sample_is_named():
    with pytest.raises(InputError, match=r"data\.validation_share: leaves \d+ devices without samples, .* lower share"):
        divided({**SCALAR, "partition": "one_each", "validation_share": 0.5}, model="quadratic")


def test_share_that_leaves_devices_nothing_is_the_one_to_lower():
    x = np.zeros((20, 2), dtype=np.float32)
    y = np.arange(20) % 2
    few = {"dataset": edgefl.arrays(x, y, x, y), "validation_share": 0.05}
    (held_out,) = divided(few, model="logistic", devices={"count": 3}, server={"participants": 3}).validation
    owner = np.arange(20) % 2
    owner[held_out] = 2  # its only sample
    section = {"dataset": edgefl.arrays(x, y, x, y, owner=owner), "partition": "natural", "validation_share": 0.05}
    with pytest.raises(
        InputError, match=r"^data\.validation_share: leaves device 2 without samples: set it to a lower"
    ):
        divided(section, model="logistic", devices={"count": 3}, server={"participants": 3})
    with pytest.raises(
        InputError, match=r"^data\.validation_share: leaves 1 of the training samples for 3 devices: set"
    ):
        divided({**few, "validation_share": 0.95}, model="logistic", devices={"count": 3}, server={"participants": 3})


def test_greater_share_holds_out_all_that_a_smaller_one_does():
    small, large = (divided({"dataset": "digits", "validation_share": share}) for share in (0.1, 0.3))
    assert np.isin(small.validation, large.validation).all()


def test_held_out_samples_follow_from_the_seed_alone():
    one = divided({"dataset": "digits", "partition": "iid", "validation_share": 0.1})
    other = divided({"dataset": "digits", "partition": "quantity_skew", "validation_share": 0.1}, devices={"count": 7})
    assert np.array_equal(one.validation, other.validation)
    assert not np.array_equal(
        one.validation, divided({"dataset": "digits", "validation_share": 0.1}, seed=2).validation
    )


def test_test_samples_are_divided_whatever_is_held_out():
    """Each class that a device holds is divided completely, as without a validation set."""
    data = {"dataset": "digits", "partition": "iid", "test_partition": "like_train"}
    found = divided({**data, "validation_share": 0.4})
    assert np.array_equal(np.sort(joined(found.test_parts)), np.arange(len(found.data.test_y)))


def test_redivided_rounds_train_on_no_sample_that_is_held_out():
    found = divided({"dataset": "digits", "redivide": "iid", "validation_share": 0.2})
    for index in range(3):
        parts = found.redivision.parts(np.array([1, 4, 7]), index)
        held = np.concatenate([found.parts[device] for device in (1, 4, 7)])
        assert np.array_equal(np.sort(np.concatenate(parts)), np.sort(held))


@pytest.mark.oracle
@given(st.lists(st.lists(st.integers(0, 19), max_size=5), min_size=1, max_size=4), st.permutations(range(20)))
def test_renumbered_parts_name_the_same_samples(parts, numbers):
    numbers = np.array(numbers)
    found = renumbered([np.array(part, dtype=np.int64) for part in parts], numbers)
    assert [part.tolist() for part in found] == [[numbers[place] for place in part] for part in parts]


def outputs(result):
    """The outputs of a result's model for the samples that are held out, and their labels, by plain PyTorch."""
    import torch

    found = divide(load(result.scenario))
    x = result.saved_model().prepared(found.data.train_x[found.validation])
    with torch.no_grad():
        return result.model()(torch.from_numpy(x)).double(), torch.from_numpy(found.data.train_y[found.validation])


def test_columns_are_loss_and_accuracy_on_the_samples_that_are_held_out():
    import torch

    result = edgefl.run(SMALL, device="cpu")
    given, labels = outputs(result)
    last = result.rounds.iloc[-1]
    assert last["validation_accuracy"] == pytest.approx((given.argmax(1) == labels).double().mean().item(), abs=1e-12)
    assert last["validation_loss"] == pytest.approx(torch.nn.functional.cross_entropy(given, labels).item(), rel=1e-6)


class NextToken(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.embedding = torch.nn.Embedding(classes, 5)
        self.last = torch.nn.Linear(5, classes)

    def forward(self, x):
        return self.last(self.embedding(x)).movedim(-1, 1)


@pytest.mark.oracle
def test_tokens_of_owners_are_held_out_sample_by_sample():
    """Held-out sequences count label by label; owners keep their own test sequences."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, (80, 6))
    y = np.where(rng.random(x.shape) < 0.3, -100, (3 * x + 1) % 8)
    owner = np.arange(60) % 4
    test_owner = np.arange(20) % 5  # the last one owns no training sequence
    arrays = edgefl.arrays(x[:60], y[:60], x[60:], y[60:], classes=8, owner=owner, test_owner=test_owner)
    section = {"dataset": arrays, "partition": "natural", "validation_share": 0.25, "test_partition": "like_train"}
    keys = {
        "rounds": 2,
        "data": section,
        "model": NextToken,
        "devices": {"count": 4},
        "training": {"lr": 2.0, "batch_size": 7, "local_epochs": 1},
        "report": {"best_model": True, "measures": [{"kind": "confusion", "by_device": True}]},
    }
    result = edgefl.run(keys, device="cpu")
    held_out = divide(load(keys)).validation
    assert len(held_out) == 15
    with torch.no_grad():
        outputs = result.model()(torch.from_numpy(x))
    losses = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(y), reduction="none").numpy()
    right = outputs.argmax(1).numpy() == y
    last = result.rounds.iloc[-1]
    for name, rows in (("validation", held_out), ("test", np.arange(60, 80))):
        counted = y[rows] != -100
        assert last[f"{name}_loss"] == pytest.approx(losses[rows][counted].mean(), rel=1e-5)
        assert last[f"{name}_accuracy"] == pytest.approx(right[rows][counted].mean())
    table = result.table("confusion")
    samples = table[table["round"] == 2].groupby("device")["samples"].sum()
    assert samples.to_dict() == {k: int((y[60:][test_owner == k] != -100).sum()) for k in range(4)}


def test_regression_has_a_validation_loss_alone(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    y = (x @ np.array([1.0, -2.0, 0.5])).astype(np.float32)
    np.savez(tmp_path / "line.npz", train_x=x[:200], train_y=y[:200], test_x=x[200:], test_y=y[200:])
    data = {"dataset": "npz", "path": str(tmp_path / "line.npz"), "partition": "iid", "validation_share": 0.25}
    keys = {**SMALL, "data": data, "model": {"kind": "mlp", "hidden": []}}
    result = edgefl.run({**keys, "training": {**SMALL["training"], "loss": "mse"}}, device="cpu")
    given, _ = outputs(result)
    found = divide(load(result.scenario))
    wanted = np.mean((given.numpy().ravel() - found.data.train_y[found.validation]) ** 2)
    assert result.rounds["validation_loss"].iloc[-1] == pytest.approx(wanted, rel=1e-5)
    assert result.rounds["validation_accuracy"].isna().all()


def test_validation_follows_the_classes_of_a_session():
    """As on the test set, only the samples of classes that the session's devices hold count."""
    sessions = {"count": 2, "rounds": 1, "groups": 2}
    data = {"dataset": "digits", "partition": "label_overlap", "validation_share": 0.3}
    keys = {**SMALL, "rounds": None, "sessions": sessions, "data": data}
    result = edgefl.run(keys, device="cpu")
    given, labels = outputs(result)
    held = np.unique(labels.numpy())
    accuracies = []
    found = divide(load(result.scenario))
    second = np.concatenate([found.parts[device] for device in range(5, 10)])
    for classes in (np.unique(found.data.train_y[second]), held):
        counted = np.isin(labels.numpy(), classes)
        accuracies.append((given.argmax(1) == labels).double().numpy()[counted].mean())
    assert result.rounds["validation_accuracy"].iloc[-1] == pytest.approx(accuracies[0], abs=1e-12)
