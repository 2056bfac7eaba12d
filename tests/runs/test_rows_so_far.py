"""A run's rows while it goes: what pages see of it, and that nothing else ever does."""

import os
import re

import pytest
from fault_library import results
from kills import Killed

import edgefl
from edgefl.core.errors import InputError
from edgefl.results import progress, report
from edgefl.results.report.comparison.headline import banner
from edgefl.results.report.shared.read import load_all
from edgefl.results.run_folder import CHECKPOINTS, PROGRESS

pytestmark = pytest.mark.oracle

LEARNS = {
    "rounds": 6,
    "targets": [0.2],
    "data": {"partition": {"kind": "dirichlet", "alpha": 0.5}},
    "devices": {"count": 12},
    "server": {"participants": 4},
}
PRICED = {**LEARNS, "rounds": 5}
WORLDS = {
    "learning": LEARNS,
    "random_waypoint": {**PRICED, "mobility": {"kind": "random_waypoint", "speed_mps": 20}},
    "gauss_markov": {**PRICED, "mobility": {"kind": "gauss_markov"}},
    "group": {**PRICED, "mobility": {"kind": "group"}},
    "manhattan": {**PRICED, "mobility": {"kind": "manhattan"}},
    "handovers, batteries, arrivals": {
        **PRICED,
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100, "handover": {}},
        "mobility": {"kind": "random_waypoint", "speed_mps": 20},
        "devices": {"count": 20, "battery": {"capacity_j": 5}},
        "churn": {"kind": "poisson", "arrivals_per_s": 5, "stay_s": {"exponential": 2.0}},
        "radio": {
            "bandwidth_hz": 1e6,
            "propagation": {"kind": "umi", "out_of_range": "clamp"},
            "spatial_consistency": True,
        },
    },
    "asynchronous": {**PRICED, "server": {"participants": 6, "policy": "asynchronous"}},
    "sessions": {**PRICED, "rounds": None, "sessions": {"count": 2, "rounds": 3}, "targets": []},
}


@pytest.fixture
def at_each_round(monkeypatch):
    """Rows are written after each round."""
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    monkeypatch.setattr(progress, "TIME_SHARE", 1e9)


class Pages:
    """Looks at a run's folder after each round, as another process would."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = []

    def __call__(self, row):
        if (self.folder / PROGRESS).exists():
            self.runs += load_all([self.folder], so_far=True)


def begun(folder, **more):
    """Runs a scenario half and is killed, as far as files can tell; the status of the folder is `running` then."""

    def kill(row):
        if row["round"] == more.get("at", 3):
            raise Killed

    from edgefl.runs.emulation import Emulation, Options

    emulation = Emulation(edgefl.load({**LEARNS, **more.get("scenario", {})}), Options(folder, "cpu"), kill)
    with pytest.raises(Killed):
        emulation.advance()
    return emulation


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_results_do_not_depend_on_progress(world, at_each_round, monkeypatch, tmp_path):
    trains = world is LEARNS
    watched = edgefl.run(world, out=tmp_path / "watched", train=trains, device="cpu")
    monkeypatch.setattr(progress, "EVERY_S", 1e9)
    edgefl.run(world, out=tmp_path / "alone", train=trains, device="cpu")
    assert watched.status == "finished"
    assert results(tmp_path / "watched") == results(tmp_path / "alone")
    assert not (tmp_path / "watched" / CHECKPOINTS).exists()


def test_pages_show_finished_rounds(at_each_round, tmp_path):
    folder = tmp_path / "out"
    pages = Pages(folder)
    scenario = {**PRICED, "mobility": {"kind": "random_waypoint", "speed_mps": 20}}
    edgefl.run(scenario, out=folder, train=False, progress=pages)
    (whole,) = load_all([folder])
    assert [run.length for run in pages.runs] == list(range(1, 5))
    for run in pages.runs:
        assert run.under_way
        for name in ("time_s", "energy_j", "selected"):
            assert run.rounds[name].tolist() == whole.rounds[name][: run.length].tolist()
        assert run.devices["device"].tolist() == whole.devices["device"][: 4 * run.length].tolist()
        assert run.summary["energy_j"] == pytest.approx(run.rounds["energy_j"][-1])
        assert run.tracks["time_s"].max() == pytest.approx(run.rounds["time_s"][-1])
    assert not whole.under_way


def test_a_page_says_that_the_run_goes_on(at_each_round, tmp_path):
    folder = tmp_path / "out"
    pages = Pages(folder)
    edgefl.run(LEARNS, out=folder, device="cpu", progress=pages)
    assert pages.runs
    for run in pages.runs:
        assert f"This run is still running: {run.length} of 6 rounds" in banner(run, "This run")
    assert re.search(r" of 6 rounds, about \S+ \S+ left\.", banner(pages.runs[2], "This run"))


def test_progress_takes_two_per_cent_of_the_time(monkeypatch, tmp_path):
    now_s = 0.0
    written = []

    def clock():
        return now_s

    def write(self, so_far):
        nonlocal now_s
        now_s += 0.5
        written.append(now_s)

    monkeypatch.setattr(progress, "monotonic", clock)
    monkeypatch.setattr(progress.Progress, "_write", write)
    (tmp_path / CHECKPOINTS).mkdir()
    rows = progress.Progress(tmp_path)
    while now_s < 1000:
        now_s += 0.1
        rows.note_round(dict)
    assert written[0] == pytest.approx(2.5)
    assert len(written) * 0.5 <= 0.02 * 1000


@pytest.mark.parametrize("at", [1, 3])
def test_a_killed_run(at, at_each_round, tmp_path):
    """Its page has the rows that it had written, and says what has become of it."""
    folder = tmp_path / "out"
    emulation = begun(folder, at=at)
    (run,) = load_all([folder], so_far=True)
    assert run.under_way
    assert run.length >= at - 1  # tests lag behind rounds
    assert bool(run.length) == (at > 1)
    emulation.close()  # as the system does when the process is gone
    rounds = run.length
    (run,) = load_all([folder], so_far=True)
    assert (run.length, run.under_way) == (rounds, False)
    assert f"it had written {rounds} of 6 rounds" in banner(run, "This run")
    page = report.write([folder], tmp_path / "page.html").read_text()
    assert "--resume" in page
    with pytest.raises(InputError, match="its run has not ended"):
        edgefl.compare([folder, folder])
    resumed = edgefl.run(LEARNS, out=folder, device="cpu", resume=True)
    assert resumed.status == "finished"
    edgefl.run(LEARNS, out=tmp_path / "whole", device="cpu")
    assert results(folder) == results(tmp_path / "whole")
    assert not (folder / CHECKPOINTS).exists()


def test_a_page_in_the_folder_does_not_disturb_the_run(at_each_round, tmp_path, pages):
    folder = tmp_path / "out"

    def look(row):
        if row["round"] > 1:
            assert "still running" in edgefl.report(folder).read_text()

    edgefl.run({**LEARNS, "rounds": 3}, out=folder, device="cpu", progress=look)
    assert "still running" not in (folder / "report.html").read_text()


def test_interrupted_run_removes_its_progress(at_each_round, tmp_path):
    folder = tmp_path / "out"

    def stop(row):
        if row["round"] == 3:
            raise KeyboardInterrupt

    assert edgefl.run(LEARNS, out=folder, device="cpu", progress=stop).status == "interrupted"
    assert not (folder / PROGRESS).exists()
    (run,) = load_all([folder], so_far=True)
    assert not run.under_way


def test_unwritable_rows_do_not_stop_the_run(at_each_round, monkeypatch, tmp_path):
    def full(path, **_):
        raise OSError(28, os.strerror(28), str(path))

    monkeypatch.setattr(progress, "atomically", full)
    edgefl.run(LEARNS, out=tmp_path / "full", device="cpu")
    edgefl.run(LEARNS, out=tmp_path / "whole", device="cpu")
    assert results(tmp_path / "full") == results(tmp_path / "whole")


def test_a_folder_that_is_removed_under_way_is_not_made_again(at_each_round, tmp_path):
    rows = progress.Progress(tmp_path / "gone")
    rows.note_round(lambda: pytest.fail("the folder is gone"))
    assert not (tmp_path / "gone").exists()


def test_files_that_are_replaced_while_they_are_read(at_each_round, monkeypatch, tmp_path):
    """Participants of rounds that a reader has not seen do not count, and a run that has ended is read whole."""
    folder = tmp_path / "out"
    emulation = begun(folder)
    rows = folder / PROGRESS
    rounds = (rows / "rounds.csv").read_bytes()
    (rows / "rounds.csv").write_bytes(b"\n".join(rounds.split(b"\n")[:2]) + b"\n")
    (run,) = load_all([folder], so_far=True)
    assert run.length == 1
    assert set(run.devices["round"]) == {1}
    emulation.status = "finished"
    read = progress.is_under_way
    monkeypatch.setattr(
        "edgefl.results.report.shared.read.is_under_way", lambda path: emulation.finish() and read(path)
    )
    (run,) = load_all([folder], so_far=True)
    assert run.manifest["status"] == "finished"
    assert not run.under_way
