"""Diversity of labels: the indices on numbers, the greedy set beside all sets, and devices' reports."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from forecast_cases import view_with

import edgefl
from edgefl.coordination.selection.data_diversity import DataDiversity, covering, diversity
from edgefl.core.streams import Streams

LABELS = np.array([[6, 0, 0], [2, 2, 2], [3, 3, 0], [0, 0, 12]])


def test_indices_on_numbers():
    assert diversity(LABELS, "gini_simpson") == pytest.approx([0, 1, 0.5 / (2 / 3), 0])
    assert diversity(LABELS, "shannon") == pytest.approx([0, 1, np.log(2) / np.log(3), 0])
    assert diversity(np.array([[4], [1]]), "shannon").tolist() == [0, 0]


@pytest.mark.parametrize("measure", ["gini_simpson", "shannon"])
def test_indices_are_concave_and_largest_for_equal_parts(measure):
    """The mean of two devices' shares is at least as diverse as they are on average."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, (200, 5)) + np.eye(5, dtype=int)[rng.integers(0, 5, 200)]
    share = labels / labels.sum(axis=1, keepdims=True)
    pooled = np.round((share[:100] + share[100:]) * 1e9).astype(int)
    single = diversity(labels, measure)
    assert (diversity(pooled, measure) >= (single[:100] + single[100:]) / 2 - 1e-6).all()
    assert ((single >= 0) & (single <= 1)).all()


def choose(view, count, present=(0, 1, 2, 3), **keys):
    weights = {"diversity": 0.0, "size": 0.0, "age": 0.0, **keys}
    return DataDiversity(**weights).choose(np.array(present), count, 0, Streams(1), view).tolist()


def test_weights_by_hand():
    view = view_with(labels=LABELS)
    assert choose(view, 2, diversity=1.0) == [1, 2]
    assert choose(view, 1, size=1.0) == [3]
    # 1 + 0.5 for device 1, 0.75 + 0.5 for device 2, 0 + 1 for device 3
    assert choose(view, 3, diversity=1.0, size=1.0) == [1, 2, 3]
    assert choose(view, 3, diversity=1.0, size=4.0) == [3, 1, 2]
    assert choose(view, 2, present=(0, 2), diversity=1.0) == [2, 0]


def test_long_absence_brings_devices_back():
    """By age alone, all take part in turns."""
    result = edgefl.run(
        {
            "rounds": 8,
            "data": {"dataset": "digits"},
            "devices": {"count": 12},
            "server": {
                "participants": 3,
                "selection": {"kind": "data_diversity", "diversity": 0.0, "size": 0.0, "age": 1.0},
            },
        },
        train=False,
    )
    for first in (1, 5):
        rows = result.devices[result.devices["round"].between(first, first + 3)]
        assert sorted(rows["device"]) == list(range(12))


def test_chosen_set_covers_classes_that_members_lack():
    """The two most diverse devices have the same classes; with coverage the second brings the others."""
    labels = np.array([[5, 5, 5, 0], [5, 5, 5, 0], [0, 0, 0, 9], [0, 0, 0, 1]])
    view = view_with(labels=labels)
    assert set(choose(view, 2, diversity=1.0)) == {0, 1}
    found = choose(view, 2, diversity=1.0, measure="coverage")
    assert found[0] in {0, 1}
    assert found[1] == 2


def test_greedy_sets_beside_all_sets():
    """Coverage is monotone and submodular, so the greedy set has at least 1 - 1/e of the best; here much more."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(30):
        labels = rng.multinomial(30, rng.dirichlet([0.2] * 6), 10)
        labels = np.array([rng.multinomial(30, rng.dirichlet([0.2] * 6)) for _ in labels])
        score = rng.uniform(0, 0.1, 10)
        whole = np.sqrt(labels.sum(axis=0)).sum()

        def value(rows, labels=labels, score=score, whole=whole):
            return np.sqrt(labels[list(rows)].sum(axis=0)).sum() / whole + score[list(rows)].sum()

        found = covering(labels, score, 1.0, 4, rng.random(10))
        assert len(set(found)) == 4
        best = max(value(some) for some in itertools.combinations(range(10), 4))
        assert value(found) <= best + 1e-12
        ratios.append(value(found) / best)
    assert min(ratios) >= 1 - 1 / np.e
    assert np.mean(ratios) > 0.97


@pytest.mark.oracle
def test_devices_report_their_labels(tmp_path):
    scenario = {
        "rounds": 1,
        "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.2}},
        "devices": {"count": 10},
        "server": {"participants": 3, "selection": {"kind": "data_diversity", "size": 0.0, "age": 0.0}},
    }
    result = edgefl.run(scenario, out=tmp_path / "out", train=False)
    rows = pd.read_csv(tmp_path / "out" / "labels.csv")
    counts = rows.pivot_table(index="device", columns="label", values="samples", fill_value=0).to_numpy()
    best = np.argsort(-diversity(counts.astype(int), "gini_simpson"))[:3]
    assert set(result.devices["device"]) == set(best)


def test_samples_without_classes_are_one_line():
    coefficients = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    scenario = {
        "data": {"dataset": "quadratic", "coefficients": coefficients, "partition": "one_each"},
        "devices": {"count": 2},
        "server": {"selection": "data_diversity"},
    }
    with pytest.raises(edgefl.InputError, match=r"server.selection: data_diversity needs samples with one class each"):
        edgefl.run(scenario, train=False)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"diversity": 0.0, "size": 0.0, "age": 0.0}, "diversity, size and age must not all be 0"),
    ],
)
def test_wrong_weights_are_one_line(keys, message):
    with pytest.raises(edgefl.InputError, match=message):
        edgefl.run({"server": {"selection": {"kind": "data_diversity", **keys}}}, train=False)
