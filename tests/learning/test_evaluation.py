"""Evaluation in the background: rows are whole, in order, and the same as if every round had waited."""

import json
from functools import cache

import numpy as np
import pytest
import torch

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.datasets.digits import Digits
from edgefl.runs.data_division import divide
from edgefl.scenario import load

BASE = {
    "rounds": 7,
    "targets": [0.3],
    "data": {"dataset": "digits"},
    "devices": {"count": 10},
    "server": {"participants": 4},
}
TESTED = ["test_loss", "test_accuracy"]


@cache
def every_round():
    return edgefl.run(BASE).rounds


@pytest.mark.oracle
def test_eval_every_evaluates_those_rounds_and_the_last():
    every = every_round()
    third = edgefl.run({**BASE, "report": {"eval_every": 3}}).rounds
    evaluated = third["test_loss"].notna()
    assert third["round"][evaluated].tolist() == [3, 6, 7]
    assert np.array_equal(third.loc[evaluated, TESTED], every.loc[evaluated, TESTED])
    assert every[TESTED].notna().all(axis=None)
    assert third.drop(columns=TESTED).equals(every.drop(columns=TESTED))


@pytest.mark.oracle
def test_the_last_round_is_evaluated_wherever_a_run_ends():
    full = edgefl.run({**BASE, "report": {"eval_every": 4}})
    early = edgefl.run({**BASE, "report": {"eval_every": 4}, "stop": {"time_s": full.rounds["time_s"][4]}})
    assert early.rounds["round"][early.rounds["test_loss"].notna()].tolist() == [4, 5]
    assert early.summary["final_accuracy"] == early.rounds["test_accuracy"][4]


@pytest.mark.oracle
def test_a_wanted_accuracy_ends_the_run_in_its_round():
    accuracies = every_round()["test_accuracy"]
    wanted = accuracies[2]
    first = int(np.argmax(accuracies >= wanted))
    assert len(edgefl.run({**BASE, "stop": {"accuracy": wanted}}).rounds) == first + 1


@pytest.mark.oracle
def test_progress_reports_each_round_once_in_order_and_complete():
    rows = []
    result = edgefl.run({**BASE, "report": {"eval_every": 2}}, progress=lambda row: rows.append(dict(row)))
    assert [row["round"] for row in rows] == list(range(1, 8))
    assert [row["test_accuracy"] is not None for row in rows] == [False, True, False, True, False, True, True]
    assert [row["train_loss"] for row in rows] == result.rounds["train_loss"].tolist()


@pytest.mark.oracle
def test_the_manifest_says_how_clients_were_trained(tmp_path):
    import json

    edgefl.run({**BASE, "algorithm": "scaffold", "training": {"engine": "serial"}}, out=tmp_path / "run", device="cpu")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["learner"].pop("workers") >= 0
    assert manifest["learner"] == {"engine": "serial", "kernel": "autograd", "width": 1, "state_home": "device"}


@pytest.mark.oracle
@pytest.mark.parametrize(("precision", "engine"), [("bfloat16", "serial"), ("bfloat16", "batched"), ("tf32", "serial")])
def test_reduced_precision_stays_near(engine, precision):
    """bfloat16 has 8 bits of mantissa: products err by 2^-8, a short run by a few hundredths."""
    training = {"local_epochs": 1, "engine": engine}
    exact = edgefl.run({**BASE, "training": training}).parameters
    rounded = edgefl.run({**BASE, "training": {**training, "precision": precision}}).parameters
    distance = np.linalg.norm(rounded - exact) / np.linalg.norm(exact)
    assert distance < 0.05
    assert (distance > 1e-5) == (precision == "bfloat16")  # TF32 is a matter of GPUs


# The mean of the round's local models, and that of all devices' last ones

FUNCTIONS = [[0.5, -1, 0], [0.5, 3, 1], [1, 2, 0], [0.25, 0, 3]]
VISITS = [[0, 1], [1, 2], [1], [0, 2]]
QUADRATIC = {
    "rounds": 6,
    "data": {"dataset": "quadratic", "coefficients": FUNCTIONS},
    "model": {"init": {"kind": "value", "value": 5.0}},
    "training": {"local_steps": 3, "batch_size": "full", "lr": 0.1},
    "server": {"selection": {"kind": "schedule", "rounds": VISITS}},
    "report": {"models": ["sel", "all"]},
}


SERIAL = {"engine": "serial"}
BATCHED = {"engine": "batched", "width": 2}


@pytest.mark.parametrize(
    ("algorithm", "engine"),
    [("fedavg", SERIAL), ("fedavg", BATCHED), ("scaffold", BATCHED), ("mifa", SERIAL), ("fedasync", BATCHED)],
)
@pytest.mark.oracle
def test_sel_and_all_by_hand(algorithm, engine):
    """Local models again from the global ones; device 3 is never asked, and counts with the initial model."""
    keys = {**QUADRATIC, "training": {**QUADRATIC["training"], **engine}, "algorithm": algorithm}
    rounds = edgefl.run(keys).rounds
    plain = edgefl.run({**keys, "report": {}}).rounds
    assert rounds[plain.columns].equals(plain)
    if algorithm == "scaffold":  # its local steps need its control variates
        return
    last = np.full(4, 5.0)
    starts = [5.0, *rounds["parameter"][:-1]]
    for number, start in enumerate(starts):
        visited = VISITS[number % 4]
        for device in visited:
            last[device] = locally(start, *FUNCTIONS[device][:2])
        assert rounds["sel_loss"][number] == pytest.approx(loss(last[visited].mean()), rel=1e-12)
        assert rounds["all_loss"][number] == pytest.approx(loss(last.mean()), rel=1e-12)
    assert rounds["sel_accuracy"].isna().all()


def locally(x, a, b):
    for _ in range(3):
        x -= 0.1 * (2 * a * x + b)
    return x


def loss(x):
    a, b, c = np.mean(FUNCTIONS, axis=0)
    return a * x * x + b * x + c


@pytest.mark.parametrize(
    ("algorithm", "weights"),
    [
        ({"kind": "fedavg"}, [1, 2, 3]),
        ({"kind": "fedprox", "mu": 0.5}, [1, 2, 3]),
        ({"kind": "fedavg", "weighting": "uniform"}, [1, 1, 1]),
        ({"kind": "feddyn"}, [1, 1, 1]),
    ],
)
def test_sel_and_all_are_weighted_as_the_algorithm_weighs(algorithm, weights, tmp_path):
    """As the programs of FedDyn and FedSSG do: by samples for FedAvg and FedProx, uniform for the others."""
    path = tmp_path / "parts.json"
    path.write_text(json.dumps({str(i): [i] * (i + 1) for i in range(3)}))
    keys = {
        **QUADRATIC,
        "rounds": 1,
        "data": {
            "dataset": "quadratic",
            "coefficients": FUNCTIONS[:3],
            "partition": {"kind": "file", "path": str(path)},
        },
        "training": {"local_steps": 1, "batch_size": "full", "lr": 0.1},  # the pull of FedProx and FedDyn is 0 here
        "algorithm": algorithm,
        "server": {"selection": {"kind": "schedule", "rounds": [[1, 2]]}},
    }
    result = edgefl.run(keys)
    local = np.array([5.0, *(5.0 - 0.1 * (10 * a + b) for a, b, _ in FUNCTIONS[1:3])])
    a, b, c = np.mean(FUNCTIONS[:3], axis=0)
    for name, model in {
        "sel": np.average(local[1:], weights=weights[1:]),
        "all": np.average(local, weights=weights),
    }.items():
        assert result.rounds[f"{name}_loss"][0] == pytest.approx(a * model**2 + b * model + c, rel=1e-12)


@pytest.mark.oracle
def test_with_all_devices_and_equal_weights_all_three_models_are_equal():
    keys = {**BASE, "server": {}, "algorithm": {"kind": "fedavg", "weighting": "uniform"}}
    rounds = edgefl.run({**keys, "report": {"models": ["all", "sel"], "eval_every": 3}}).rounds
    assert rounds["sel_accuracy"].notna().tolist() == [number in {3, 6, 7} for number in range(1, 8)]
    for name in ("sel", "all"):
        assert np.allclose(rounds[f"{name}_loss"], rounds["test_loss"], rtol=1e-5, equal_nan=True)


def test_sel_is_empty_where_nothing_arrived_and_all_stays():
    faults = {"radio": {"faults": {"failure_probability": 0.3}}, "server": {"participants": 1}}
    rounds = edgefl.run({**BASE, **faults, "report": {"models": ["sel", "all"]}}).rounds
    nothing = rounds["received"] == 0
    assert nothing.any()
    assert not nothing.all()
    assert (rounds["sel_loss"].isna() == nothing).all()
    assert (rounds["all_loss"].diff()[1:][nothing[1:]] == 0).all()
    assert (rounds["all_loss"].diff()[1:][~nothing[1:]] != 0).all()


@pytest.mark.oracle
def test_the_last_round_has_them_wherever_a_run_ends():
    report = {"models": ["sel", "all"], "eval_every": 4}
    base = {**BASE, "training": {"local_epochs": 1}}
    full = edgefl.run({**base, "report": {**report, "eval_every": 1}})
    early = edgefl.run({**base, "report": report, "stop": {"time_s": full.rounds["time_s"][4]}})
    columns = ["sel_loss", "all_loss", "sel_accuracy", "all_accuracy"]
    assert early.rounds[columns].loc[4].tolist() == full.rounds[columns].loc[4].tolist()


# On training samples


TRAINED = {
    **BASE,
    "seed": 5,
    "rounds": 4,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
    "training": {"engine": "serial"},
}


def accuracy_on(result, model, devices):
    """Share of the devices' training samples that a logistic regression [d] tells right, in numpy."""
    scenario = load(result.scenario)
    data = Digits().load()
    rng = Streams(scenario.seed).generator("partition")
    parts = scenario.data.partition.assign(data.train_y, data.owner, scenario.devices.count, rng)
    rows = np.concatenate([parts[device] for device in devices])
    x = ((data.train_x[rows] - data.mean) / data.std).reshape(len(rows), -1)
    weights = model[:-10].reshape(10, -1)
    bias = model[-10:]
    return ((x @ weights.T + bias).argmax(axis=1) == data.train_y[rows]).mean()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("whose", "policy"),
    [
        ("participants", "sequential"),
        ("participants", "synchronous"),
        ("random", "sequential"),
        ("all", "synchronous"),
    ],
)
def test_accuracy_on_training_samples(whose, policy):
    """The accuracy is that of the last round's model, by the definition; nothing else of the run changes."""
    plain = {**TRAINED, "server": {"participants": 4, "policy": policy}, "model": {"kind": "logistic"}}
    result = edgefl.run({**plain, "report": {"eval_every": 3, "train_accuracy": whose}})
    if whose == "random":
        without = edgefl.run({**plain, "report": {"eval_every": 3}})
        assert result.rounds.drop(columns="train_accuracy").equals(without.rounds)
    assert result.rounds["round"][result.rounds["train_accuracy"].notna()].tolist() == [3, 4]
    devices = range(10)
    if whose == "participants":
        devices = result.devices["device"][result.devices["round"] == 4]
    elif whose == "random":
        devices = Streams(5).generator("train_accuracy", 1, 4).choice(10, 4, replace=False)
    assert result.rounds["train_accuracy"].iloc[-1] == accuracy_on(result, result.parameters, devices)


@pytest.mark.oracle
def test_a_round_without_updates_has_no_participants_to_test_on():
    faults = {"failure_probability": 0.6, "attempts": 1}
    changes = {"rounds": 12, "server": {"participants": 1}, "radio": {"faults": faults}}
    rounds = edgefl.run({**TRAINED, **changes, "report": {"train_accuracy": "participants"}}).rounds
    assert (rounds["received"] == 0).any()
    assert rounds["train_accuracy"].isna().equals(rounds["received"] == 0)


def test_functions_have_no_accuracy_to_measure():
    quadratic = {"data": {"dataset": "quadratic", "coefficients": [[1, 0, 0]]}, "report": {"train_accuracy": "all"}}
    with pytest.raises(InputError, match=r"report.train_accuracy: needs samples with classes"):
        edgefl.run(quadratic)


# Losses around local training


@pytest.mark.oracle
@pytest.mark.parametrize(("algorithm", "engine"), [("fedavg", BATCHED), ("feddyn", SERIAL)])
def test_losses_around_local_training_by_hand(algorithm, engine, tmp_path):
    """The losses are those of the received, the local and the next model, on each participant's one function."""
    keys = {**QUADRATIC, "training": {**QUADRATIC["training"], **engine}, "algorithm": algorithm}
    plain = edgefl.run({**keys, "report": {}}).rounds
    result = edgefl.run({**keys, "report": {"device_losses": True}}, out=tmp_path / "run")
    assert result.rounds.equals(plain)
    losses = result.device_losses
    assert np.allclose(losses, edgefl.read(tmp_path / "run").device_losses, rtol=1e-6)  # the file has fewer digits
    models = [5.0, *plain["parameter"]]
    visits = [(number, device) for number in range(6) for device in VISITS[number % 4]]
    assert [(row.round - 1, row.device) for row in losses.itertuples()] == visits
    for row in losses.itertuples():
        a, b, c = FUNCTIONS[row.device]
        before = models[row.round - 1]
        after = models[row.round]
        assert row.received_loss == pytest.approx(a * before**2 + b * before + c, rel=1e-12)
        assert row.next_loss == pytest.approx(a * after**2 + b * after + c, rel=1e-12)
        if algorithm == "fedavg":
            local = locally(before, a, b)
            assert row.local_loss == pytest.approx(a * local**2 + b * local + c, rel=1e-12)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"server": {"policy": "sequential"}},
            "needs updates that are aggregated together",
        ),
        ({"data": {"dataset": "digits", "redivide": "iid"}}, "is about samples that devices keep"),
        ({"algorithm": "fedar"}, "the server does not know local models, as fedar uploads no change of the model"),
        ({"algorithm": "mifa"}, "the server does not know local models, as mifa uploads no change of the model"),
    ],
)
def test_losses_around_local_training_need_one_model_that_the_server_knows_and_kept_samples(keys, message):
    with pytest.raises(InputError, match=rf"report\.device_losses: {message}"):
        edgefl.load({**BASE, **keys, "report": {"device_losses": True}})


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS.members) - {"fedar", "mifa"}))
@pytest.mark.oracle
def test_losses_around_local_training_are_written_for_every_algorithm_that_is_accepted(algorithm):
    """Two rounds of each give finite losses of both rounds' participants."""
    keys = {**BASE, "rounds": 2, "training": {"local_steps": 2}}
    result = edgefl.run({**keys, "algorithm": algorithm, "report": {"device_losses": True}})
    assert result.device_losses["round"].tolist() == result.devices["round"].tolist()
    assert np.isfinite(result.device_losses["local_loss"]).all()


def test_losses_around_local_training_name_the_devices_of_the_session():
    """Groups of devices take turns: the second session's are 5 to 9."""
    keys = {
        **BASE,
        "rounds": None,
        "data": {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.0, "alpha": 1.0}},
        "devices": {"count": 10},
        "sessions": {"count": 2, "rounds": 1},
        "report": {"device_losses": True},
    }
    result = edgefl.run(keys)
    of_session = result.devices.groupby("session")["device"].apply(sorted)
    assert result.device_losses.groupby("session")["device"].apply(list).tolist() == of_session.tolist()
    assert of_session[2][0] >= 5


@pytest.mark.oracle
def test_predictions_are_a_confusion_matrix(tmp_path):
    """In each named round: rows add up to the test set's classes, the diagonal to the test accuracy."""
    result = edgefl.run({**BASE, "report": {"predictions": [2, 5]}}, out=tmp_path / "run")
    assert result.rounds.equals(every_round())
    found = result.predictions
    assert found.equals(edgefl.read(tmp_path / "run").predictions)
    assert found["round"].unique().tolist() == [2, 5]
    totals = found.groupby(["round", "label"])["samples"].sum().unstack()
    assert totals.loc[2].tolist() == totals.loc[5].tolist()
    for number, rows in found.groupby("round"):
        right = rows.loc[rows["label"] == rows["predicted"], "samples"].sum()
        accuracy = result.rounds["test_accuracy"][number - 1]
        assert right / rows["samples"].sum() == pytest.approx(accuracy, abs=1e-12)


def test_predictions_need_classes():
    with pytest.raises(InputError, match=r"report\.predictions: needs samples with classes"):
        edgefl.run({**QUADRATIC, "report": {"predictions": [1]}})


# Accuracies around local training


@pytest.mark.oracle
@pytest.mark.parametrize("partition", ["none", "like_train"])
def test_accuracies_around_local_training_are_those_of_the_models(partition):
    """With one participant a round its own model is the next one, and the received one that of the round before."""
    data = {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}, "test_partition": partition}
    keys = {
        "data": data,
        "model": {"kind": "mlp", "hidden": [8]},
        "devices": {"count": 5},
        "server": {"participants": 1},
        "training": {"local_epochs": 2, "lr": 0.1},
        "report": {"measures": ["local_accuracy"]},
    }
    result = edgefl.run({**keys, "rounds": 3})
    rows = result.table("local_accuracy")
    divided = divide(load(keys))
    parts, x, y = divided.parts, divided.data.train_x, divided.data.train_y
    if partition == "like_train":
        parts, x, y = divided.test_parts, divided.data.test_x, divided.data.test_y
    assert rows["local_accuracy"].equals(rows["next_accuracy"].rename("local_accuracy"))
    assert result.rounds["local_accuracy"].tolist() == pytest.approx(rows["local_accuracy"].tolist())
    for number, row in enumerate(rows.itertuples()):
        own = parts[row.device]
        assert row.samples == len(own)
        for rounds, accuracy in ((number, row.received_accuracy), (number + 1, row.next_accuracy)):
            if rounds:
                model = edgefl.run({**keys, "rounds": rounds}).model()
                with torch.no_grad():
                    predicted = model(torch.from_numpy(divided.data.normalised(x[own]))).argmax(1).numpy()
                assert accuracy == pytest.approx((predicted == y[own]).mean())
