"""Secure aggregation and trees: messages that ask for training, and compute nothing with torch."""

import json
import logging

import numpy as np
import pytest

import edgefl
from tests.cases.flower_cases import CLIENT, WORLD, emulated, write_app

pytestmark = pytest.mark.oracle

# The shape of Flower's flower-secure-aggregation: a workflow whose stages are train messages.
SECURE_SERVER = """
import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import LegacyContext, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
from flwr.serverapp import ServerApp

app = ServerApp()

@app.main()
def main(grid, context):
    strategy = FedAvg(
        min_available_clients=4,
        fraction_evaluate=1.0,
        evaluate_fn=TESTED,
        initial_parameters=ndarrays_to_parameters([np.zeros(650, dtype=np.float32)]),
    )
    legacy = LegacyContext(context=context, config=ServerConfig(num_rounds=2), strategy=strategy)
    workflow = SecAggPlusWorkflow(num_shares=3, reconstruction_threshold=2, max_weight=4)
    DefaultWorkflow(fit_workflow=workflow)(grid, legacy)
    [arrays] = legacy.state.array_records.values()
    np.save("FILE", arrays.to_numpy_ndarrays()[0])
"""
SECURE_CLIENT = """
import numpy as np
from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp

class Client(NumPyClient):
    def __init__(self, partition):
        self.partition = partition

    def fit(self, parameters, config):
        TRAINING
        return [w + np.float32(self.partition / 8) for w in parameters], 4, {}

    def evaluate(self, parameters, config):
        TRAINING
        return 0.5, 4, {"accuracy": self.partition / 10}

def client_fn(context):
    return Client(context.node_config["partition-id"]).to_client()

app = ClientApp(client_fn, mods=[secaggplus_mod])
"""
STAGES = 4


# The shape of Flower's quickstart-xgboost: the model is the text of all trees, to which each client adds one.
TREE_SERVER = """
    from flwr.serverapp.strategy import FedXgbBagging
    start = ArrayRecord([np.frombuffer(b"", dtype=np.uint8)])
    found = FedXgbBagging(fraction_evaluate=0.5).start(grid, start, num_rounds=3)
    np.save("FILE", found.arrays["0"].numpy())
"""
TREE_CLIENT = """
import json
import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.train()
def train(message, context):
    tree = {"id": 0, "partition": context.node_config["partition-id"], "split": [0.5] * 100}
    model = {
        "gbtree_model_param": {"num_trees": "1", "num_parallel_tree": "1"},
        "iteration_indptr": [0, 1], "tree_info": [0], "trees": [tree],
    }
    text = json.dumps({"learner": {"gradient_booster": {"model": model}}}).encode()
    arrays = ArrayRecord([np.frombuffer(text, dtype=np.uint8)])
    return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 4})}), reply_to=message)

@app.evaluate()
def evaluate(message, context):
    trees = json.loads(message.content["arrays"]["0"].numpy().tobytes())
    return Message(RecordDict({"metrics": MetricRecord({"auc": 0.5, "num-examples": 4})}), reply_to=message)
"""
COST = {"kind": "logistic", "cost": {"parameters": 1000, "flops_per_parameter": 30}}


def secure(folder, training="pass", rounds=2, churn=None, tested="None", **options):
    """The result of an app with secure aggregation among five devices, and the weights of its last round."""
    app = write_app(folder / "app", "secure_app", "    pass", SECURE_CLIENT.replace("TRAINING", training))
    file = folder / "weights.npy"
    text = SECURE_SERVER.replace("FILE", str(file)).replace("num_rounds=2", f"num_rounds={rounds}")
    text = text.replace("TESTED", tested)
    (app / "secure_app" / "server.py").write_text(text)
    result = emulated(app, {**WORLD, "devices": {"count": 5}, **(churn or {})}, **options)
    assert result.error is None
    return result, np.load(file)


def trees(folder, world=WORLD, **options):
    """The result of an app whose model grows by a tree of each client and round."""
    file = folder / "trees.npy"
    app = write_app(folder / "app", "tree_app", TREE_SERVER.replace("FILE", str(file)), TREE_CLIENT)
    return emulated(app, world, **options), file


def warnings_of(caplog):
    """The warnings of the emulation, by one program's run."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("edgefl")]


def test_stages_of_secure_aggregation_are_one_round_and_only_the_trained_one_computes(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        result, weights = secure(tmp_path)
    np.testing.assert_allclose(weights, 2 * np.mean(np.arange(5) / 8), atol=1e-4)  # it quantises updates
    rounds = result.rounds
    assert rounds[["selected", "received", "answered"]].to_numpy().tolist() == [[5 * STAGES, 5 * STAGES, 5]] * 2
    assert rounds["test_accuracy"].tolist() == [np.mean([0, 0.1, 0.2, 0.3, 0.4])] * 2
    devices = result.devices[result.devices["status"] == "received"]
    computing = devices["compute_s"].to_numpy().reshape(2, 5, STAGES) > 0
    assert computing.tolist() == [[[False, False, True, False]] * 5] * 2
    assert warnings_of(caplog) == [
        "warning: 30 of 40 train messages exchanged keys of secure aggregation and cost 0 operations"
    ]


def test_secure_aggregation_trains_as_long_as_other_apps(tmp_path):
    result, _ = secure(tmp_path)
    ours = edgefl.run({**WORLD, "devices": {"count": 5}}, train=False)
    stages = result.devices.query("status == 'received' and round == 1")
    expected = ours.devices.query("round == 1")["compute_s"].to_numpy()
    np.testing.assert_array_equal(stages["compute_s"].to_numpy().reshape(5, STAGES).sum(axis=1), expected)


def test_bytes_and_texts_of_secure_aggregation_are_its_price(tmp_path):
    result, _ = secure(tmp_path, rounds=1)
    first = result.devices.query("status == 'received' and device == 0")
    # The names of the stages are texts; numbers are free.
    down = first["bytes_down"].tolist()
    assert down[0] == len("setup")
    key_bytes = (first["bytes_up"].iloc[0]) / 2  # a device sends two public keys
    assert down[1] == len("share_keys") + 3 * 2 * key_bytes  # those of its two neighbours and its own
    assert down[2] > 4 * 650  # the model, and encrypted shares
    assert first["bytes_up"].iloc[2] > 8 * 650  # the masked update has integers of 64 bits


def test_secure_aggregation_recovers_from_a_device_that_leaves(tmp_path):
    stays = tmp_path / "stays.csv"
    # The third stage lasts from 2 ms to 3.1 ms.
    stays.write_text("device,on_s,off_s\n0,0,inf\n1,0,inf\n2,0,inf\n3,0,inf\n4,0,0.0025\n")
    result, weights = secure(tmp_path, rounds=1, churn={"churn": {"kind": "trace", "path": str(stays)}})
    np.testing.assert_allclose(weights, np.mean(np.arange(4) / 8), atol=1e-4)
    assert result.rounds[["selected", "received", "departed"]].to_numpy().tolist() == [[5 * 3 + 4, 5 * 2 + 4 * 2, 1]]


def test_a_workflow_waits_for_nodes_in_virtual_time(tmp_path):
    stays = tmp_path / "stays.csv"
    stays.write_text("device,on_s,off_s\n0,0,inf\n1,0,inf\n2,0,inf\n3,1000.5,inf\n4,1000.5,inf\n")
    result, _ = secure(tmp_path, rounds=1, churn={"churn": {"kind": "trace", "path": str(stays)}})
    assert result.devices["start_s"].min() == 1005  # it looks every five seconds


def test_a_workflow_that_would_wait_for_ever_fails_with_a_reason(tmp_path):
    app = write_app(tmp_path / "app", "secure_app", "    pass", SECURE_CLIENT.replace("TRAINING", "pass"))
    (app / "secure_app" / "server.py").write_text(SECURE_SERVER.replace("TESTED", "None"))
    result = emulated(app, {**WORLD, "devices": {"count": 3}})
    assert result.status == "failed"
    assert "waits for more devices than the 3 that are present" in result.error


def test_the_central_tests_of_a_workflow_are_recorded(tmp_path):
    result, _ = secure(tmp_path, tested='lambda number, arrays, config: (1.5, {"accuracy": number / 10})')
    assert result.rounds[["test_accuracy", "test_loss"]].to_numpy().tolist() == [[0.1, 1.5], [0.2, 1.5]]


def test_secure_aggregation_with_torch_is_counted_where_it_trains(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        result, _ = secure(tmp_path, "import torch; torch.ones(5, 8) @ torch.ones(8, 3)", operations="app")
    computing = result.devices["compute_s"] > 0
    assert computing.sum() == 2 * 5 * 2  # training and evaluation, in two rounds
    [line] = warnings_of(caplog)
    assert line.startswith("warning: 30 of 40 train messages computed nothing with torch and cost 0 operations: ")


def test_trees_are_priced_by_their_bytes_and_the_cost_that_the_world_names(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        result, file = trees(tmp_path, {**WORLD, "model": COST})
    assert result.error is None
    assert warnings_of(caplog) == []
    ours = edgefl.run({**WORLD, "model": COST}, train=False)
    trained = result.devices[result.devices["status"] == "received"]
    np.testing.assert_array_equal(trained["compute_s"], ours.devices["compute_s"])
    assert trained.query("round == 1")["bytes_down"].unique().tolist() == [4]  # the empty model, priced as one number
    # What is sent in a round is the model that devices have tested after the round before.
    tested = result.devices.query("status == 'answered'").groupby("round")["bytes_down"].first()
    np.testing.assert_array_equal(trained.query("round > 1").groupby("round")["bytes_down"].first(), tested[:2])
    assert tested[3] == np.load(file).size
    assert tested.is_monotonic_increasing
    model = json.loads(np.load(file).tobytes())["learner"]["gradient_booster"]["model"]
    assert len(model["trees"]) == 3 * 8


def test_trees_are_refused_where_the_world_has_another_model(tmp_path):
    result, _ = trees(tmp_path)
    assert result.status == "failed"
    assert result.error == (
        "the app's model has 0 parameters, the world's 650: make them the same model, give its cost as the world's "
        "model.cost, or leave out --operations world"
    )


def test_a_model_that_travels_as_bytes_is_priced_by_the_cost_that_the_world_names(tmp_path):
    main = """
    for message in (messages := ask([1000, 1001])):
        message.content = RecordDict({"config": ConfigRecord({"model": b"x" * 500})})
    replies = grid.send_and_receive(messages)
    assert len(replies) == 2
"""
    client = CLIENT.replace('message.content["arrays"]["w"].numpy()', "np.zeros(5)")
    result = emulated(write_app(tmp_path / "app", "bytes_app", main, client), {**WORLD, "model": COST})
    assert result.error is None
    ours = edgefl.run({**WORLD, "model": COST}, train=False).devices.query("round == 1 and device < 2")
    np.testing.assert_array_equal(result.devices["compute_s"], ours["compute_s"])
    assert result.devices["bytes_down"].tolist() == [500, 500]


def test_an_app_that_computes_nothing_with_torch_costs_no_operations_with_one_warning(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        result, _ = trees(tmp_path, operations="app")
    assert result.error is None
    assert (result.devices["compute_s"] == 0).all()
    assert warnings_of(caplog) == [
        (
            "warning: 12 of 12 evaluate messages and 24 of 24 train messages computed nothing with torch and cost 0 "
            "operations: if the ClientApp computes with another library, let the world's model.cost price them, "
            "with --operations world"
        )
    ]
