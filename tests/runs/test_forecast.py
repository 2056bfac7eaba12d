"""A dry run: what it tells is what the run does, and nothing is written."""

from pathlib import Path

import pytest
from resume_cases import BASE, CASES

import edgefl
from edgefl.core.units import energy, seconds
from edgefl.results.participation import capacity
from edgefl.runs.data_division import divide
from edgefl.runs.emulation import Options
from edgefl.runs.forecast import TRIAL_ROUNDS, _Trial, forecast, lost_updates
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


@pytest.mark.oracle
def test_updates_that_miss_a_deadline_are_counted_with_what_remedies_would_bring():
    """Each row is a run of the first rounds with that value, without learning; `validate` has the first of them."""
    keys = {**BASE, "rounds": 100, "server": {"policy": "deadline", "deadline_s": 0.25, "participants": 4}}
    keys["model"] = {"kind": "mlp", "hidden": [4], "cost": {"parameters": 20_000, "flops_per_parameter": 10}}
    scale = 100 / TRIAL_ROUNDS
    rows = told(keys)
    remedies = {"downlink": "radio.downlink=broadcast", "participants": "server.participants=2", "": "seed=1"}
    remedies |= {"bandwidth_hz": "radio.bandwidth_hz=2e6", "deadline_s": "server.deadline_s=0.5"}
    remedies |= {"tx_power_dbm": "devices.tx_power_dbm=26"}
    for name, override in remedies.items():
        part = edgefl.run({**keys, "rounds": TRIAL_ROUNDS}, overrides=[override], train=False).rounds
        arrived = f"{part['received'].sum() * scale:.0f} of {part['selected'].sum() * scale:.0f} arrive"
        assert arrived in rows[name or "updates"]
    (warning,) = lost_updates(load(keys))
    assert rows["updates"].partition(" arrive")[0] in warning
    assert not list(lost_updates(load(BASE)))


def test_a_cell_carries_what_its_band_would_if_it_were_always_in_use():
    """1 GB in half of 20 s and of two cells' bands: 3 GB a minute and cell, 150 models of 20 MB."""
    rounds = {"duration_s": [8.0, 12.0], "load_down": [0.5, 0.5], "bytes_down": [6e8, 4e8]}
    assert capacity(rounds, 2) == "60 s of this cell carry models of 20 MB: 150 down."
    assert capacity({**rounds, "load_down": [0.0, 0.0]}, 2) == ""


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
