"""Numbers that are none: the run stops and names the round, who is at fault and why; what was finished stays."""

import json
import math

import pandas as pd
import pytest

import edgefl
from edgefl.cli import main

STEP = {"local_steps": 1, "batch_size": "full", "engine": "serial"}
DIGITS = {
    "data": {"dataset": "digits"},
    "model": "mlp",
    "training": {**STEP, "lr": 0.1},
    "devices": {"count": 4},
    "radio": {"transfer": "fast"},
}


def parabola(rate, **changes):
    """One device that minimises x^2 from 1: a step makes 1 - 2 rate times x of it, and the loss overflows at 1e154."""
    base = {
        "data": {"dataset": "quadratic", "coefficients": [[1.0, 0.0, 0.0]]},
        "model": {"kind": "quadratic", "init": {"kind": "value", "value": 1.0}},
        "training": {**STEP, "lr": rate},
        "radio": {"transfer": "fast"},
    }
    return {**base, **changes}


@pytest.mark.oracle
def test_a_model_that_is_finite_and_of_no_use(tmp_path, capsys):
    """One step at this rate leaves finite weights, whose outputs are none: only the test can tell."""
    scenario = {**DIGITS, "rounds": 1, "training": {**STEP, "lr": 1e20}}
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    assert main(["run", str(tmp_path / "s.json"), "-o", str(tmp_path / "out"), "--quiet", "--device", "cpu"]) == 1
    error = capsys.readouterr().err
    assert "failed: round 1: the global model diverged" in error
    assert "lower training.lr;" in error


@pytest.mark.parametrize(("algorithm", "advice"), [("fedavgm", "training.lr or algorithm.server_lr"), ("fedavg", None)])
def test_the_servers_rate_is_named_where_there_is_one(tmp_path, algorithm, advice):
    """Float32 ends at 3.4e38."""
    kind = {"kind": algorithm, "server_lr": 1e39} if advice else algorithm
    result = edgefl.run({**DIGITS, "algorithm": kind, "rounds": 2}, out=tmp_path / "out", device="cpu")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["status"] == result.status == ("failed" if advice else "finished")
    if advice:
        assert result.error.startswith("round 1: the global model diverged (it has NaN or infinite numbers)")
        assert result.error.endswith(advice)
        assert len(result.rounds) == 0
        assert manifest["diverged"] == "round 1: the global model diverged (it has NaN or infinite numbers)"
    else:
        assert "diverged" not in manifest


def test_rounds_before_stay_on_disk(tmp_path):
    """1, 2e60, 4e120, 8e180: the test after the third round is the first whose square overflows."""
    result = edgefl.run(parabola(1e60, rounds=6, stop={"accuracy": 0.5}), out=tmp_path / "out", device="cpu")
    assert (result.status, result.error.split(" (")[0]) == ("failed", "round 3: the global model diverged")
    rounds = pd.read_csv(tmp_path / "out" / "rounds.csv")
    assert rounds["parameter"][:2].tolist() == [pytest.approx(-2e60), pytest.approx(4e120)]
    assert math.isnan(rounds["test_loss"][2])


def test_sessions_are_named_with_their_rounds():
    """The third model is that of the second session's first round; untested, it spoils the next local training."""
    sessions = {"sessions": {"count": 3, "rounds": 2}}
    tested = edgefl.run(parabola(1e60, **sessions), device="cpu")
    assert tested.error.startswith("session 2, round 1: the global model diverged")
    untested = edgefl.run(parabola(1e60, **sessions, report={"eval_every": 2}), device="cpu")
    assert untested.error.startswith("session 2, round 2: device 0: local training diverged")
