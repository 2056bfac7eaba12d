"""The best evaluated model, which `report.best_model` keeps beside the last one."""

import json

import numpy as np
import pytest
from kills import Killed, kill_at
from run_cases import content

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.record import Pace
from edgefl.results.integrity import check_all
from edgefl.results.result import read_result
from edgefl.runs.data_division import divide
from edgefl.runs.emulation import Options, run
from edgefl.scenario import load
from edgefl.server.plateau import improves

pytestmark = pytest.mark.oracle

SMALL = {
    "seed": 2,  # of which the accuracy rises and falls
    "rounds": 12,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}, "validation_share": 0.2},
    "training": {"local_steps": 3, "batch_size": 8, "lr": 0.3},
    "devices": {"count": 8},
    "server": {"participants": 3},
    "report": {"best_model": True},
}
TESTED = {**SMALL, "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}}}
BEST = 10  # round of the best model of SMALL
SHORT = 8  # rounds whose best model is another one, and not the last
CASES = {
    "batch normalisation": {**SMALL, "model": "own_networks:Normed"},
    "compressed, asynchronous": {
        **SMALL,
        "training": {**SMALL["training"], "codec": {"kind": "top_k", "part": 0.2}},
        "server": {"participants": 3, "policy": "asynchronous"},
    },
    "tested seldom": {**SMALL, "report": {"best_model": True, "eval_every": 5}},
    "stopped": {**SMALL, "stop": {"patience": {"rounds": 2}}},
    "buffered and quantised": {
        **SMALL,
        "server": {"participants": 4, "policy": "buffered"},
        "algorithm": "fedbuff",
        "training": {**SMALL["training"], "codec": "qsgd"},
    },
    "split": {**SMALL, "server": {"participants": 3, "policy": {"kind": "split", "cut": 1}}},
    "sessions": {**SMALL, "rounds": None, "sessions": {"count": 3, "rounds": 3}},
}


def accuracy(result):
    """The accuracy of a result's best module on the validation set, by plain PyTorch."""
    import torch

    found = divide(load(result.scenario))
    x = result.saved_model(best=True).prepared(found.data.train_x[found.validation])
    with torch.no_grad():
        given = result.model(best=True)(torch.from_numpy(x))
    return float((given.argmax(1).numpy() == found.data.train_y[found.validation]).mean())


@pytest.mark.parametrize("name", CASES)
def test_best_model_has_the_highest_accuracy_that_was_recorded(name, tmp_path):
    result = edgefl.run(CASES[name], device="cpu", out=tmp_path)
    best = result.summary["best_model"]
    rounds = result.rounds
    row = rounds.loc[rounds["validation_accuracy"].idxmax()]  # of equal ones the first
    assert best["chosen_by"] == "validation_accuracy"
    assert (best.get("session", 1), best["round"]) == (row["session"], row["round"])
    for column in ("validation_accuracy", "validation_loss", "test_accuracy", "test_loss"):
        assert best[column] == row[column]
    assert accuracy(result) == accuracy(read_result(tmp_path)) == best["validation_accuracy"]
    assert json.loads((tmp_path / "manifest.json").read_text())["digests"]["best_model.safetensors"]


def test_best_model_is_not_the_last_one():
    """Otherwise the tests above would see nothing."""
    result = edgefl.run(SMALL, device="cpu")
    assert result.summary["best_model"]["round"] < 12
    assert not np.array_equal(result.saved_model(best=True).flat(), result.saved_model().flat())


def test_without_a_validation_set_the_test_set_chooses():
    result = edgefl.run(TESTED, device="cpu")
    best = result.summary["best_model"]
    assert best["chosen_by"] == "test_accuracy"
    assert best["test_accuracy"] == result.rounds["test_accuracy"].max()


def test_model_starts_from_a_best_model(tmp_path):
    first = edgefl.run(SMALL, device="cpu", out=tmp_path / "first")
    start = {"kind": "file", "path": str(tmp_path / "first/best_model.safetensors")}
    keys = {**SMALL, "rounds": 1, "model": {"kind": "mlp", "init": start}, "training": {"local_steps": 1, "lr": 0.0}}
    row = edgefl.run(keys, device="cpu").rounds.iloc[0]
    assert row["validation_accuracy"] == first.summary["best_model"]["validation_accuracy"]


def test_equal_values_keep_the_earliest():
    assert improves("test_accuracy", 0.5, None)
    assert not improves("test_accuracy", 0.5, 0.5)
    assert not improves("test_loss", 0.5, 0.5)
    assert improves("test_loss", 0.4, 0.5)
    assert not improves("test_loss", float("nan"), 0.5)


def test_regression_chooses_by_loss(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    y = x.sum(axis=1)
    np.savez(tmp_path / "line.npz", train_x=x[:40], train_y=y[:40], test_x=x[40:], test_y=y[40:])
    data = {"dataset": "npz", "path": str(tmp_path / "line.npz"), "partition": "iid", "validation_share": 0.2}
    training = {"local_steps": 3, "batch_size": 2, "lr": 0.1, "loss": "mse"}
    result = edgefl.run({**SMALL, "data": data, "model": {"kind": "mlp", "hidden": [4]}, "training": training})
    assert result.summary["best_model"]["chosen_by"] == "validation_loss"
    assert result.summary["best_model"]["round"] == result.rounds["validation_loss"].idxmin() + 1


def test_run_without_the_key_has_no_best_model(tmp_path):
    result = edgefl.run({**SMALL, "report": {}}, device="cpu", out=tmp_path)
    assert "best_model" not in result.summary
    assert not (tmp_path / "best_model.safetensors").exists()
    for found in (result, read_result(tmp_path)):
        with pytest.raises(InputError, match=r"has no best model: run it again with report\.best_model: true"):
            found.saved_model(best=True)


def test_damaged_best_model_is_noticed(tmp_path):
    edgefl.run(SMALL, device="cpu", out=tmp_path)
    path = tmp_path / "best_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(InputError, match=r"best_model\.safetensors"):
        check_all(tmp_path)
    with pytest.raises(InputError, match=r"best_model\.safetensors"):
        read_result(tmp_path).model(best=True)


@pytest.mark.parametrize("after", [BEST, BEST - 1], ids=["before", "after"])
def test_best_model_survives_a_kill(after, tmp_path):
    """The best round comes before the kill, or after it."""
    whole = edgefl.run(SMALL, device="cpu", out=tmp_path / "whole")
    assert whole.summary["best_model"]["round"] == BEST
    with pytest.raises(Killed):
        edgefl.run(SMALL, device="cpu", out=tmp_path / "cut", pace=Pace(rounds=4), progress=kill_at(after))
    edgefl.run(SMALL, device="cpu", out=tmp_path / "cut", resume=True)
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_extended_run_may_have_had_its_best_model_before(tmp_path):
    edgefl.run(SMALL, device="cpu", out=tmp_path / "whole")
    edgefl.run({**SMALL, "rounds": BEST + 1}, device="cpu", out=tmp_path / "out", pace=Pace(rounds=99))
    edgefl.run(SMALL, device="cpu", out=tmp_path / "out", resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_shared_learning_keeps_the_best_model_of_each_run(tmp_path):
    """The shorter run shares the record of the longer one, whose best model is another one."""
    short = {**SMALL, "rounds": SHORT}
    longer = run(load(SMALL), Options(out=tmp_path / "long", device="cpu", share=True))
    sharing = run(load(short), Options(out=tmp_path / "sharing", device="cpu", shared=(tmp_path / "long",)))
    edgefl.run(short, device="cpu", out=tmp_path / "alone")
    assert content(tmp_path / "sharing") == content(tmp_path / "alone")
    assert sharing.summary["best_model"]["round"] < SHORT < longer.summary["best_model"]["round"]
