"""Partitions: holdings add up, repeat with the seed, and are as skewed as the keys say."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.partitions.base import Pieces, joined, part_sizes
from edgefl.learning.partitions.dirichlet import Dirichlet
from edgefl.learning.partitions.file import FilePartition
from edgefl.learning.partitions.iid import Iid
from edgefl.learning.partitions.one_each import OneEach

LABELS = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 100))
UNEVEN = np.repeat(np.arange(4), [500, 7, 30, 1])
KINDS = [Iid(), Dirichlet(alpha=1e-300), Dirichlet(alpha=0.05), Dirichlet(alpha=0.3), Dirichlet(alpha=1e300)]


def split(partition, labels=LABELS, count=20, seed=1):
    return partition.split(labels, count, Streams(seed).generator("partition"))


def counts(parts, labels=LABELS):
    return np.array([np.bincount(labels[part], minlength=labels.max() + 1) for part in parts])


@pytest.mark.parametrize("labels", [LABELS, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("count", [1, 7, 20, 538])
@pytest.mark.parametrize("partition", KINDS, ids=str)
def test_each_sample_is_held_once_and_each_device_holds_one(partition, labels, count):
    parts = split(partition, labels, count)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
    sizes = [len(part) for part in parts]
    assert len(parts) == count
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


@pytest.mark.parametrize("partition", KINDS, ids=str)
def test_the_seed_decides(partition):
    first = split(partition)
    second = split(partition)
    other = split(partition, seed=2)
    assert [part.tolist() for part in first] == [part.tolist() for part in second]
    assert [part.tolist() for part in first] != [part.tolist() for part in other]


@pytest.mark.parametrize("partition", KINDS, ids=str)
def test_more_devices_than_samples(partition):
    with pytest.raises(InputError, match=r"devices\.count: 1001 devices cannot share 1000 training samples"):
        split(partition, count=1001)


def skew(partition):
    """Mean over devices and seeds of the largest class's share."""
    tables = [counts(split(partition, seed=seed)) for seed in range(5)]
    return np.mean([table.max(axis=1) / table.sum(axis=1) for table in tables])


def test_the_smaller_alpha_the_larger_the_skew():
    shares = [skew(Dirichlet(alpha=alpha)) for alpha in (0.01, 0.1, 0.3, 1, 10, 1e6)]
    assert (np.diff(shares) < -0.01).all()
    assert shares[0] > 0.6  # as classes run out, the last samples go to devices with room
    assert shares[-1] == pytest.approx(skew(Iid()), abs=0.02)


def test_iid_devices_have_similar_labels():
    """A chi-square test of independence of device and class, over seeds."""
    values = [stats.chi2_contingency(counts(split(Iid(), seed=seed))).pvalue for seed in range(40)]
    assert stats.kstest(values, "uniform").pvalue > 0.01


@pytest.mark.oracle
def test_a_large_alpha_is_nearly_iid():
    """The statistic per degree of freedom, 1 for independence; the last samples, of few classes, go to few devices."""
    tables = [stats.chi2_contingency(counts(split(Dirichlet(alpha=1e6), seed=seed))) for seed in range(40)]
    assert np.mean([table.statistic / table.dof for table in tables]) == pytest.approx(1, abs=0.15)


def test_the_test_tells_skewed_devices_from_iid_ones():
    assert stats.chi2_contingency(counts(split(Dirichlet(alpha=0.3)))).pvalue < 1e-100


@pytest.mark.oracle
def test_class_mixes_follow_the_dirichlet_law():
    """With samples in plenty (nothing runs out), E[p^2] = (alpha + 1) / (K (K alpha + 1)) for each class share p."""
    labels = np.repeat(np.arange(5), 20_000)
    alpha = 0.5
    classes = 5
    parts = split(Dirichlet(alpha=alpha), labels, count=400)[:400]
    size = len(parts[0])
    held = counts(parts, labels)
    second = (held * (held - 1)).mean() / (size * (size - 1))  # unbiased for E[p^2]
    assert second == pytest.approx((alpha + 1) / (classes * (classes * alpha + 1)), rel=0.1)
    assert held.mean(axis=0) / size == pytest.approx([1 / classes] * classes)


def test_a_device_whose_classes_have_run_out_takes_what_is_left():
    """One class each, so far as there is enough of it: the rest is filled up from the other classes."""
    labels = np.repeat([0, 1], [30, 2])
    parts = split(Dirichlet(alpha=1e-300), labels, count=4)
    assert [len(part) for part in parts] == [8] * 4
    assert counts(parts, labels).sum(axis=0).tolist() == [30, 2]


def test_one_each():
    assert [part.tolist() for part in split(OneEach(), np.zeros(3, int), 3)] == [[0], [1], [2]]
    with pytest.raises(InputError, match=r"devices\.count: 2 devices, but there are 3 samples"):
        split(OneEach(), np.zeros(3, int), 2)


def from_file(folder, content, count=2):
    path = folder / "parts.json"
    path.write_text(content)
    return split(FilePartition(path=path), count=count)


def test_file(tmp_path):
    parts = from_file(tmp_path, json.dumps({"1": [5, 5, 2], "0": [999]}))
    assert [part.tolist() for part in parts] == [[999], [5, 5, 2]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is not valid JSON"),
        ("[[0], [1]]", "must be a mapping"),
        ("null", "must be a mapping"),
        ("{}", 'has 0 devices, the scenario has 2 (numbered from 0); device "0" is missing'),
        ('{"0": [1]}', 'device "1" is missing'),
        ('{"0": [1], "1": [2], "2": [3]}', "has 3 devices, the scenario has 2"),
        ('{"a": [1], "b": [2]}', 'device "0" is missing'),
        ('{"0": [1], "1": []}', "1: must not be empty"),
        ('{"0": [1], "1": 5}', "1: must be a list, got 5"),
        ('{"0": [1], "1": [-1]}', "1: 0: must be >= 0, got -1"),
        ('{"0": [1], "1": [1.5]}', "1: 0: must be a whole number, got 1.5"),
        ('{"0": [1], "1": ["5"]}', '1: 0: must be a whole number, got "5"'),
        ('{"0": [1], "1": [true]}', "1: 0: must be a whole number, got true"),
        ('{"0": [1], "1": [1000]}', "names sample 1000, but there are 1000 (numbered from 0)"),
        ('{"0": [1], "1": [1e30]}', "1: 0: must be a whole number"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_wrong_file(tmp_path, content, reason):
    with pytest.raises(InputError) as caught:
        from_file(tmp_path, content)
    message = str(caught.value)
    prefix = f"data.partition.path: {tmp_path}/parts.json: "
    assert message.startswith(prefix)
    assert reason in message.removeprefix(prefix)
    assert "\n" not in message


def test_missing_file(tmp_path):
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(InputError, match=r"^data\.partition\.path: .*: (No such file|Is a directory)"):
            split(FilePartition(path=path))


@pytest.mark.oracle
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_pieces_are_the_list_of_their_parts(sizes):
    order = np.random.default_rng(1).permutation(sum(sizes))
    pieces = Pieces(order, np.cumsum(sizes))
    parts = np.split(order, np.cumsum(sizes)[:-1])
    same = [(ours == theirs).all() for ours, theirs in zip(pieces, parts, strict=True)]
    assert all(same)
    assert len(pieces) == len(sizes)
    assert part_sizes(pieces).tolist() == part_sizes(parts).tolist() == sizes
    assert (joined(pieces) == joined(parts)).all()
    assert [part.tolist() for part in pieces[1:]] == [part.tolist() for part in parts[1:]]
    assert pieces[-1].tolist() == parts[-1].tolist()
    with pytest.raises(IndexError):
        pieces[len(sizes)]
