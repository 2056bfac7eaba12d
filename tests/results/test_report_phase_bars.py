"""Time and energy by round, against the columns that they draw."""

import numpy as np
import pytest
from report_folders import change_devices

from edgefl.core.units import ENERGY, TIME
from edgefl.results.report.run import phase_bars
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import ENERGY_PHASES, TIME_PHASES


@pytest.mark.parametrize("parts", [TIME_PHASES, ENERGY_PHASES])
def test_means_over_the_participants(result, parts):
    run = load(result(rounds=3))
    means = phase_bars.per_round(run, parts)
    for place, phase in enumerate(parts):
        expected = [run.devices[phase.column][run.devices["row"] == row].mean() for row in range(3)]
        assert means[place] == pytest.approx(expected)
    assert phase_bars.totals(run, parts) == pytest.approx([run.devices[phase.column].sum() for phase in parts])


def test_the_stack_is_as_high_as_the_round_is_long(result):
    run = load(result(rounds=7))
    figure = phase_bars.figure(run, TIME_PHASES, TIME, phase_bars.highest([run], TIME_PHASES))
    heights = np.sum([trace["y"] for trace in figure["data"]], axis=0)
    assert heights == pytest.approx(run.rounds["duration_s"], rel=2e-3)


def test_a_long_run_shares_bars(result):
    run = load(result(rounds=301, server__participants=2))
    ceiling = phase_bars.highest([run], ENERGY_PHASES)
    trace = phase_bars.figure(run, ENERGY_PHASES, ENERGY, ceiling)["data"][2]
    assert len(trace["y"]) == 101
    assert (trace["hovertext"][0], trace["hovertext"][-1]) == ("rounds 1–3", "round 301")
    first = run.devices["cpu_energy_j"][run.devices["round"] <= 3].mean()
    assert trace["y"][0] == pytest.approx(1e3 * first, rel=1e-3)  # in mJ


def test_runs_side_by_side_share_their_scale(result):
    near = load(result("near"))
    far = load(result("far", radio__bandwidth_hz=20e6))
    ceiling = phase_bars.highest([near, far], TIME_PHASES)
    ranges = {
        tuple(phase_bars.figure(run, TIME_PHASES, TIME, ceiling)["layout"]["yaxis"]["range"]) for run in (near, far)
    }
    assert len(ranges) == 1
    assert ranges.pop()[1] >= far.rounds["duration_s"].max()


def test_a_run_without_any_energy_has_no_card_of_it(result):
    folder = change_devices(result(rounds=2), lambda _: {phase.column: "0" for phase in ENERGY_PHASES})
    run = load(folder)
    assert phase_bars.energy_card(run, [run]) is None
    assert phase_bars.time_card(run, [run]) is not None


def test_unreached_phase_takes_no_time(result):
    folder = change_devices(result(rounds=2), lambda _: {"upload_s": "", "wait_s": ""})
    assert phase_bars.totals(load(folder), TIME_PHASES)[-2:].tolist() == [0, 0]
