"""The choices that page, export and compare share: which points of a sweep, and where keys go."""

import pytest
from sweep_folders import make

from edgefl.core.errors import InputError
from edgefl.results.report.sweep.selection import StudyChoice, layout_of, selected
from edgefl.results.report.sweep.study import load

GRID = {
    "algorithm": ["fedavg", {"kind": "fedprox", "mu": 0.1}, {"kind": "fedprox", "mu": 1}, "my_own:Mine"],
    "radio.bandwidth_hz": [5_000_000, 12_500_000],
    "churn.arrivals_per_s": [0.5, 1, 2],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return load(make(tmp_path_factory.mktemp("selection") / "sweep", GRID, seeds=(1,), rounds=2))


def labels(study):
    return [point.label for point in study.points]


@pytest.mark.parametrize("key", range(3))
def test_the_values_of_a_key_divide_the_points(study, key):
    """Each point has one value: selected one by one, all points are there once, in fewer keys."""
    path = study.keys[key].path
    parts = [selected(study, [f"{path}={text}"]) for text in study.keys[key].texts]
    assert sorted(label for part in parts for label in labels(part)) == sorted(labels(study))
    for part in parts:
        assert [own.path for own in part.keys] == [own.path for own in study.keys if own.path != path]
        for point in part.points:
            whole = study.points[labels(study).index(point.label)]
            kept = [
                study.keys[number].texts[value] for number, value in enumerate(whole.value_indices) if number != key
            ]
            assert [own.texts[value] for own, value in zip(part.keys, point.value_indices, strict=True)] == kept


@pytest.mark.parametrize(
    "spellings",
    [
        ["radio.bandwidth_hz=12.5 MHz", "bandwidth_hz=12.5MHz", "bandwidth=12.5e6", "bandwidth_hz=12500000"],
        ["algorithm=Mine", "algorithm=my_own:Mine", "algorithm=mine"],
        ["algorithm=FedProx 0.1", 'algorithm={"kind": "fedprox", "mu": 0.1}'],
        ["arrivals_per_s=0.5 /s,2", "churn.arrivals_per_s=2,0.5", "arrivals=0.50 , 2.0"],
    ],
)
def test_a_value_may_be_written_as_texts_or_as_yaml_have_it(study, spellings):
    chosen = [labels(selected(study, [spelling])) for spelling in spellings]
    assert chosen == [chosen[0]] * len(spellings)
    assert 0 < len(chosen[0]) < len(study.points)


def test_conditions_on_one_key_are_alternatives_and_on_several_are_joined(study):
    both = selected(study, ["arrivals_per_s=0.5", "arrivals_per_s=1", "algorithm=Mine"])
    assert [key.path for key in both.keys] == ["radio.bandwidth_hz", "churn.arrivals_per_s"]
    assert len(both.points) == 2 * 2


def test_a_kind_that_several_values_share_is_refused(study):
    with pytest.raises(
        InputError, match=r"--where algorithm=fedprox: 'fedprox' is not a value of algorithm: use one of"
    ):
        selected(study, ["algorithm=fedprox"])


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({}, (1, [0], [], [], [2])),  # bandwidth, a line for each method, a panel for each rate
        ({"over": "arrivals_per_s"}, (2, [0], [], [], [1])),
        ({"over": "algorithm"}, (0, [1], [], [], [2])),
        ({"facet": ("algorithm",)}, (1, [2], [], [], [0])),
        ({"rows": ("algorithm",), "columns": ("arrivals",)}, (1, [], [0], [2], [])),
        ({"rows": ("algorithm,bandwidth",)}, (2, [], [0, 1], [], [])),
    ],
)
def test_every_key_has_one_place(study, choice, expected):
    layout = layout_of(study, StudyChoice(**choice))
    assert tuple(layout) == expected
    places = [layout.over, *layout.lines, *layout.rows, *layout.columns, *layout.facets]
    assert sorted(places) == [0, 1, 2]
