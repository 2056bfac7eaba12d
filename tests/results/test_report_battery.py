"""Levels of batteries, on average and of single devices."""

import numpy as np
import pytest
from report_folders import with_rounds
from result_folders import rewrite

from edgefl.results.report.page import render
from edgefl.results.report.run import battery, device_energy, device_groups
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import on_page


def test_mean_level_empty_devices_and_each_one(result):
    folder = with_rounds(result(rounds=9), battery=lambda n: 1 - n / 20, depleted=lambda n: n // 4)
    folder = rewrite(
        folder, "devices.csv", lambda row: {"battery_j": 100 - int(row["round"]), "battery_capacity_j": 100}
    )
    run = load(folder)
    mean, empty, own = battery.figure(run)["data"]
    assert mean["y"] == pytest.approx(100 * run.rounds["battery"])
    assert empty["y"] == run.rounds["depleted"].tolist()
    devices = np.unique(run.devices["device"])
    some = min(len(devices), battery.MOST_BATTERIES)
    assert own["y"].count(None) == some  # a gap behind each
    first = own["y"][: own["y"].index(None)]
    mine = run.devices["device"] == devices[0]
    levels_j = run.devices["battery_j"][mine]
    assert first == pytest.approx(levels_j, rel=1e-3)
    ends = run.rounds["time_s"][run.devices["row"][mine]] - run.devices["wait_s"][mine]
    assert own["x"][: len(first)] == pytest.approx(ends, rel=1e-4)


def test_levels_are_parts_of_the_capacity(result):
    """A device that is never full is not drawn as full."""
    folder = with_rounds(result(rounds=9), battery=lambda _: 0.5)
    run = load(rewrite(folder, "devices.csv", lambda _: {"battery_j": 60, "battery_capacity_j": 240}))
    own = battery.figure(run)["data"][-1]
    assert {value for value in own["y"] if value is not None} == {25.0}
    assert "in % of the capacity" in battery.caption(run)


def test_groups_have_their_colours_and_charging_breaks_lines(result):
    """Phones are charged after every third round: a gap there, and one behind each device."""
    kinds = [{"name": "phones", "share": 0.9}, {"name": "sensors", "share": 0.1}]
    devices = {"count": 10, "battery": {"capacity_j": 100.0}, "groups": kinds}
    folder = with_rounds(result(rounds=9, devices=devices), battery=lambda _: 0.5, depleted=lambda _: 0)
    levels = {"battery_j": lambda number: 80 - 10 * (number % 3), "battery_capacity_j": lambda _: 100}
    run = load(rewrite(folder, "devices.csv", lambda row: {key: of(int(row["round"])) for key, of in levels.items()}))
    _, phones, sensors = battery.figure(run)["data"]
    assert (
        phones["line"]["color"]
        == device_groups.GROUP_COLOURS[0]
        != sensors["line"]["color"]
        == device_groups.GROUP_COLOURS[1]
    )
    assert sensors["y"] == [70, 60, None, 80, 70, 60, None, 80, 70, 60, None, 80, None]
    assert len(phones["y"]) == 9 * len(sensors["y"])
    assert {kind for _, _, kind in device_energy.figure(run)["data"][0]["customdata"]} == {
        " (phones)",
        " (sensors)",
    }
    dot = f'<i class="dot" style="background:{on_page("#009e73")}"></i>'
    assert f"<span>{dot}sensors</span>" in render([run])


@pytest.mark.oracle
def test_battery_losses_outside_learning_have_a_name(result):
    """Sums over rounds; the energy of a run is the energy of learning, and without batteries the only one."""
    columns = {
        "battery": lambda _: 0.5,
        "depleted": lambda _: 0,
        "drained_j": lambda n: 100 * n,
        "charged_j": lambda _: 1000,
    }
    page = render([load(with_rounds(result("low", rounds=4), **columns))])
    assert ">Energy of learning<" in page
    assert ">Drained from batteries besides learning<" in page
    assert page.index("<strong>1<small>kJ</small>") < page.index("<strong>4<small>kJ</small>")
    mains = render([load(result("mains"))])
    assert ">Energy of all devices<" in mains
    assert "besides learning" not in mains


def test_run_without_batteries_has_no_figure(result):
    assert battery.figure(load(result())) is None


@pytest.mark.parametrize(("level", "depleted", "is_drawn"), [(0.95, 0, False), (0.85, 0, True), (0.95, 1, True)])
def test_batteries_that_stay_full_have_no_chart(result, level, depleted, is_drawn):
    folder = with_rounds(result(rounds=9), battery=lambda _: 0.97, depleted=lambda _: depleted)
    run = load(rewrite(folder, "devices.csv", lambda _: {"battery_j": 100 * level, "battery_capacity_j": 100}))
    assert (battery.card(run, [run]) is not None) == is_drawn
