"""The map: base stations and devices."""

import numpy as np
import pytest
from report_folders import change_devices, named
from result_folders import rewrite

from edgefl.results.report.run import cell_map
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import TIME_PHASES


def test_map_shows_last_position_of_every_device(result):
    run = load(result(rounds=30, devices__count=20))
    trace = named(cell_map.figure(run), "devices")
    last = {device: row for row, device in enumerate(run.devices["device"])}
    assert [told[0] for told in trace["customdata"]] == sorted(last)
    rows = [last[told[0]] for told in trace["customdata"]]
    assert trace["x"] == pytest.approx(run.devices["x_m"][rows], rel=1e-3)
    assert trace["marker"]["color"] == pytest.approx(run.devices["pathloss_db"][rows], rel=1e-3)
    assert [told[2] for told in trace["customdata"]] == [
        int((run.devices["device"] == told[0]).sum()) for told in trace["customdata"]
    ]


def test_mean_phases_of_a_device(result):
    run = load(result(rounds=30, devices__count=12))
    told = named(cell_map.figure(run), "devices")["customdata"][0]
    mine = run.devices["device"] == told[0]
    expected = [1e3 * run.devices[phase.column][mine].mean() for phase in TIME_PHASES[1:]]
    assert told[4:] == pytest.approx(expected, rel=1e-3)  # in ms


def test_equal_scales_rim_and_hole(result):
    layout = cell_map.figure(load(result(rounds=20)))["layout"]
    assert layout["yaxis"]["scaleanchor"] == "x"
    rim, hole = layout["shapes"]
    corners = np.array([corner.split(",") for corner in rim["path"][1:-1].split("L")], dtype=float)
    assert np.hypot(*corners.T) == pytest.approx(250, rel=1e-3)
    assert (hole["x0"], hole["y1"]) == (-10, 10)


@pytest.mark.parametrize("clear", ["1", "True", "true", "1.0"])
def test_line_of_sight_accepts_all_spellings(result, clear):
    folder = change_devices(result(rounds=2), lambda row: {"los": clear if row["device"] < "5" else "0"})
    marker = named(cell_map.figure(load(folder)), "devices")["marker"]
    assert set(marker["symbol"]) == {"circle", "diamond"}
    assert "Diamonds" in cell_map.caption(load(folder))


def test_unknown_place_is_null(result):
    folder = change_devices(result(rounds=1), lambda row: {"x_m": "", "pathloss_db": ""} if row["device"] < "5" else {})
    trace = named(cell_map.figure(load(folder)), "devices")
    assert trace["x"].count(None) == trace["marker"]["color"].count(None) > 0


@pytest.mark.oracle
def test_caption_names_share_of_drawn_devices(result):
    run = load(result(rounds=3, devices__count=100_000, server__participants=1000))
    assert len(named(cell_map.figure(run), "devices")["x"]) == cell_map.MOST_MARKS
    assert cell_map.caption(run).startswith("2,000 of 2,9")


def test_a_scenario_of_another_version_has_its_devices_on_the_map(result):
    figure = cell_map.figure(load(result(cells={"radius_m": 250, "colour": "blue"})))
    assert [trace["name"] for trace in figure["data"]] == ["devices"]


def test_map_zooms_in_on_clustered_devices(result):
    folder = rewrite(result(), "devices.csv", lambda row: {"x_m": 20 + int(row["device"]) / 2, "y_m": 5})
    left, right = cell_map.figure(load(folder))["layout"]["xaxis"]["range"]
    assert left < 0
    assert 70 < right < 100 + left


@pytest.mark.parametrize(
    ("x_m", "y_m", "direction"),
    [(60, 0, "60 m to the west"), (-60, -60, "85 m to the north-east"), (0, 80, "80 m to the south")],
)
def test_crowd_near_base_station_fills_map(result, x_m, y_m, direction):
    """Half of 14 m and a margin around it; the caption says where the base station is."""
    places = {"x_m": lambda device: x_m + device / 99 - 0.5, "y_m": lambda device: y_m + 14 * device / 99 - 7}
    folder = rewrite(result(), "devices.csv", lambda row: {name: at(int(row["device"])) for name, at in places.items()})
    run = load(folder)
    across, up = (cell_map.figure(run)["layout"][axis]["range"] for axis in ("xaxis", "yaxis"))
    half = 1.3 * 7
    assert across == pytest.approx([x_m - half, x_m + half], abs=0.3)
    assert up == pytest.approx([y_m - half, y_m + half], abs=0.3)
    assert f"The base station is not in the picture: it is {direction}." in cell_map.caption(run)
