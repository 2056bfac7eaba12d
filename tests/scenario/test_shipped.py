"""Scenarios that come with edgefl, by name."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import is_sweep, load, load_sweep, shipped
from edgefl.world.churn.base import Presence
from edgefl.world.world import World

SHIPPED = Path(__file__).parents[2] / "scenarios"


def world(scenario):
    """Return the devices of a scenario, all of them present."""
    presence = Presence(np.ones(scenario.devices.count))
    return World(
        devices=scenario.devices,
        cells=scenario.cells,
        mobility=scenario.mobility,
        presence=presence,
        streams=Streams(scenario.seed),
    )


@pytest.mark.oracle
def test_names_are_those_of_the_files_and_no_two_are_alike():
    names = [*shipped.scenarios(), *shipped.sweeps()]
    assert sorted(names) == sorted(path.stem for path in SHIPPED.rglob("*.yaml"))
    assert not any(is_sweep(path) for path in shipped.scenarios().values())
    assert all(is_sweep(path) for path in shipped.sweeps().values())


def test_a_name_gives_the_scenario_of_the_file():
    assert load("quickstart") == load(SHIPPED / "quickstart.yaml")
    assert load("quickstart").name == "quickstart"


def test_scenarios_may_be_in_subfolders(tmp_path, monkeypatch):
    for name in ("first", "wireless/second", "sweeps/third"):
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text("# What it shows\nrounds: 1\n")
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path)
    assert shipped.scenarios() == {"first": tmp_path / "first.yaml", "second": tmp_path / "wireless" / "second.yaml"}
    assert list(shipped.sweeps()) == ["third"]
    assert load("second").name == "second"
    (tmp_path / "copies").mkdir()
    assert shipped.copy_to("second", tmp_path / "copies").read_text().endswith("# What it shows\nrounds: 1\n")


def test_a_name_gives_the_base_of_a_sweep(tmp_path):
    (tmp_path / "mine.yaml").write_text("base: quickstart\ngrid: {rounds: [1, 2]}")
    sweep = load_sweep(tmp_path / "mine.yaml")
    assert [point.scenario for point in sweep.points] == [load("quickstart", [f"rounds={n}"]) for n in (1, 2)]


def test_a_changed_copy_is_not_mistaken_for_the_original(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy = shipped.copy_to("quickstart", Path())
    line, _, rest = copy.read_bytes().partition(b"\n")
    assert line == b"# yaml-language-server: $schema=edgefl-scenario.schema.json"
    assert rest == (SHIPPED / "quickstart.yaml").read_bytes()
    assert load("quickstart") == load(copy)
    copy.write_text("rounds: 3\n")
    with pytest.raises(InputError, match=r"write quickstart\.yaml for that file"):
        load("quickstart")
    with pytest.raises(InputError, match="exists already"):
        shipped.copy_to("quickstart", Path())
    assert copy.read_text() == "rounds: 3\n"


@pytest.mark.oracle
def test_a_copied_sweep_still_finds_its_base(tmp_path):
    copy = shipped.copy_to("devices", tmp_path)
    assert len(load_sweep(copy).points) == len(load_sweep("devices").points)


def scenarios_with_batteries():
    """Return the shipped scenarios in which some device has a battery."""
    found = []
    for name in shipped.scenarios():
        with suppress(InputError):  # its trace is not here
            found.append(load(name))
    return [scenario for scenario in found if scenario.devices.has_batteries]


@pytest.mark.oracle
def test_in_no_shipped_scenario_does_taking_part_save_battery():
    """In each activity a participant's battery has lost at least as much after a second as that of a bystander."""
    on_battery = scenarios_with_batteries()
    assert {"00-hello", "20-batteries", "quickstart"} <= {scenario.name for scenario in on_battery}
    for scenario in on_battery:
        ids = np.arange(scenario.devices.count)
        powers_w = world(scenario).powers_w(ids)
        powers_w["tx"] = powers_w["tx"] + powers_w.pop("circuit")
        if not scenario.devices.has_tails:
            del powers_w["tail"]
        bystanders = world(scenario).batteries
        bystanders.advance(1.0)
        for activity, power_w in powers_w.items():
            participants = world(scenario).batteries
            participants.begin(ids, power_w, 0.0)
            participants.advance(1.0)
            saved_j = participants.levels_j(ids, 1.0) - bystanders.levels_j(ids, 1.0)
            assert saved_j.max() <= 1e-9, activity
