"""Whole runs: what a user relies on."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.records.columns import DEVICE_COLUMNS, ROUND_COLUMNS, fixed_names
from edgefl.results.metrics import fairness

QUICKSTART = Path(__file__).parents[2] / "scenarios" / "quickstart.yaml"
BASE = {
    "name": "test",
    "rounds": 4,
    "targets": [0.3, 0.999],
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}},
    "devices": {"count": 30, "cpu_hz": {"uniform": [0.5e9, 2e9]}},
    "server": {"participants": 6},
    "mobility": {"kind": "random_waypoint"},
}


def run(**changes):
    train = changes.pop("train", True)
    return edgefl.run({**BASE, **changes}, train=train)


@pytest.fixture(scope="module")
def result():
    return run()


def test_columns_and_types(result):
    assert tuple(result.rounds.columns) == (*fixed_names(ROUND_COLUMNS), "load_down", "load_up")
    assert tuple(result.devices.columns) == fixed_names(DEVICE_COLUMNS)
    assert result.rounds["round"].tolist() == [1, 2, 3, 4]
    assert result.parameters.dtype == np.float32
    assert result.parameters.shape == (64 * 64 + 64 + 64 * 10 + 10,)
    assert result.status == "finished"


def test_energy_and_bytes_add_up(result):
    devices = result.devices
    rounds = result.rounds
    spent = devices[["rx_energy_j", "cpu_energy_j", "tx_energy_j"]].sum(axis=1).groupby(devices["round"]).sum()
    assert rounds["round_energy_j"].to_numpy() == pytest.approx(spent.to_numpy(), rel=1e-12)
    assert rounds["energy_j"].to_numpy() == pytest.approx(spent.cumsum().to_numpy(), rel=1e-12)
    assert result.summary["energy_j"] == pytest.approx(spent.sum(), rel=1e-12)
    for way in ("bytes_down", "bytes_up"):
        assert rounds[way].tolist() == devices.groupby("round")[way].sum().tolist()
        assert result.summary[way] == devices[way].sum()


def test_bytes_are_what_the_model_weighs(result):
    assert (result.devices["bytes_down"] == 4 * len(result.parameters)).all()
    assert (result.devices["bytes_up"] == 4 * len(result.parameters)).all()


def test_a_round_lasts_as_long_as_its_slowest_participant(result):
    devices = result.devices
    phases = devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    slowest = phases.groupby(devices["round"]).max().to_numpy()
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(slowest, rel=1e-9)
    assert result.rounds["time_s"].to_numpy() == pytest.approx(slowest.cumsum(), rel=1e-9)
    waited = phases + devices["wait_s"]
    assert waited.to_numpy() == pytest.approx(slowest[devices["round"] - 1], rel=1e-9)


def test_energy_follows_from_durations_and_powers(result):
    devices = result.devices
    assert devices["rx_energy_j"].to_numpy() == pytest.approx(0.1 * devices["download_s"].to_numpy())
    assert devices["tx_energy_j"].to_numpy() == pytest.approx(10 ** (2.3 - 3) * devices["upload_s"].to_numpy())
    flops = 3 * 2 * (64 * 64 + 64 * 10) * 5  # forward and backward, five epochs, per sample
    samples = devices["cpu_energy_j"] / (1e-28 / 8 * flops)  # times f^2
    clock = flops * samples / (8 * devices["compute_s"])  # n f^2 / (n / f) = f^3
    assert np.cbrt(clock).between(0.5e9, 2e9).all()


def test_slots_are_whole(result):
    for way in ("download_s", "upload_s"):
        slots = result.devices[way] / 0.0005
        assert np.allclose(slots, slots.round(), atol=1e-9)
        assert (slots >= 1).all()


def test_events_agree_with_the_tables(result):
    """Two events a round and three a participant; in order of time, ties by kind and device."""
    events = result.events
    assert len(events) == 4 * 2 + 3 * len(result.devices)
    keys = list(zip(events["time_s"], events["kind"], events["device"], strict=True))
    rounds = [list(group) for _, group in itertools.groupby(keys, key=lambda k: int(np.searchsorted(
        result.rounds["time_s"], k[0], side="left")))]  # fmt: skip
    assert events["time_s"].is_monotonic_increasing
    assert len(rounds) >= 4
    ends = events[events["kind"] == "upload_end"].groupby("device")["time_s"].max()
    last = result.rounds["time_s"].iloc[-1]
    assert ends.max() == last


def test_targets_and_fairness(result):
    first, never = result.summary["targets"]
    hit = result.rounds[result.rounds["test_accuracy"] >= 0.3].iloc[0]
    assert (first["round"], first["time_s"], first["energy_j"]) == (hit["round"], hit["time_s"], hit["energy_j"])
    assert never == {"accuracy": 0.999, "round": None, "time_s": None, "energy_j": None}
    fairness = result.summary["fairness"]
    assert fairness["worst_10_percent"] <= fairness["mean"] <= fairness["best_10_percent"]
    assert result.summary["best_accuracy"] == result.rounds["test_accuracy"].max()


def test_fairness_by_hand():
    """Twenty devices at 0.05, 0.10, ..., 1.00: a tenth are two; the variance of 1..n is (n^2 - 1) / 12."""
    values = fairness(np.arange(20, 0, -1) / 20)
    expected = {"mean": 0.525, "variance": 399 / 12 / 400, "worst_10_percent": 0.075, "best_10_percent": 0.975}
    expected |= {"worst_10_percent_std": 0.025, "best_10_percent_std": 0.025}
    assert values == pytest.approx(expected)


@pytest.mark.oracle
def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path):
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        edgefl.run(BASE, out=tmp_path / folder, seed=seed)
    for name in ("rounds.csv", "devices.csv", "model.safetensors", "events.parquet", "scenario.yaml"):
        a, b, c = ((tmp_path / folder / name).read_bytes() for folder in "abc")
        assert a == b
        assert a != c
    digests = [json.loads((tmp_path / folder / "manifest.json").read_text())["digests"] for folder in "ab"]
    assert digests[0] == digests[1]


def test_the_world_is_the_same_with_and_without_learning_and_under_any_algorithm(result):
    priced = run(train=False)
    prox = run(algorithm={"kind": "fedprox", "mu": 1.0})
    pd.testing.assert_frame_equal(priced.devices, result.devices)
    same = ["round", "device", "distance_m", "los", "pathloss_db", "shadowing_db", "download_s", "rx_energy_j"]
    pd.testing.assert_frame_equal(prox.devices[same], result.devices[same])
    assert (prox.devices["compute_s"] > result.devices["compute_s"]).all()  # its pull costs operations
    assert priced.parameters is None
    assert priced.rounds[["train_loss", "test_loss", "test_accuracy"]].isna().all(axis=None)
    assert priced.summary["final_accuracy"] is None
    assert not np.array_equal(prox.parameters, result.parameters)


@pytest.mark.oracle
def test_the_order_of_participants_changes_nothing():
    """A schedule and its reverse: the same participants, so the same everything."""
    orders = [[[0, 5, 9, 20], [3, 1, 2]], [[20, 9, 5, 0], [2, 1, 3]]]
    results = [run(server={"selection": {"kind": "schedule", "rounds": order}}) for order in orders]
    pd.testing.assert_frame_equal(results[0].devices, results[1].devices)
    pd.testing.assert_frame_equal(results[0].rounds, results[1].rounds)
    assert np.array_equal(results[0].parameters, results[1].parameters)


@pytest.mark.oracle
def test_engines_agree_over_a_run():
    runs = [run(training={"engine": engine, "batch_size": 8}) for engine in ("serial", "batched")]
    assert np.allclose(runs[0].parameters, runs[1].parameters, rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
def test_bernoulli_participation_has_its_mean():
    """400 rounds of 30 coins with 0.2: the mean has standard error 0.11."""
    selection = {"kind": "bernoulli", "probability": 0.2}
    result = run(rounds=400, server={"selection": selection}, train=False)
    expected = 6 / (1 - 0.8**30)  # redrawn while no device is present
    assert result.rounds["selected"].mean() == pytest.approx(expected, abs=4 * 0.11)


@pytest.mark.oracle
def test_bernoulli_draws_again_while_no_device_is_present():
    """Three coins with 0.05 leave a round empty six times out of seven."""
    selection = {"kind": "bernoulli", "probability": 0.05}
    result = run(rounds=100, devices={"count": 3}, server={"selection": selection}, train=False)
    assert result.rounds["selected"].min() == 1
    assert set(result.devices["device"]) == {0, 1, 2}


@pytest.mark.oracle
def test_uniform_selection_is_fair():
    """400 rounds of 6 of 30: each device 80 times, standard deviation 8 times sqrt(1 - 0.2)."""
    result = run(rounds=400, train=False)
    counts = result.devices["device"].value_counts().reindex(range(30), fill_value=0)
    assert (result.rounds["selected"] == 6).all()
    assert counts.between(80 - 36, 80 + 36).all()
    assert ((counts - 80) ** 2).sum() / (80 * (1 - 0.2)) < 60  # chi-square, 29 degrees of freedom, 0.1 %


@pytest.mark.parametrize(
    ("stop", "holds"),
    [
        ({"accuracy": 0.3}, lambda row: row["test_accuracy"] >= 0.3),
        ({"time_s": 0.008}, lambda row: row["time_s"] >= 0.008),
        ({"energy_j": 0.008}, lambda row: row["energy_j"] >= 0.008),
    ],
)
def test_stop_conditions(stop, holds):
    rounds = run(rounds=40, stop=stop).rounds
    assert len(rounds) < 40
    assert holds(rounds.iloc[-1])
    assert not rounds.iloc[:-1].apply(holds, axis=1).any()


def test_more_bandwidth_is_never_slower():
    times = [run(radio={"bandwidth_hz": w}, train=False).summary["time_s"] for w in (5e6, 20e6, 100e6)]
    assert times[0] > times[1] > times[2]


@pytest.mark.oracle
def test_a_failed_run_keeps_its_finished_rounds(tmp_path, pages):
    """A learning rate that blows up in the second round or later."""
    scenario = {**BASE, "training": {"lr": 3e18, "local_steps": 1, "engine": "serial"}, "rounds": 50}
    result = edgefl.run(scenario, out=tmp_path / "r")
    assert result.status == "failed"
    assert "diverged" in result.error
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert (manifest["status"], manifest["error"]) == ("failed", result.error)
    assert len(pd.read_csv(tmp_path / "r" / "rounds.csv")) == len(result.rounds) < 50
    assert (tmp_path / "r" / "report.html").exists()


@pytest.mark.oracle
def test_published_cost_of_a_round(tmp_path):
    """Dynamic-devices paper, Table VII, SVHN: 6.887 s and 77.71 J a round with 100 devices, within 1.5 %.

    100 rounds with moving devices give the mean duration a standard error of about 0.015 s.
    """
    n = 100 * 640
    labels = np.arange(n) % 2
    arrays = {"train_x": np.zeros((n, 1), np.float32), "train_y": labels, "test_x": np.zeros((2, 1), np.float32)}
    np.savez(tmp_path / "d.npz", **arrays, test_y=labels[:2])
    scenario = {
        "rounds": 100,
        "data": {"dataset": "npz", "path": str(tmp_path / "d.npz")},
        "model": {"kind": "logistic", "cost": {"parameters": 667_178, "flops_per_parameter": 91.04}},
        "training": {"local_steps": 5, "batch_size": 128},
        "radio": {"preset": "dynamic_devices"},
        "mobility": {"kind": "static", "speed_mps": 10},
    }
    result = edgefl.run(scenario, train=False)
    assert result.rounds["duration_s"].mean() == pytest.approx(6.887, rel=0.015)
    assert result.rounds["round_energy_j"].mean() == pytest.approx(77.71, rel=0.015)
    assert result.devices["compute_s"].to_numpy() == pytest.approx(4.8593, rel=1e-4)


@pytest.mark.process
@pytest.mark.parametrize(
    "model", ["{kind: mlp}", pytest.param("{kind: fcn, hidden: [400, 200]}", marks=pytest.mark.slow)]
)
def test_the_number_of_cores_changes_no_byte(tmp_path, model):
    """A model that is trained in batches of clients and one that is trained client by client."""
    command = [sys.executable, "-m", "edgefl", "run", str(QUICKSTART), "--quiet", "--set", "rounds=3"]
    for threads in ("1", "3"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        options = ["--set", f"model={model}", "-o", str(tmp_path / threads)]
        subprocess.run([*command, *options], check=True, env=environment)
    for name in ("rounds.csv", "devices.csv", "model.safetensors"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


@pytest.mark.process
def test_torch_is_imported_only_to_learn():
    statements = ("import edgefl", "import edgefl.cli, edgefl.api, edgefl.cli.listing",
        "edgefl.run({'rounds': 1}, train=False)")  # fmt: skip
    code = "\n".join(f"{statement}\nimport sys\nassert 'torch' not in sys.modules" for statement in statements)
    subprocess.run([sys.executable, "-c", code], check=True)


def token_file(path, largest):
    rng = np.random.default_rng(0)
    x = rng.integers(0, largest + 1, (40, 6))
    y = rng.integers(0, 3, 40)
    x[0, 0] = largest
    np.savez(path, train_x=x, train_y=y, test_x=x, test_y=y)
    return {"rounds": 2, "devices": {"count": 4}, "data": {"dataset": "npz", "path": str(path)}}


@pytest.mark.oracle
def test_rows_of_token_ids_are_learned_from(tmp_path):
    scenario = token_file(tmp_path / "text.npz", 49) | {"rounds": 40, "training": {"lr": 1.0}}
    result = edgefl.run({**scenario, "model": {"kind": "fasttext", "vocabulary": 50, "dimension": 8}})
    assert result.rounds["test_accuracy"].iloc[-1] > 0.9  # the test set is the training set: it can be memorised


@pytest.mark.parametrize(
    ("model", "largest", "message"),
    [
        ({"kind": "fasttext", "vocabulary": 50}, 50, "needs token ids from 0 to 49 or less, the samples hold 0 to 50"),
        ({"kind": "mlp"}, 49, "needs no token ids, the samples are int64"),
    ],
)
def test_samples_that_a_model_cannot_read(tmp_path, model, largest, message):
    with pytest.raises(InputError, match=message):
        edgefl.run({**token_file(tmp_path / "text.npz", largest), "model": model})
    with pytest.raises(InputError, match="needs rows of token ids"):
        edgefl.run({"model": {"kind": "fasttext"}})


def test_garbage_collection_is_restored_after_a_run():
    import gc

    before = gc.get_threshold()
    edgefl.run({"rounds": 1, "devices": {"count": 2}}, train=False)
    assert gc.get_threshold() == before
