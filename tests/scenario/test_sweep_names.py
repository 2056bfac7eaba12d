"""Names of a sweep's points and of their folders."""

import fnmatch
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefl.records.swept_keys import beside_label
from edgefl.scenario.sweep_names import MOST_NAME_BYTES, point_names

MINE = {"kind": "my_module:FastButFair", "cap": 2, "mode": "cap"}


def grid(**values):
    keys = [key.replace("__", ".") for key in values]
    return [dict(zip(keys, row, strict=True)) for row in itertools.product(*values.values())]


def test_points_of_a_study_are_told_apart_by_every_key():
    points = grid(
        radio__bandwidth_hz=[5e6, 10e6, 20e6, 40e6],
        churn__arrivals_per_s=[0.2, 1, 5],
        algorithm=["fedavg", {"kind": "fedprox", "mu": 0.1}, "scaffold", MINE],
    )
    names, left_out = point_names(points)
    assert not left_out
    assert names[0] == "01-algorithm=fedavg,bandwidth_hz=5e6,arrivals_per_s=0.2"
    assert names[-1] == "48-algorithm=FastButFair,bandwidth_hz=4e7,arrivals_per_s=5"
    values = [name.partition("-")[2] for name in names]
    assert len(set(values)) == 48
    for method in ("fedavg", "fedprox", "scaffold", "FastButFair"):
        assert len(fnmatch.filter(names, f"*{method}*")) == 12


def test_label_leads_and_stands_for_what_it_determines():
    points = [
        {"radio.bandwidth_hz": hz, "label": label, "algorithm": algorithm}
        for hz in (5e6, 10e6)
        for label, algorithm in (("My method", MINE), ("FedAvg", "fedavg"))
    ]
    assert point_names(points).names[:2] == ["1-My_method,bandwidth_hz=5e6", "2-FedAvg,bandwidth_hz=5e6"]
    assert beside_label(points) == ["label", "radio.bandwidth_hz"]


VALUES = st.one_of(
    st.sampled_from(["fedavg", "a:B", "ä" * 20, "x" * 70]),
    st.integers(-10, 10**7),
    st.fixed_dictionaries({"kind": st.sampled_from(["p", "q"]), "mu": st.floats(0.1, 10)}),
)


@pytest.mark.oracle
@given(st.lists(st.fixed_dictionaries({f"s.key_number_{key}": VALUES for key in range(4)}), min_size=1, max_size=12))
def test_names_are_unique_and_fit(points):
    names, left_out = point_names(points)
    assert len(set(names)) == len(points)
    for name in names:
        assert len(name.encode()) <= MOST_NAME_BYTES + 3
        assert all((f"{key.partition('.')[2]}=" in name) == (key not in left_out) for key in points[0])


@pytest.mark.parametrize("points", [[{}], [{}, {"a": 1}]])
def test_points_without_values_have_numbers(points):
    assert point_names(points).names[0] == "1"
