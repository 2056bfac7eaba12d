"""Apps of Flower's older interface: strategies and clients with parameters in place of messages."""

import re

import numpy as np
import pytest

import edgefl
from tests.cases.flower_cases import WORLD, emulated, write_app

CLIENT = """
import numpy as np
from flwr.client import NumPyClient
from flwr.clientapp import ClientApp

class Client(NumPyClient):
    def __init__(self, partition):
        self.partition = partition

    def fit(self, parameters, config):
        return [w + np.float32(self.partition / 8) for w in parameters], 4, {"train_loss": 2.0}

    def evaluate(self, parameters, config):
        return 0.5, 1 + self.partition, {"accuracy": self.partition / 10}

def client_fn(context):
    return Client(context.node_config["partition-id"]).to_client()

app = ClientApp(client_fn)
"""
SERVER = """
import numpy as np
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.serverapp import ServerApp

class Saving(FedAvg):
    def aggregate_fit(self, server_round, results, failures):
        found = super().aggregate_fit(server_round, results, failures)
        if found[0] is not None:
            np.save("FILE", parameters_to_ndarrays(found[0])[0])
        return found

def tested(server_round, parameters, config):
    return (1.5, {"accuracy": server_round / 10}) if TESTED else None

def server_fn(context):
    start = ndarrays_to_parameters([np.zeros(650, dtype=np.float32)])
    strategy = Saving(initial_parameters=start, fraction_evaluate=0.5, evaluate_fn=tested)
    return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=3, round_timeout=TIMEOUT))

app = ServerApp(server_fn=server_fn)
"""


def older(folder, world=WORLD, *, tested=False, timeout=None, client=CLIENT, server=SERVER):
    """The result of an app of the older interface, and the weights of its last round."""
    file = folder / "weights.npy"
    app = write_app(folder / "app", "older_app", "    pass", client)
    text = server.replace("FILE", str(file)).replace("TESTED", str(tested)).replace("TIMEOUT", str(timeout))
    (app / "older_app" / "server.py").write_text(text)
    result = emulated(app, world)
    return result, np.load(file) if file.exists() else None


@pytest.mark.oracle
def test_round_takes_as_long_as_without_flower(tmp_path):
    result, weights = older(tmp_path)
    assert result.error is None
    ours = edgefl.run(WORLD, train=False)
    trained = result.devices[result.devices["status"] == "received"]
    for name in ("download_s", "compute_s", "tx_energy_j", "bytes_down", "pathloss_db"):
        np.testing.assert_array_equal(trained[name], ours.devices[name], err_msg=name)
    assert (trained["bytes_up"] - ours.devices["bytes_up"].to_numpy() == len("Success")).all()
    np.testing.assert_array_equal(weights, np.full(650, 3 * np.mean(np.arange(8) / 8), dtype=np.float32))
    assert result.rounds["train_loss"].tolist() == [2.0] * 3
    assert result.rounds["answered"].tolist() == [4] * 3


@pytest.mark.oracle
def test_tests_by_clients_and_by_the_server_are_recorded(tmp_path):
    clients, _ = older(tmp_path / "clients")
    answered = clients.devices[clients.devices["status"] == "answered"]
    first = answered[answered["round"] == 1]["device"]
    assert clients.rounds["test_accuracy"].iloc[0] == pytest.approx(np.average(first / 10, weights=1 + first))
    central, _ = older(tmp_path / "central", tested=True)
    assert central.error is None
    assert central.rounds["test_accuracy"].tolist() == [0.1, 0.2, 0.3]
    assert central.rounds["test_loss"].tolist() == [1.5] * 3


@pytest.mark.oracle
def test_the_test_of_a_strategys_own_method_is_recorded(tmp_path):
    own = """
    def evaluate(self, server_round, parameters):
        return 2.5, {"accuracy": server_round / 100}

def tested"""
    result, _ = older(tmp_path, server=SERVER.replace("\ndef tested", own))
    assert result.error is None
    assert result.rounds["test_accuracy"].tolist() == [0.01, 0.02, 0.03]
    assert result.rounds["test_loss"].tolist() == [2.5] * 3


@pytest.mark.oracle
def test_a_timeout_of_rounds_goes_by_virtual_time(tmp_path):
    world = {**WORLD, "radio": {"sharing": "processor", "bandwidth_hz": 3000}}
    result, weights = older(tmp_path, world, timeout=1.0)
    assert result.error is None
    assert result.rounds["duration_s"].tolist()[:2] == [2.0, 2.0]  # training and evaluation are given up in turn
    assert result.rounds["received"].iloc[0] == 0
    assert weights is None  # what comes too late is not aggregated


@pytest.mark.oracle
def test_an_older_strategy_waits_for_nodes_in_virtual_time(tmp_path):
    stays = tmp_path / "stays.csv"
    stays.write_text("device,on_s,off_s\n0,0,inf\n1,1000.5,inf\n")
    churn = {"kind": "trace", "path": str(stays)}
    result, _ = older(tmp_path, {**WORLD, "devices": {"count": 2}, "churn": churn})
    assert result.error is None
    assert result.devices["start_s"].min() == 1005  # it looks every five seconds


def test_an_older_strategy_that_would_wait_for_ever_fails_with_a_reason(tmp_path):
    result, _ = older(tmp_path, {**WORLD, "devices": {"count": 1}})
    assert result.status == "failed"
    assert "waits for more devices than the 1 that are present" in result.error


@pytest.mark.oracle
def test_a_server_of_the_app_gives_each_round_its_own_timeout(tmp_path):
    own = """
from flwr.server import Server, SimpleClientManager

class Patient(Server):
    def fit_round(self, server_round, timeout):
        return super().fit_round(server_round, timeout=float(server_round))

    def evaluate_round(self, server_round, timeout):
        return None

def server_fn(context):
"""
    server = SERVER.replace("\ndef server_fn(context):\n", own)
    made = "server=Patient(client_manager=SimpleClientManager(), strategy=strategy)"
    server = server.replace("strategy=strategy", made)
    world = {**WORLD, "radio": {"sharing": "processor", "bandwidth_hz": 1000}}
    result, _ = older(tmp_path, world, server=server)
    assert result.error is None
    assert result.rounds["duration_s"].tolist() == [1.0, 2.0, 3.0]


def test_a_client_that_cannot_give_initial_parameters_ends_the_run_with_its_line(tmp_path):
    server = SERVER.replace("initial_parameters=start, ", "")
    given = "    def get_parameters(self, config):\n        raise NotImplementedError\n\n"
    result, _ = older(tmp_path, client=CLIENT.replace("    def fit(", f"{given}    def fit("), server=server)
    assert result.status == "failed"
    where = r"device \d, which is partition-id \d; get_parameters message of round 1"
    assert re.search(rf"client.py:11: NotImplementedError \({where}\)", result.error)


@pytest.mark.oracle
def test_wrappers_for_differential_privacy_train_and_test(tmp_path):
    imported = "from flwr.server.strategy import DifferentialPrivacyServerSideFixedClipping as Private\n"
    server = imported + SERVER.replace("(strategy=strategy", "(strategy=Private(strategy, 0.1, 5.0, 8)")
    client = CLIENT.replace("self.partition / 8", "(1 + self.partition) / 8")  # Flower cannot clip an update of zeros
    result, _ = older(tmp_path, tested=True, server=server, client=client)
    assert result.error is None
    assert result.rounds["test_accuracy"].tolist() == [0.1, 0.2, 0.3]


def test_a_grid_in_several_threads_is_refused(tmp_path):
    main = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        pool.submit(grid.send_and_receive, ask([1000])).result()
"""
    result = emulated(write_app(tmp_path / "app", "threaded_app", main))
    assert result.status == "failed"
    assert result.error.startswith("the app uses its grid in several threads")
