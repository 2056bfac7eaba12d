"""A forecast of a sweep counts its runs and those that learn, and writes nothing."""

import pytest

from edgefl.core.errors import InputError
from edgefl.runs import sweep_forecast
from edgefl.runs.sweep_forecast import forecast_sweep
from edgefl.runs.sweeps import SweepOptions
from edgefl.scenario import load_sweep

BASE = {
    "rounds": 6,
    "data": {"dataset": "synthetic", "owners": 6, "features": 5, "classes": 3},
    "model": {"kind": "mlp", "hidden": [4]},
    "training": {"local_steps": 2, "batch_size": 4},
    "devices": {"count": 6},
    "server": {"participants": 3},
}
GRID = {"base": BASE, "name": "study", "grid": {"radio.bandwidth_hz": "5e6..20e6:4"}, "seeds": "1..3"}


def forecast(tmp_path, sweep=GRID, **options):
    return dict(forecast_sweep(load_sweep(sweep), SweepOptions(**options), tmp_path / "out"))


@pytest.mark.oracle
def test_runs_and_families_are_counted(tmp_path):
    rows = forecast(tmp_path, workers=2)
    assert rows["sweep"] == "study: 12 runs, 4 points by 3 seeds"
    assert rows["varies"] == "radio.bandwidth_hz"
    assert rows["learning"].startswith("3 runs learn; ")  # one for each seed: bandwidths learn the same
    assert "2 processes" in rows["takes"]
    assert not (tmp_path / "out").exists()


def test_time_is_that_of_learning_runs_and_of_those_that_read(tmp_path, monkeypatch):
    seconds_of = {True: 10.0, False: 1.0}
    monkeypatch.setattr(sweep_forecast, "whole_run_s", lambda _, options: seconds_of[options.train])
    assert forecast(tmp_path, workers=3)["takes"].startswith("about 13 s here")  # (3 * 10 + 9 * 1) / 3
    assert forecast(tmp_path, workers=1, train=False)["takes"].startswith("about 12 s here")
    assert "learning" not in forecast(tmp_path, train=False)


def test_algorithms_learn_each_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_forecast, "whole_run_s", lambda *_: 1.0)
    grid = {"algorithm": ["fedavg", "fedprox", "scaffold"]}
    rows = forecast(tmp_path, {"base": BASE, "grid": grid}, workers=8)
    assert rows["learning"] == "each run learns by itself"
    assert "3 processes" in rows["takes"]  # there are no more runs


def test_no_workers_are_refused(tmp_path):
    with pytest.raises(InputError, match="--workers 0: must be >= 1"):
        forecast(tmp_path, workers=0)
