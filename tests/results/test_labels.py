"""Labels of runs: unique, short, and in the words of textbooks."""

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.results.labels import labels
from edgefl.results.member_titles import title
from edgefl.results.scenario_tree import tree_of
from edgefl.scenario import load

FEDPROX = {"kind": "fedprox", "mu": 0.1}
MINE = {"kind": "my.py:FastButFair", "cap": 2}
UNIFORM = {"kind": "uniform"}
FEDAVG = {"kind": "fedavg", "weighting": "samples"}


def scenario(**changes):
    """Return a small scenario; `a__b` stands for the key a.b."""
    values = {"name": "study", "seed": 1, "algorithm": FEDAVG, "server.selection": UNIFORM, "radio.bandwidth_hz": 20e6}
    return tree_of(values | {key.replace("__", "."): value for key, value in changes.items()})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            [{}, {"server__selection": MINE}, {"algorithm": FEDPROX}],
            ["FedAvg + uniform", "FedAvg + FastButFair", "FedProx + uniform"],
        ),
        (
            [
                {"algorithm": {**FEDPROX, "mu": mu}, "radio__bandwidth_hz": hz}
                for mu in (0.1, 0.01)
                for hz in (10e6, 5e6)
            ],
            ["FedProx 0.1, 10 MHz", "FedProx 0.1, 5 MHz", "FedProx 0.01, 10 MHz", "FedProx 0.01, 5 MHz"],
        ),
        ([{}, {"algorithm": FEDPROX}], ["FedAvg", "FedProx"]),  # not the proximal weight, which FedAvg lacks
        ([{}, {"algorithm": "fedprox"}], ["FedAvg", "FedProx"]),
        ([{"server__selection": MINE}, {"algorithm": FEDPROX}], ["FedAvg + FastButFair", "FedProx + uniform"]),
        (
            [{"server__policy": {"kind": "deadline"}, "server__deadline_s": time_s} for time_s in (30.0, 60.0)],
            ["deadline 30 s", "deadline 60 s"],
        ),
        ([{"server__deadline_s": 30.0}, {"server__deadline_s": None}], ["deadline 30 s", "no deadline"]),
        ([{"training__lr": 0.1}, {"training__lr": 0.2, "seed": 2}], ["lr 0.1", "lr 0.2"]),
        ([{}, {"seed": 2}], ["seed 1", "seed 2"]),
        ([{"algorithm": FEDPROX}, {}, {"seed": 2}], ["FedProx", "FedAvg, seed 1", "FedAvg, seed 2"]),
        ([{"devices__count": 50}, {"devices__count": 100}], ["devices 50", "devices 100"]),
        ([{"backhaul": None}, {"backhaul": {"kind": "star"}}], ["no backhaul", "backhaul star"]),
        ([{"algorithm": {"kind": "a:My"}}, {"algorithm": {"kind": "b:My"}}], ["a:My", "b:My"]),
        (
            [{"churn__stay_s": {"exponential": 20}}, {"churn__stay_s": {"exponential": 300}}],
            ["stay exponential 20 s", "stay exponential 5 min"],
        ),
        # Given names and labels
        ([{"name": "a"}, {"name": "b", "seed": 2}], ["a", "b"]),
        ([{"name": "a"}, {"name": "b"}, {"name": "b", "seed": 2}], ["a", "b, seed 1", "b, seed 2"]),
        ([{"label": "Mine"}, {"algorithm": FEDPROX}], ["Mine", "FedProx"]),
        (
            [
                {"label": label, "algorithm": algorithm, "radio__bandwidth_hz": hz}
                for label, algorithm in (("Mine", MINE), ("Theirs", FEDPROX))
                for hz in (5e6, 10e6)
            ],
            ["Mine, 5 MHz", "Mine, 10 MHz", "Theirs, 5 MHz", "Theirs, 10 MHz"],
        ),
        ([{"import_from": ["/home/me"]}, {"algorithm": FEDPROX}], ["FedAvg", "FedProx"]),
        ([{}], ["study"]),
        ([{"label": "Mine"}], ["Mine"]),
        ([{}, {}], ["study (1)", "study (2)"]),
        ([{"name": "a"}, {"name": "a"}, {"name": "a (1)"}], ["a (2)", "a (3)", "a (1)"]),
    ],
)
def test_labels_are_the_shortest(changes, expected):
    assert labels([scenario(**change) for change in changes]) == expected


def test_no_value_is_cut():
    long_name = "a.package.of.mine:" + "FastButFair" * 10
    shown = labels([scenario(), scenario(server__selection={"kind": long_name})])
    assert shown == ["uniform", "FastButFair" * 10]


def test_long_lists_are_numbered():
    groups = [[{"count": count, "tx_power_dbm": 10} for count in range(first, first + 9)] for first in (1, 2)]
    assert labels([scenario(devices__groups=each) for each in groups]) == ["groups (1)", "groups (2)"]


def test_rounding_does_not_hide_a_difference():
    shown = labels([scenario(radio__bandwidth_hz=hz) for hz in (100e6, 100_000_001.0)])
    assert len(set(shown)) == 2


# Any scenarios

PARTS = {
    "algorithm": st.sampled_from([FEDAVG, FEDPROX, {**FEDPROX, "mu": 0.01}, {"kind": "scaffold"}]),
    "server.selection": st.sampled_from([UNIFORM, MINE, {**MINE, "cap": 3}]),
    "radio.bandwidth_hz": st.sampled_from([5e6, 10e6]),
    "training.lr": st.sampled_from([0.1, 0.2]),
    "churn": st.sampled_from([{"kind": "none"}, {"kind": "poisson", "arrivals_per_s": 1}]),
    "server.participants": st.sampled_from([None, 10, 20]),
}
SCENARIOS = st.lists(st.fixed_dictionaries(PARTS), min_size=1, max_size=6)
METHOD = ("algorithm", "server.selection")
SHOWN_AS = {  # what a label says of a key
    "algorithm.mu": r"FedProx 0",
    "server.selection.cap": r"FastButFair \d",
    "radio.bandwidth_hz": r"MHz",
    "training.lr": r"lr 0",
    "churn": r"churn",
    "server.participants": r"participants",
}
MEMBERS = {"algorithm": r"FedAvg|FedProx|SCAFFOLD", "server.selection": r"uniform|FastButFair"}


def leaves(values):
    """Return the values of all keys that a label may show; of a key that its member lacks, None."""
    rest = {key: values[key] for key in ("radio.bandwidth_hz", "training.lr", "server.participants")}
    return {
        "method": tuple(values[key]["kind"] for key in METHOD),
        "algorithm.mu": values["algorithm"].get("mu"),
        "server.selection.cap": values["server.selection"].get("cap"),
        "churn": values["churn"]["kind"],
        **rest,
    }


@pytest.mark.oracle
@settings(max_examples=50)
@given(SCENARIOS, st.randoms())
def test_labels_are_never_the_same_and_do_not_depend_on_the_order(parts, chance):
    trees = [tree_of({"name": "study", "seed": 1} | values) for values in parts]
    shown = labels(trees)
    assert len(set(shown)) == len(parts)
    different = {json.dumps(values, sort_keys=True) for values in parts}
    assert any("(1)" in text for text in shown) == (len(different) < len(parts))  # numbers only where nothing differs
    if len(different) == len(parts):
        order = list(range(len(trees)))
        chance.shuffle(order)
        assert labels([trees[place] for place in order]) == [shown[place] for place in order]


@pytest.mark.oracle
@settings(max_examples=50)
@given(SCENARIOS)
def test_no_shorter_set_of_keys_would_do(parts):
    rows = [leaves(values) for values in parts]
    text = " ".join(labels([tree_of({"name": "study", "seed": 1} | values) for values in parts]))
    shown = {key for key, pattern in SHOWN_AS.items() if re.search(pattern, text)}
    # The number of a member is shown with the member's name. It can be compared without it if all have this member.
    vary = {key for key in METHOD if len({values[key]["kind"] for values in parts}) > 1}
    if any(re.search(MEMBERS[key], text) for key in vary):
        shown.add("method")
    wanted = len({tuple(row.items()) for row in rows})
    for size in range(len(shown)):
        for fewer in itertools.combinations(["method", *SHOWN_AS], size):
            if "method" not in fewer and any(key.rpartition(".")[0] in vary for key in fewer):
                continue
            assert len({tuple(row[key] for key in fewer) for row in rows}) < wanted


@pytest.mark.oracle
def test_many_keys_need_no_search():
    shown = labels([scenario(**{f"training__k{key}": int(place == key) for key in range(40)}) for place in range(40)])
    assert len(set(shown)) == 40
    assert shown[:39] == [f"{', '.join(f'k{key} {int(key == place)}' for key in range(39))}" for place in range(39)]


# Titles of members


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("algorithm", "qfedavg", "q-FedAvg"),
        ("algorithm", "fedvarp", "FedVARP"),
        ("data.dataset", "cifar10", "CIFAR-10"),
        ("data.dataset", "tiny_imagenet", "Tiny ImageNet"),
        ("data.partition", "dirichlet", "Dirichlet"),
        ("server.selection", "best_channel", "best channel"),
        ("server.selection", "tifl", "TiFL"),
        ("server.policy", "synchronous", "synchronous"),
        ("model", "mlp", "MLP"),
        ("algorithm", "my_package.nova:MyNova", "MyNova"),
        ("no.such.key", "left_out", "left out"),
    ],
)
def test_members_have_the_names_of_their_papers(path, kind, expected):
    assert title(path, kind) == expected


# The key of the scenario


def test_label_is_only_written_where_it_is_given():
    assert "label" not in load("quickstart").model_dump(mode="json")
    given_label = load("quickstart", ["label=My method, α = 2"])
    assert given_label.label == "My method, α = 2"
    assert load(given_label.model_dump(mode="json")) == given_label
