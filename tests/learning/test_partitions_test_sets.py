"""Test samples divided like the training samples."""

import numpy as np
import pytest
from dataset_files import RNG, leaf
from hypothesis import given, settings
from hypothesis import strategies as st

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.datasets.femnist import Femnist
from edgefl.learning.datasets.synthetic import Synthetic
from edgefl.learning.partitions.base import Labelled, divide_alike
from edgefl.learning.partitions.dirichlet_by_class import DirichletByClass
from edgefl.learning.partitions.file import FilePartition
from edgefl.learning.partitions.iid import Iid
from edgefl.learning.partitions.label_overlap import LabelOverlap
from edgefl.learning.partitions.natural import Natural
from edgefl.learning.partitions.two_class import TwoClass
from edgefl.runs.data_division import divide
from edgefl.scenario import load


def counts(labels, parts, classes):
    """Count the samples of each class that each device has [device, class]."""
    return np.array([np.bincount(labels[part], minlength=classes) for part in parts])


def divided(partition, train, test, devices, seed=1):
    rng = np.random.default_rng(seed)
    parts = partition.split(train, devices, rng)
    return parts, partition.assign_test(Labelled(train), parts, Labelled(test), rng)


@pytest.mark.oracle
@settings(max_examples=50)
@given(
    partition=st.sampled_from([Iid(), DirichletByClass(alpha=0.2), DirichletByClass(alpha=5.0)]),
    devices=st.integers(1, 40),
    size=st.integers(1, 400),
    seed=st.integers(0, 1000),
)
def test_test_samples_are_divided_once_and_in_proportion_to_training_samples(partition, devices, size, seed):
    """If all training samples are held, so are all test samples of their classes, in the same shares."""
    rng = np.random.default_rng(seed)
    train = rng.integers(0, 5, 300)
    test = rng.integers(0, 6, size)
    parts, tests = divided(partition, train, test, devices, seed)
    held = counts(train, parts, 6)
    got = counts(test, tests, 6)
    due = held / np.maximum(held.sum(axis=0), 1) * np.bincount(test, minlength=6)
    assert (np.abs(got - due) < 1).all()
    assert np.array_equal(np.sort(np.concatenate(tests)), np.flatnonzero(np.isin(test, np.unique(train))))


def test_two_class_devices_get_equal_chunks_of_their_classes():
    """MIFA: 100 devices, 21 chunks a class; n / 21 test samples of each of two classes, and one chunk stays unused."""
    train = np.random.default_rng(2).permutation(np.repeat(np.arange(10), 2101))
    test = np.random.default_rng(2).permutation(np.repeat(np.arange(10), 210))
    parts, tests = divided(TwoClass(), train, test, 100)
    held = counts(train, parts, 10)
    got = counts(test, tests, 10)
    assert ((held > 0) == (got > 0)).all()
    assert set(got[got > 0]) <= {9, 10}  # 210 * 100 / 2101 = 9.995
    taken = np.concatenate(tests)
    assert len(taken) == len(np.unique(taken)) < len(test)


def test_groups_that_hold_the_same_classes_both_get_all_test_samples():
    train = np.repeat(np.arange(10), 60)
    test = np.repeat(np.arange(10), 20)
    _, tests = divided(LabelOverlap(overlap=0.2), train, test, 12)
    for group, labels in ((slice(6), range(5)), (slice(6, 12), range(4, 9))):
        taken = np.sort(np.concatenate(tests[group]))
        assert taken.tolist() == np.flatnonzero(np.isin(test, labels)).tolist()


def test_samples_that_are_listed_twice_and_never(tmp_path):
    """Device 0 has half of class 0 twice, device 1 a quarter: a whole round of its 8 test samples, then two of them."""
    path = tmp_path / "parts.json"
    path.write_text('{"0": [0, 1, 2, 3, 0, 1, 2, 3], "1": [4, 5]}')
    _, tests = divided(FilePartition(path=path), np.zeros(8, int), np.zeros(8, int), 2)
    assert [len(part) for part in tests] == [8, 2]
    assert set(tests[1]) <= set(tests[0]) == set(range(8))


def test_classes_that_no_device_holds_are_left_out():
    tests = divide_alike(
        np.array([0, 0]), [np.array([0]), np.array([1])], np.array([3, 3, 3]), np.random.default_rng(0)
    )
    assert [len(part) for part in tests] == [0, 0]


class TestOwners:
    """Natural divisions: a device tests on its own owner's samples."""

    def test_synthetic(self):
        """A tenth of each owner's samples, whatever owners were chosen."""
        data = Synthetic(owners=6).load()
        rng = np.random.default_rng(0)
        parts = Natural().assign(data.train_y, data.owner, 4, rng)
        train = Labelled(data.train_y, data.owner)
        test = Labelled(data.test_y, data.test_owner)
        tests = Natural().assign_test(train, parts, test, rng)
        for part, own in zip(parts, tests, strict=True):
            (owner,) = set(data.owner[part])
            assert own.tolist() == np.flatnonzero(data.test_owner == owner).tolist()
            assert len(own) == pytest.approx(len(part) / 9, abs=1)

    def test_owners_of_other_test_samples_are_refused(self):
        labels = np.array([0, 1, 0, 1])
        train = Labelled(labels, np.array([0, 0, 1, 1]))
        parts = [np.array([0, 1]), np.array([2, 3])]
        test = Labelled(labels, np.array([100, 100, 101, -1]))
        with pytest.raises(
            InputError, match=r"^data\.test_partition: no device's owner has test samples: .*test_owner"
        ):
            Natural().assign_test(train, parts, test, np.random.default_rng(0))

    @pytest.mark.usefixtures("home")
    def test_femnist_writers_of_one_set_only(self, tmp_path):
        """b has no samples for testing, d none for training; from the files and from the cache."""

        def drawn(count):
            return RNG.integers(0, 256, (count, 28, 28), dtype=np.uint8), RNG.integers(0, 62, count)

        leaf(tmp_path / "train" / "a.json", {"c": drawn(2), "a": drawn(1), "b": drawn(3)})
        leaf(tmp_path / "test" / "a.json", {"d": drawn(2), "c": drawn(1), "a": drawn(2)})
        for _ in range(2):
            data = Femnist(path=tmp_path).load()
            assert data.owner.tolist() == [0, 1, 1, 1, 2, 2]
            assert data.test_owner.tolist() == [0, 0, 2, -1, -1]
            train = Labelled(data.train_y, data.owner)
            test = Labelled(data.test_y, data.test_owner)
            parts = Natural().assign(data.train_y, data.owner, 3, np.random.default_rng(0))
            tests = Natural().assign_test(train, parts, test, np.random.default_rng(0))
            assert [part.tolist() for part in tests] == [[0, 1], [], [2]]


DIGITS = {
    "rounds": 3,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.1}},
    "model": "logistic",
    "training": {"local_steps": 3},
    "devices": {"count": 20},
}


def like_train(keys):
    return {**keys, "data": {**keys["data"], "test_partition": "like_train"}}


@pytest.mark.oracle
def test_bias_statistics_are_of_the_test_part(tmp_path):
    """As by hand from the final model, of the devices that have test samples; nothing else changes."""
    result = edgefl.run(like_train(DIGITS), out=tmp_path / "run")
    plain = edgefl.run(DIGITS)
    assert result.rounds.equals(plain.rounds)
    assert np.array_equal(result.parameters, plain.parameters)
    divided_data = divide(load(like_train(DIGITS)))
    data = divided_data.data
    tests = divided_data.test_parts
    x = (data.test_x.reshape(len(data.test_y), -1) - data.mean) / data.std
    weights, bias = np.split(result.parameters.astype(np.float64), [10 * x.shape[1]])
    hits = (x @ weights.reshape(10, -1).T + bias).argmax(axis=1) == data.test_y
    accuracies = np.array([hits[part].mean() for part in tests if len(part)])
    assert result.summary["fairness"]["mean"] == pytest.approx(accuracies.mean())
    assert result.summary["fairness"]["variance"] == pytest.approx(accuracies.var())
    by_device = result.device_accuracy
    assert by_device["device"].tolist() == [device for device, part in enumerate(tests) if len(part)]
    assert by_device["samples"].tolist() == [len(part) for part in tests if len(part)]
    assert by_device["accuracy"].to_numpy() == pytest.approx(accuracies)
    again = edgefl.read(tmp_path / "run")
    assert again.device_accuracy["accuracy"].to_numpy() == pytest.approx(accuracies, abs=1e-12)
    assert "device_accuracy.csv" in again.manifest["digests"]
    assert result.summary["fairness"]["mean"] != plain.summary["fairness"]["mean"]


def test_accuracies_by_device_where_the_test_set_is_not_divided():
    """Then they are of the training samples, which each device has; a run that learns nothing has none."""
    result = edgefl.run(DIGITS)
    assert result.device_accuracy["samples"].sum() == len(divide(load(DIGITS)).data.train_y)
    assert result.device_accuracy["accuracy"].mean() == pytest.approx(result.summary["fairness"]["mean"])
    assert edgefl.run(DIGITS, train=False).device_accuracy.empty


def test_same_seed_same_division_other_seed_another():
    first, again, other = (divide(load({**like_train(DIGITS), "seed": seed})).test_parts for seed in (1, 1, 2))
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))
    assert divide(load(DIGITS)).test_parts is None


def test_samples_without_labels_cannot_be_divided():
    with pytest.raises(InputError, match=r"data\.test_partition: like_train needs samples with labels"):
        edgefl.run({"data": {"dataset": "quadratic", "coefficients": [[1, 0, 0]], "test_partition": "like_train"}})
