"""Error bars of runs: against the emulator itself with other laws, through summaries, pages and comparisons."""

import numpy as np
import pytest
from server_cases import BASE, POLICIES

import edgefl
from edgefl.results.report.comparison import error_margins
from edgefl.results.report.page import render
from edgefl.results.report.why.sentences import Side
from edgefl.world import error_draws
from edgefl.world.error_draws import DRAWS, interval

pytestmark = pytest.mark.oracle

FACTOR = 1.4  # how many times longer computing takes than the law says
HELD_OUT = {"compute": {"other": {"sigma": 0.3, "numbers": 5}}, "power": {"sigma": 0.1, "numbers": 4}}
# How far the first order may be off where the emulator would have mixed participations in another way.
APART = {"buffered": 0.15, "asynchronous": 0.15, "over_selection": 0.05, "hierarchical": 1e-9}


def run(policy, held_out=HELD_OUT, **devices):
    server = {"participants": 6, **POLICIES[policy]}
    return edgefl.run(
        {**BASE, "server": server, "devices": {**BASE["devices"], **devices, "held_out": held_out}},
        train=False,
        device="cpu",
    )


@pytest.fixture
def all_draws_are_the_factor(monkeypatch):
    """Laws of computing err by one factor in all draws but the first, which keeps the bars apart from none."""
    factors = np.full(DRAWS, FACTOR)
    factors[0] = FACTOR * (1 + 1e-12)

    monkeypatch.setattr(error_draws, "_factors", lambda _, error: factors if error else np.ones(DRAWS))


@pytest.mark.usefixtures("all_draws_are_the_factor")
@pytest.mark.parametrize("policy", POLICIES)
def test_bars_are_what_the_emulator_finds_with_the_slower_law(policy):
    computing = {"compute": HELD_OUT["compute"]}
    bars = run(policy, computing)
    slower = run(policy, compute={"speed": 1 / FACTOR})
    drawn = bars.rounds[["time_low_s", "energy_low_j"]].iloc[-1]
    tolerance = APART.get(policy, 1e-9)
    assert drawn["time_low_s"] == pytest.approx(slower.summary["time_s"], rel=tolerance)
    if policy in ("synchronous", "sequential", "hierarchical"):
        busy_j = slower.summary["energy_j"]
        assert drawn["energy_low_j"] == pytest.approx(busy_j, rel=1e-6)


@pytest.mark.parametrize("policy", POLICIES)
def test_tables_summary_and_comparison_draw_the_same(policy):
    result = run(policy)
    drawn = error_margins.drawn(result.as_run())
    assert result.summary["held_out"] == {
        "coverage": 0.9,
        "network": "other",
        "order": {"sequential": "in_turn", "buffered": "overlapping", "asynchronous": "overlapping"}.get(
            policy, "together"
        ),
        "missing": ["times of downloads", "times of uploads"],
    }
    for row, (time_s, energy_j) in enumerate(zip(drawn.time_s, drawn.energy_j, strict=True)):
        written = result.rounds.iloc[row]
        assert (written["time_low_s"], written["time_high_s"]) == pytest.approx(interval(time_s))
        if row < len(drawn.time_s) - 1:  # the last one has what the end of the run cuts off
            assert (written["energy_low_j"], written["energy_high_j"]) == pytest.approx(interval(energy_j))
    assert result.summary["time_high_s"] == pytest.approx(interval(drawn.time_s[-1])[1])
    assert result.summary["energy_high_j"] == pytest.approx(interval(drawn.energy_j[-1])[1], rel=1e-3)


def test_runs_on_one_law_differ_by_less_than_its_error():
    quick, slow = run("synchronous"), run("synchronous", cpu_hz={"lognormal": [15.0, 0.5]})
    sides = [Side("quick", [quick.as_run()]), Side("slow", [slow.as_run()])]
    time, *_ = error_margins.sentences(sides, [])
    assert time.startswith("slow takes ")
    assert "more time in all than quick" in time
    # All of the difference is computing, whose law both have: it is known much better than either time.
    assert "less than the model may be wrong by" not in time
    # Laws of two profiles err apart.
    same = [sides[0], Side("other board", [run("synchronous", source="other board").as_run()])]
    assert all("less than the model may be wrong by" in text for text in error_margins.sentences(same, []))


def test_errors_that_cancel_leave_no_margin():
    sides = [Side(name, [run("synchronous").as_run()]) for name in ("one", "other")]
    assert error_margins.sentences(sides, []) == []
    power = {"power": HELD_OUT["power"]}
    sides = [Side(str(hz), [run("synchronous", power, cpu_hz=hz).as_run()]) for hz in (1e6, 2e6)]
    assert error_margins.sentences(sides, []) == []


def test_seeds_widen_the_margin():
    devices = {**BASE["devices"], "held_out": HELD_OUT}
    several = []
    for seed in (1, 2, 3, 4):
        result = edgefl.run({**BASE, "seed": seed, "devices": devices}, train=False, device="cpu")
        several.append(error_margins.drawn(result.as_run()).time_s[-1])
    of_laws = np.var(np.mean(several, axis=0))
    of_seeds = np.var(np.mean(several, axis=1)) / len(several)
    assert np.var(error_margins._means(several)) == pytest.approx(of_laws + of_seeds, rel=0.15)


def test_pages_say_what_is_in_the_bars_and_what_is_not():
    text = render([run("synchronous").as_run()], "page")
    assert "Not in these bars: times of downloads, times of uploads, propagation at your site" in text
    without = render([run("synchronous", None).as_run()], "page")
    assert "Not in these bars" not in without
