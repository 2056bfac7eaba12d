"""A dry run: what it tells is what the run does, and nothing is written."""

from pathlib import Path

import pytest
from resume_cases import BASE, CASES

import edgefl
from edgefl.core.units import energy, seconds
from edgefl.runs.data_division import divide
from edgefl.runs.emulation import Options
from edgefl.runs.forecast import TRIAL_ROUNDS, _Trial, forecast
from edgefl.runs.learning_parts import needed_memory
from edgefl.scenario import load


def told(keys, folder=Path("nowhere"), **options):
    return dict(forecast(load(keys), Options(device="cpu", **options), folder))


@pytest.mark.parametrize("train", [True, False])
def test_forecast_extrapolates_the_first_rounds(train, tmp_path):
    rows = told({**BASE, "rounds": 100}, tmp_path / "out", train=train)
    part = edgefl.run({**BASE, "rounds": TRIAL_ROUNDS}, train=False).rounds.iloc[-1]
    scale = 100 / TRIAL_ROUNDS
    assert rows["virtual"].startswith(
        f"about {seconds(part['time_s'] * scale)} and {energy(part['energy_j'] * scale)},"
    )
    assert rows["run"] == "scenario, seed 1: 100 rounds"
    assert rows["devices"] == "8, about 4 a round, in 1 cell(s)"
    assert rows["model"] == "mlp: 39 parameters"  # 5 x 4 + 4 + 4 x 3 + 3
    assert rows["messages"] == "156 B down, 156 B up, each"
    assert ("memory" in rows) == train
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["old classes", "buffered", "who is awaited"])
def test_other_kinds_of_runs(name):
    assert "takes" in told({**BASE, **CASES[name]}, train=False)


def test_the_wall_clock_of_a_run_follows_from_its_first_rounds():
    trial = _Trial(rows=[{}, {}, {}], ended_s=[10.0, 12.0, 14.0])
    assert trial.wall_s(101) == 10 + 100 * 2
    assert _Trial(rows=[{}], ended_s=[10.0]).wall_s(3) == 30


def test_forecast_names_existing_results(tmp_path):
    (tmp_path / "rounds.csv").write_text("")
    assert "--overwrite" in told(BASE, tmp_path, train=False)["results"]


def test_memory_counts_no_more_updates_than_are_expected():
    keys = {**BASE, "server": {"selection": {"kind": "bernoulli", "probability": 0.5}}}
    names = {need.what for need in needed_memory(load(keys), divide(load(keys))).needs}
    assert "the updates of 4 participants" in names
    churn = {**BASE, "churn": {"kind": "bernoulli", "probability": 0.5}}
    names = {need.what for need in needed_memory(load(churn), divide(load(churn))).needs}
    assert "the updates of 1 participants" in names
