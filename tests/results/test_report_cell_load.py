"""The load of the cells over time, against the columns of rounds.csv."""

import numpy as np
import pytest
from report_folders import named
from server_cases import BASE, SEVEN_CELLS, SEVEN_CELLS_RADIO

import edgefl
from edgefl.core.units import score
from edgefl.results.report.run import cell_load
from edgefl.results.report.shared.read import load


def run_of(**changes):
    return edgefl.run({**BASE, "server": {"participants": 6}, **changes}, train=False, device="cpu").as_run()


def test_points_are_the_loads_of_rounds():
    run = run_of()
    figure = cell_load.figure(run)
    assert named(figure, "uploads, % of the band")["y"] == pytest.approx(100 * run.rounds["load_up"], rel=1e-3)
    bits = 8 * run.rounds["bytes_down"] / run.rounds["duration_s"]
    assert named(figure, "downloads, Mbit/s")["y"] == pytest.approx(bits / 1e6, rel=1e-3)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["synchronous", "asynchronous"])
def test_all_bits_and_all_time_on_the_band_are_drawn(policy):
    run = run_of(rounds=60, server={"participants": 6, "policy": policy})
    figure = cell_load.figure(run)
    end_s = run.rounds["time_s"][-1]
    points = len(named(figure, "uploads, % of the band")["y"])
    lasted_s = run.rounds["duration_s"] if policy == "synchronous" else np.full(points, end_s / points)
    carried = np.array(named(figure, "uploads, Mbit/s")["y"]) * lasted_s
    assert carried.sum() == pytest.approx(8e-6 * run.rounds["bytes_up"].sum(), rel=1e-3)
    in_use = np.array(named(figure, "uploads, % of the band")["y"])
    assert (in_use * lasted_s).sum() == pytest.approx(
        100 * (run.rounds["load_up"] * run.rounds["duration_s"]).sum(), rel=1e-3
    )
    assert in_use.max() <= 101  # without rounds, too, no band is in use more than once


def test_caption_names_the_cells_and_the_bytes_of_a_device():
    run = run_of(cells=SEVEN_CELLS, radio=SEVEN_CELLS_RADIO, server={"participants": 14})
    text = cell_load.caption(run)
    band_s = run.rounds["load_up"] * run.rounds["duration_s"]
    assert f"{score(band_s.sum() / run.rounds['time_s'][-1])} of the uplink's were in use (uplinks from" in text
    per_device = run.devices["bytes_up"].sum() / len(np.unique(run.devices["device"])) / 1e3
    assert f"sent {per_device:.0f} kB on average" in text
    assert cell_load.card(run, [run]).title == "Load of the cells"


def test_older_folder_has_no_card(result):
    run = load(result())
    assert cell_load.card(run, [run]) is None
