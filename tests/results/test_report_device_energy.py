"""Energy by device."""

import numpy as np
import pytest

import edgefl
from edgefl.results.report.run import device_energy
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import ENERGY_PHASES


def test_all_energy_by_device_largest_first(result):
    run = load(result(devices__count=30))
    figure = device_energy.figure(run)
    heights = np.sum([trace["y"] for trace in figure["data"]], axis=0)
    spent = sum(run.devices[phase.column] for phase in ENERGY_PHASES)
    assert heights.sum() == pytest.approx(spent.sum(), rel=1e-3)
    assert (np.diff(heights) <= 1e-3).all()
    dearest, rank, _ = figure["data"][0]["customdata"][0]
    assert rank == 1
    assert heights[0] == pytest.approx(spent[run.devices["device"] == dearest].sum(), rel=1e-3)


def test_a_run_that_has_spent_no_energy_has_no_such_card(result, tmp_path):
    """All devices are late before they have set up; beside a run that has spent some, the card is left out, too."""
    world = {"rounds": 2, "server": {"policy": "deadline", "deadline_s": 0.2}, "devices": {"setup_s": 0.5}}
    late = load(edgefl.run(world, out=tmp_path / "late", train=False).folder)
    assert device_energy.card(late, [late, load(result())]) is None
    assert (tmp_path / "late" / "report.html").stat().st_size


def test_bars_of_many_devices_stand_side_by_side(result):
    """An even pick without gaps; the axis and the text under the pointer have the ranks among all."""
    run = load(result(rounds=4, devices__count=400, server__participants=400))
    figure = device_energy.figure(run)
    drawn = figure["data"][0]
    assert drawn["x"] == list(range(1, device_energy.MOST_BARS + 1))
    ranks = [rank for _, rank, _ in drawn["customdata"]]
    assert (ranks[0], ranks[-1]) == (1, 400)
    axis = figure["layout"]["xaxis"]
    assert [ranks[place - 1] for place in axis["tickvals"]] == [int(text) for text in axis["ticktext"]]
    assert "400 devices took part (150 of them drawn)" in device_energy.caption(run)
