"""ClientApps: what they see, keep and draw, what they are priced with, and what is said about the model."""

import json
import logging
import random

import numpy as np
import pytest

import edgefl
from tests.cases.flower_cases import CLIENT, FEDAVG, WORLD, emulated, write_app

pytestmark = pytest.mark.oracle

# Clients that learn by chance: each draws from the global generators of Python, NumPy and torch.
CHANCE = """
import random
import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.train()
def train(message, context):
    drawn = [random.random(), np.random.rand(), torch.rand(1).item()]
    state = context.state.config_records.setdefault("kept", ConfigRecord({"drawn": []}))
    state["drawn"] = [*state["drawn"], *drawn]
    w = message.content["arrays"]["w"].numpy() + np.float32(sum(drawn))
    metrics = MetricRecord({"num-examples": 1, "drawn": state["drawn"], "device": context.node_config["partition-id"]})
    return Message(RecordDict({"arrays": ArrayRecord({"w": Array(w)}), "metrics": metrics}), reply_to=message)
"""
COLLECT = """
    import json, pathlib, time
    found = {}
    for nodes in NODES:
        for reply in grid.send_and_receive(ask(nodes)):
            if reply.has_content():
                metrics = reply.content["metrics"]
                found[metrics["device"]] = metrics["drawn"]
        time.sleep(1)
    pathlib.Path("FILE").write_text(json.dumps(found))
"""
TORCH = """
import torch
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.train()
def train(message, context):
    batch = torch.ones(5 + context.node_config["partition-id"], 8)
    batch @ torch.ones(8, 3)
    return Message(message.content, reply_to=message)

@app.evaluate()
def evaluate(message, context):
    return Message(RecordDict({"metrics": MetricRecord({"accuracy": 1})}), reply_to=message)

@app.query()
def query(message, context):
    torch.nn.LSTM(4, 4)(torch.ones(2, 3, 4))
    return Message(RecordDict({"metrics": MetricRecord({"accuracy": 1})}), reply_to=message)
"""
ALL = "    grid.send_and_receive(ask(list(grid.get_node_ids())))\n"


def drawn(folder, nodes, **options):
    """Return the numbers that each device has drawn in the messages to it, by device."""
    main = COLLECT.replace("NODES", repr(nodes)).replace("FILE", str(folder / "drawn.json"))
    app = write_app(folder / "app", "chance_app", main, CHANCE)
    result = emulated(app, **options)
    assert result.error is None
    return json.loads((folder / "drawn.json").read_text())


def test_draws_of_a_client_depend_only_on_seed_device_and_message(tmp_path):
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002 - the app draws from it
    before = random.getstate()
    together = drawn(tmp_path / "a", [[1000, 1001, 1002], [1002]])
    assert random.getstate() == before  # a program that runs an app keeps its own draws
    apart = drawn(tmp_path / "b", [[1002], [1001], [1000], [1002]])
    assert together == apart
    assert len(together["2"]) == 2 * 3
    assert len({*together["0"], *together["1"], *together["2"]}) == 4 * 3
    assert drawn(tmp_path / "c", [[1000]], seed=9) != {"0": together["0"]}


def test_a_context_is_kept_only_once_the_device_has_computed(tmp_path):
    stays = tmp_path / "stays.csv"
    stays.write_text("device,on_s,off_s\n0,0,0.3\n0,4,inf\n1,0,inf\n")
    world = {
        **WORLD,
        "radio": {"sharing": "processor", "bandwidth_hz": 3000},
        "churn": {"kind": "trace", "path": str(stays)},
    }
    found = drawn(tmp_path, [[1000, 1001], [1001], [1001], [1001], [1000, 1001]], world=world)
    # The first message to device 0 was lost during its download: its context begins with the second.
    assert len(found["0"]) == 3
    assert len(found["1"]) == 5 * 3


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    files = []
    for name in ("first", "second"):
        main = FEDAVG.replace("{folder}", str(tmp_path))
        result = emulated(write_app(tmp_path / name / "app", "same_app", main))
        files.append(
            {path.name: path.read_bytes() for path in result.folder.glob("*.csv")}
            | {"weights": (tmp_path / "weights.npy").read_bytes()}
        )
    assert files[0] == files[1]
    assert len(files[0]["rounds.csv"].splitlines()) == 4


def test_operations_are_those_that_the_client_computes_with_torch(tmp_path):
    app = write_app(tmp_path / "app", "torch_app", ALL, TORCH)
    result = emulated(app, operations="app")
    devices = result.devices
    flops = 2 * (5 + devices["device"]) * 8 * 3  # a multiplication and an addition for each product
    assert result.error is None
    ratio = devices["compute_s"] / flops
    np.testing.assert_allclose(ratio, ratio.iloc[0], rtol=1e-12)


def test_operations_that_cannot_be_counted_are_an_error_with_the_remedy(tmp_path):
    app = write_app(tmp_path / "app", "uncounted_app", ALL.replace("())))", "()), 'query'))"), TORCH)
    result = emulated(app, operations="app")
    assert result.status == "failed"
    assert "whose operations cannot be counted" in result.error
    assert result.error.endswith("--operations world")


def test_the_world_prices_only_its_own_model(tmp_path):
    app = write_app(tmp_path / "app", "larger_app", ALL, parameters=651)
    result = emulated(app)
    assert result.status == "failed"
    assert "the app's model has 651 parameters, the world's 650" in result.error


def test_accuracies_are_the_weighted_means_of_the_clients_answers(tmp_path):
    main = "    for kind in ('train', 'evaluate'):\n        grid.send_and_receive(ask([1001, 1003], kind))\n"
    result = emulated(write_app(tmp_path / "app", "measured_app", main))
    weights = np.array([2, 4])
    assert result.rounds["test_accuracy"].iloc[0] == pytest.approx(np.average([0.1, 0.3], weights=weights))
    assert result.rounds["test_loss"].iloc[0] == 0.5
    assert result.rounds["train_loss"].iloc[0] == np.mean([1 / 8, 3 / 8])
    assert result.summary["final_accuracy"] == result.rounds["test_accuracy"].iloc[-1]


def test_central_tests_of_a_strategy_replace_those_of_clients(tmp_path):
    main = """
    from flwr.app import MetricRecord
    from flwr.serverapp.strategy import FedAvg
    def tested(server_round, arrays):
        return MetricRecord({"accuracy": server_round / 10, "loss": 1.5})
    FedAvg().start(grid, ask([1000])[0].content["arrays"], num_rounds=2, evaluate_fn=tested)
"""
    result = emulated(write_app(tmp_path / "app", "tested_app", main))
    assert result.rounds["test_accuracy"].tolist() == [0.1, 0.2]
    assert result.rounds["test_loss"].tolist() == [1.5, 1.5]


def test_app_may_report_a_test(tmp_path, caplog):
    main = """
    from edgefl.flower import report
    for accuracy in (0.25, 77.5):
        grid.send_and_receive(ask([1000]))
        report(accuracy=accuracy)
"""
    with caplog.at_level(logging.WARNING):
        result = emulated(write_app(tmp_path / "app", "reporting_app", main))
    assert result.rounds["test_accuracy"].iloc[0] == 0.25
    assert np.isnan(result.rounds["test_accuracy"].iloc[1])
    assert "77.5 is not within 0 to 1" in caplog.text
    edgefl.flower.report(accuracy=0.5)  # without an emulation this does nothing


def test_bits_are_those_of_arrays_texts_and_bytes(tmp_path):
    client = CLIENT.replace('"num-examples": 4})', '"num-examples": 4, "list": [1.0, 2.0, 3.0]})')
    main = """
    for message in (messages := ask([1000, 1001])):
        message.content["config"]["text"] = "four"
        message.content["config"]["bytes"] = b"sixteen bytes ..."[:16]
    grid.send_and_receive(messages)
    grid.send_and_receive(ask([1000], "query"))
"""
    result = emulated(write_app(tmp_path / "app", "wordy_app", main, client))
    assert result.error is None
    assert result.devices["bytes_down"].tolist() == [4 * 650 + 20, 4 * 650, 4 * 650 + 20]
    assert result.devices["bytes_up"].tolist() == [4 * 650 + 24, 4, 4 * 650 + 24]
