"""The timeline of the first rounds."""

import numpy as np
import pytest
from report_folders import change_devices
from result_folders import read_csv, rewrite

from edgefl.results.report.run import timeline
from edgefl.results.report.shared.read import load


def test_phases_follow_each_other_and_fill_the_round(result):
    run = load(result(rounds=5))
    bars = timeline.figure(run)["data"]
    starts = np.array([bar["base"] for bar in bars])
    lengths = np.array([bar["x"] for bar in bars])
    assert starts[1:] == pytest.approx((starts + lengths)[:-1], abs=2e-3)
    ends = np.repeat(run.rounds["time_s"][:3], 10)
    assert (starts + lengths)[-1] == pytest.approx(ends, abs=2e-3)
    assert starts[0] == pytest.approx(ends - np.repeat(run.rounds["duration_s"][:3], 10), abs=2e-3)


def test_three_rounds_with_their_borders(result):
    run = load(result(rounds=5))
    layout = timeline.figure(run)["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["round 1", "round 2", "round 3"]
    assert [shape["x0"] for shape in layout["shapes"]] == pytest.approx([0, *run.rounds["time_s"][:3]], abs=1e-3)
    assert timeline.caption(run) == "The first 3 rounds."


def test_a_large_round_is_picked_from_evenly(result):
    run = load(result(rounds=2, devices__count=500, server__participants=200))
    rows = timeline.chosen(run)
    assert len(rows) == timeline.MOST_PARTICIPATIONS
    wait = run.devices["wait_s"][rows]
    assert (wait[0], wait[-1]) == (run.devices["wait_s"][:200].max(), 0)
    assert timeline.caption(run) == "The first round, 60 of 200 participations."


def test_whole_rounds_only(result):
    run = load(result(rounds=5, server__participants=25))
    assert len(timeline.chosen(run)) == 50


def test_lost_update_is_crossed_out(result):
    folder = change_devices(result(rounds=3), lambda row: {"status": "late"} if row["round"] == "2" else {})
    run = load(folder)
    crosses = timeline.figure(run)["data"][-1]
    assert crosses["name"] == "not received"
    assert len(crosses["x"]) == 10
    assert "Crosses" in timeline.caption(run)


@pytest.mark.parametrize("policy", ["asynchronous", {"kind": "buffered"}])
def test_asynchronous_work_ends_with_its_round(result, policy):
    folder = result(rounds=3, server__policy=policy)
    change_devices(folder, lambda _: {"compute_s": "3", "wait_s": 0, "start_s": ""})  # of an earlier version
    bars = timeline.figure(load(folder))["data"]
    ends = np.array(bars[-1]["base"]) + bars[-1]["x"]
    assert ends[:10] == pytest.approx([load(folder).rounds["time_s"][0]] * 10, abs=1e-3)


@pytest.mark.parametrize("policy", ["sequential", {"kind": "split", "mode": "sequential"}])
def test_sequential_devices_take_turns(result, policy):
    begin = {row["device"]: place for place, row in enumerate(timeline_rows(result("plain", rounds=1)))}
    change = {"download_s": 1, "compute_s": 2, "upload_s": 1, "start_s": ""}  # of an earlier version
    folder = rewrite(
        result(rounds=1, server__policy=policy),
        "devices.csv",
        lambda row: change | {"wait_s": 4 * (9 - begin[row["device"]])},
    )
    rewrite(folder, "rounds.csv", lambda _: {"time_s": 40, "duration_s": 40})
    figure = timeline.figure(load(folder))
    assert figure["data"][0]["base"] == pytest.approx(np.arange(0, 40, 4))
    assert ("alternate" in timeline.caption(load(folder))) == (policy != "sequential")


def timeline_rows(folder):
    return read_csv(folder / "devices.csv")
