"""Set-ups of devices on pages and in exports: their phase comes first, and is omitted where no device sets up."""

import numpy as np
import pytest

import edgefl
from edgefl.results.export.participations import participations
from edgefl.results.report.run import bottleneck, cell_map, phase_bars, timeline
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import ENERGY_PHASES

BASE = {
    "rounds": 3,
    "data": {"dataset": "synthetic", "owners": 6},
    "devices": {"count": 6, "setup_s": {"uniform": [1, 3]}, "setup_j": 9.0},
    "server": {"participants": 4},
}


@pytest.fixture
def folder(tmp_path):
    edgefl.run(BASE, out=tmp_path / "run", train=False)
    return tmp_path / "run"


def test_stacks_reach_the_rounds_duration_and_the_energy_of_all(folder):
    run = load(folder)
    phases = phase_bars.time_phases([run])
    assert [phase.name for phase in phases] == ["set-up", "download", "compute", "upload", "waiting"]
    assert phase_bars.per_round(run, phases).sum(axis=0) == pytest.approx(run.rounds["duration_s"])
    assert phase_bars.totals(run, ENERGY_PHASES).sum() == pytest.approx(run.rounds["energy_j"][-1])


def test_without_set_ups_no_chart_has_their_phase(result):
    run = load(result())
    assert "set-up" not in [phase.name for phase in phase_bars.time_phases([run])]
    assert "set-up" not in [trace["name"] for trace in timeline.figure(run)["data"]]
    (devices,) = [trace for trace in cell_map.figure(run)["data"] if trace.get("name") == "devices"]
    assert "set-up" not in devices["hovertemplate"]


def test_the_sentence_names_what_takes_most(folder):
    assert bottleneck.sentence(load(folder)).startswith("Setting up takes over 99 % of the energy and over 99 % of")


def test_the_timeline_draws_it_before_the_download(folder):
    bars = {trace["name"]: trace for trace in timeline.figure(load(folder))["data"]}
    # Rounds of seconds are drawn in seconds.
    ends = np.array(bars["set-up"]["base"]) + np.array(bars["set-up"]["x"])
    assert np.array(bars["download"]["base"]) == pytest.approx(ends, abs=1e-3)


@pytest.mark.oracle
def test_exported_phases_are_one_after_another_and_add_up(folder):
    spent_j = 0.0
    for participation in participations(folder):
        first, second, *_ = participation.phases
        assert (first.name, second.name) == ("set-up", "download")
        assert second.start_s == pytest.approx(participation.row["start_s"] + participation.row["setup_s"])
        spent_j += sum(phase.energy_j for phase in participation.phases)
    assert spent_j == pytest.approx(load(folder).rounds["energy_j"][-1])
