"""Scenarios that extend others: whose keys count, where their files are, and where faults are reported."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import edgefl
from edgefl import InputError
from edgefl.scenario import dump, load, load_sweep
from edgefl.scenario.merging import merged
from edgefl.scenario.overlays import MOST_FILES

BASE = """\
rounds: 4
seed: 3
name: of the base
data: {dataset: quadratic, coefficients: [[1, 1, 0], [1, -1, 0]], partition: {kind: dirichlet, alpha: 0.3}}
algorithm: {kind: fedprox, mu: 0.5}
server:
  participants: 3
  selection: {kind: bernoulli, probability: 0.5}
devices:
  count: 6
  cpu_hz: {uniform: [1.0e9, 2.0e9]}
"""
LEAVES = {"a": st.integers(), "b": st.lists(st.integers())}
TREES = st.fixed_dictionaries({}, optional={**LEAVES, "c": st.fixed_dictionaries({}, optional=LEAVES)})


@pytest.fixture
def base(tmp_path):
    """Return the file that others extend, in a folder of its own."""
    (tmp_path / "bases").mkdir()
    path = tmp_path / "bases" / "base.yaml"
    path.write_text(BASE)
    return path


def overlay(base, text, name="mine.yaml"):
    """Return a file beside the base's folder that extends it."""
    path = base.parents[1] / name
    path.write_text(f"extends: bases/base.yaml\n{text}")
    return path


def faults(path, *overrides):
    """Return the lines about a file, without its folder."""
    with pytest.raises(InputError) as caught:
        load(path, overrides)
    return [line.removeprefix(f"{path.parent}/") for line in caught.value.faults]


@pytest.mark.oracle
@given(TREES, TREES, TREES)
def test_merging_is_associative_and_the_upper_keys_count(low, middle, high):
    assert merged(merged(low, middle), high) == merged(low, merged(middle, high))
    assert merged(low, {}) == low
    assert merged({}, low) == low
    assert merged(low, low) == low


def test_keys_of_the_same_kind_are_merged_and_other_kinds_replaced(base):
    scenario = load(overlay(base, "algorithm: {mu: 0.1}\nserver: {selection: {kind: round_robin}}"))
    assert (scenario.rounds, scenario.seed, scenario.devices.count) == (4, 3, 6)
    assert scenario.algorithm.mu == 0.1
    assert type(scenario.server.selection).__name__ == "RoundRobin"
    assert scenario.server.participants == 3


def test_distribution_and_list_are_replaced_as_a_whole(base):
    scenario = load(overlay(base, "devices: {cpu_hz: {normal: [1.0e9, 1.0e8]}}\ntargets: [0.5]"))
    assert yaml.safe_load(dump(scenario))["devices"]["cpu_hz"] == {"normal": [1e9, 1e8]}
    higher = load({"extends": str(overlay(base, "targets: [0.5, 0.6]")), "targets": [0.7]})
    assert higher.targets == (0.7,)


def test_another_dataset_keeps_the_partition_and_loses_the_keys_of_the_former(base):
    scenario = load(overlay(base, "data: {dataset: digits}"))
    assert type(scenario.data.dataset).__name__ == "Digits"
    assert type(scenario.data.partition).__name__ == "Dirichlet"


def test_key_without_a_value_takes_the_key_away(base):
    assert load(overlay(base, "seed:")).seed == load({}).seed


def test_name_of_the_base_is_not_passed_on(base):
    assert load(overlay(base, "")).name == "mine"
    assert load(base).name == "of the base"


def test_last_of_several_bases_counts_and_own_keys_above_all(base):
    other = base.with_name("other.yaml")
    other.write_text("seed: 8\nrounds: 9\n")
    path = base.parents[1] / "both.yaml"
    path.write_text("extends: [bases/base.yaml, bases/other.yaml]\nrounds: 2\n")
    scenario = load(path)
    assert (scenario.seed, scenario.rounds, scenario.devices.count) == (8, 2, 6)
    assert load(path, ["rounds=1"]).rounds == 1


def test_shipped_scenario_is_extended_by_its_name(tmp_path):
    path = tmp_path / "wide.yaml"
    path.write_text("extends: quickstart\nradio: {bandwidth_hz: 40e6}\n")
    shipped = load("quickstart", ["radio.bandwidth_hz=40e6", "name=wide"])
    assert load(path) == shipped
    assert load({"extends": "quickstart", "radio": {"bandwidth_hz": 40e6}, "name": "wide"}) == shipped


def test_paths_are_looked_for_beside_the_file_that_names_them(base):
    for folder, clock in ((base.parent, "1e9"), (base.parents[1], "2e9")):
        (folder / "clocks.csv").write_text("hz\n" + f"{clock}\n" * 6)
    base.write_text(BASE.replace("{uniform: [1.0e9, 2.0e9]}", "{file: clocks.csv, column: hz}"))
    inherited = load(overlay(base, ""))
    own = load(overlay(base, "devices: {cpu_hz: {file: clocks.csv, column: hz}}"))
    assert yaml.safe_load(dump(inherited))["devices"]["cpu_hz"]["file"] == str(base.parent / "clocks.csv")
    assert yaml.safe_load(dump(own))["devices"]["cpu_hz"]["file"] == str(base.parents[1] / "clocks.csv")


def test_written_scenario_is_the_merged_whole(base):
    scenario = load(overlay(base, "rounds: 2"))
    written = dump(scenario)
    assert "extends" not in written
    again = base.parents[1] / "scenario.yaml"
    again.write_text(written)
    assert load(again) == scenario


def test_fault_is_reported_where_the_value_stands(base):
    base.write_text(BASE.replace("participants: 3", "participants: -3").replace("mu: 0.5", "mu: 0.5, nu: 1"))
    path = overlay(base, "algorithm: {mu: -1}\n")
    assert [line.partition(": ")[0] for line in faults(path)] == [
        "mine.yaml:2",
        "bases/base.yaml:5",
        "bases/base.yaml:7",
    ]
    assert faults(path, "server.participants=0")[0].startswith("mine.yaml:2: algorithm.mu: must be >= 0")
    assert any(
        line.startswith("--set server.participants=0: server.participants")
        for line in faults(path, "server.participants=0")
    )


def test_files_that_extend_each_other_are_refused_in_a_line(base):
    path = overlay(base, "")
    base.write_text("extends: ../mine.yaml\n")
    assert faults(path) == ["bases/base.yaml:1: extends: ../mine.yaml leads back to this file: remove one of the two"]
    base.write_text("extends: base.yaml\n")
    (line,) = faults(path)
    assert line.startswith("bases/base.yaml:1: extends: base.yaml leads back")


@pytest.mark.oracle
def test_files_that_would_be_read_a_million_times_are_refused(tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.yaml").write_text(f"extends: [{number + 1}.yaml, {number + 1}.yaml]\n")
    (tmp_path / "20.yaml").write_text("rounds: 1\n")
    (line,) = faults(tmp_path / "0.yaml")
    assert f"more than {MOST_FILES} files" in line


def test_extends_cannot_be_set_from_outside_the_file(base):
    assert faults(base, "extends=quickstart") == [
        "--set extends=quickstart: extends is read only from the file: write it there"
    ]


def test_base_of_a_sweep_may_extend(base):
    overlay(base, "rounds: 2\n")
    sweep = base.parents[1] / "sweep.yaml"
    sweep.write_text("base: mine.yaml\ngrid: {algorithm.mu: [0.1, 0.2]}\n")
    points = load_sweep(sweep).points
    assert [(point.scenario.algorithm.mu, point.scenario.rounds, point.scenario.devices.count) for point in points] == [
        (0.1, 2, 6),
        (0.2, 2, 6),
    ]


def test_run_of_a_mapping_that_extends(base, tmp_path):
    result = edgefl.run(
        {"extends": str(overlay(base, "rounds: 1\ndata: {dataset: digits}"))}, out=tmp_path / "out", train=False
    )
    assert len(result.rounds) == 1
    assert "extends" not in (tmp_path / "out" / "scenario.yaml").read_text()


def test_example_of_the_guide_does_as_it_says(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "scenario.md").read_text()
    example = guide.partition("## Variants of a scenario")[2].partition("```yaml\n")[2].partition("```")[0]
    path = tmp_path / "narrow.yaml"
    path.write_text(example)
    scenario = load(path)
    assert (scenario.targets, scenario.server.participants, scenario.radio.bandwidth_hz) == ((), 5, 5e6)
    assert scenario.mobility == load("selection-world").mobility
