"""Evaluation in the background: rows are complete, in order, and the same as if every round had waited."""

import numpy as np
import pytest

import edgefl

BASE = {
    "rounds": 7,
    "targets": [0.3],
    "data": {"dataset": "digits"},
    "devices": {"count": 10},
    "server": {"participants": 4},
}
TESTED = ["test_loss", "test_accuracy"]


def test_eval_every_evaluates_those_rounds_and_the_last():
    every, third = edgefl.run(BASE).rounds, edgefl.run({**BASE, "report": {"eval_every": 3}}).rounds
    evaluated = third["test_loss"].notna()
    assert third["round"][evaluated].tolist() == [3, 6, 7]
    assert np.array_equal(third.loc[evaluated, TESTED], every.loc[evaluated, TESTED])
    assert every[TESTED].notna().all(axis=None)
    assert third.drop(columns=TESTED).equals(every.drop(columns=TESTED))


def test_the_last_round_is_evaluated_wherever_a_run_ends():
    full = edgefl.run({**BASE, "report": {"eval_every": 4}})
    early = edgefl.run({**BASE, "report": {"eval_every": 4}, "stop": {"time_s": full.rounds["time_s"][4]}})
    assert early.rounds["round"][early.rounds["test_loss"].notna()].tolist() == [4, 5]
    assert early.summary["final_accuracy"] == early.rounds["test_accuracy"][4]


def test_a_wanted_accuracy_ends_the_run_in_its_round():
    accuracies = edgefl.run(BASE).rounds["test_accuracy"]
    wanted = accuracies[2]
    first = int(np.argmax(accuracies >= wanted))
    assert len(edgefl.run({**BASE, "stop": {"accuracy": wanted}}).rounds) == first + 1


def test_progress_reports_each_round_once_in_order_and_complete():
    rows = []
    result = edgefl.run({**BASE, "report": {"eval_every": 2}}, progress=lambda row: rows.append(dict(row)))
    assert [row["round"] for row in rows] == list(range(1, 8))
    assert [row["test_accuracy"] is not None for row in rows] == [False, True, False, True, False, True, True]
    assert [row["train_loss"] for row in rows] == result.rounds["train_loss"].tolist()


def test_the_manifest_tells_how_clients_were_trained(tmp_path):
    import json

    edgefl.run({**BASE, "algorithm": "scaffold", "training": {"engine": "serial"}}, out=tmp_path / "run", device="cpu")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["learner"].pop("workers") >= 0
    assert manifest["learner"] == {"engine": "serial", "kernel": "autograd", "width": 1, "state_home": "device"}


@pytest.mark.parametrize("engine", ["serial", "batched"])
@pytest.mark.parametrize("precision", ["bfloat16", "tf32"])
def test_reduced_precision_stays_near(engine, precision):
    """bfloat16 has 8 bits of mantissa: products err by 2^-8, a short run by a few hundredths."""
    training = {"local_epochs": 1, "engine": engine}
    exact = edgefl.run({**BASE, "training": training}).parameters
    rounded = edgefl.run({**BASE, "training": {**training, "precision": precision}}).parameters
    distance = np.linalg.norm(rounded - exact) / np.linalg.norm(exact)
    assert distance < 0.05
    assert (distance > 1e-5) == (precision == "bfloat16")  # TF32 is a matter of GPUs
