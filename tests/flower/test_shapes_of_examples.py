"""Small apps of the shapes of Flower's examples: nested keys, actions, replies that nothing awaits, data loaders."""

import json

import numpy as np
import pytest

from edgefl.core.errors import InputError
from tests.cases.flower_cases import CLIENT, emulated, write_app

DEVICES = {"devices": {"count": 3}, "model": "logistic", "training": {"local_epochs": 1}, "rounds": 3}
NOTES_CONFIG = """
    import json
    with open("{folder}/config.json", "w") as file:
        json.dump(dict(context.run_config), file)
    grid.send_and_receive(ask(grid.get_node_ids()))
"""


def with_nested_keys(folder):
    """An app with the configuration of the XGBoost examples, which notes what it gets."""
    app = write_app(folder / "app", "nested_app", NOTES_CONFIG.format(folder=folder))
    with (app / "pyproject.toml").open("a") as file:
        file.write('params.eta = 0.1\nparams.tree-method = "hist"\n')
    return app


@pytest.mark.oracle
def test_nested_keys_of_the_run_configuration_are_replaced_by_their_dotted_names(tmp_path):
    emulated(with_nested_keys(tmp_path), run_config='params.eta=0.3 params.tree-method="exact"')
    config = json.loads((tmp_path / "config.json").read_text())
    assert config == {"num-server-rounds": 3, "lr": 0.5, "params.eta": 0.3, "params.tree-method": "exact"}


def test_an_unknown_nested_key_is_refused_by_its_name(tmp_path):
    with pytest.raises(InputError, match=r"params\.etas"):
        emulated(with_nested_keys(tmp_path), run_config="params.etas=0.3")


# As in vertical learning: each client is asked for something, then sent a gradient whose answer nothing awaits.
ACTIONS = CLIENT.replace("@app.train()", '@app.train("apply_gradients")').replace("@app.query()", '@app.query("embed")')
TWO_STEPS = """
    for step in range(2):
        grid.send_and_receive(ask(grid.get_node_ids(), "query.embed"))
        grid.push_messages(ask(grid.get_node_ids(), "train.apply_gradients"))
"""


@pytest.mark.oracle
def test_actions_count_as_messages_of_their_kind_and_those_under_way_at_the_end_stay_unfinished(tmp_path):
    app = write_app(tmp_path / "app", "vertical_app", TWO_STEPS, client=ACTIONS)
    result = emulated(app, {**DEVICES, "radio": {"sharing": "processor"}})
    assert result.status == "finished"
    assert result.rounds["selected"].sum() == 2 * 3  # each step's train messages
    assert result.rounds["answered"].sum() == 2 * 3  # each step's query messages
    # A node answers one message after the other: before it answers the second query it has trained.
    assert result.rounds["received"].sum() == 3
    assert result.summary["drops"]["unfinished"] == 3


# Secure aggregation of clipped updates, as in Flower's example for both: client k moves the model by k / 8.
CLIPPED = """
from flwr.client import NumPyClient
from flwr.client.mod import fixedclipping_mod, secaggplus_mod
from flwr.clientapp import ClientApp

class Mover(NumPyClient):
    def __init__(self, partition):
        self.partition = partition

    def fit(self, parameters, config):
        return [array + (self.partition + 1) / 8 for array in parameters], 4, {}

def client_fn(context):
    return Mover(context.node_config["partition-id"]).to_client()

app = ClientApp(client_fn=client_fn, mods=[secaggplus_mod, fixedclipping_mod])
"""
SECURE = """
    from flwr.common import ndarrays_to_parameters
    from flwr.server import LegacyContext, ServerConfig
    from flwr.server.strategy import DifferentialPrivacyClientSideFixedClipping, FedAvg
    from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
    from flwr.server.workflow.constant import MAIN_PARAMS_RECORD
    start = ndarrays_to_parameters([np.zeros((2, 2))])
    mean = FedAvg(fraction_evaluate=0.0, min_fit_clients=5, min_available_clients=5, initial_parameters=start)
    private = DifferentialPrivacyClientSideFixedClipping(mean, 0.0, {norm}, 5)  # without noise
    legacy = LegacyContext(context=context, config=ServerConfig(num_rounds=1), strategy=private)
    steps = SecAggPlusWorkflow(num_shares=5, reconstruction_threshold=3, clipping_range=2.0)
    DefaultWorkflow(fit_workflow=steps)(grid, legacy)
    np.save("{folder}/w.npy", legacy.state[MAIN_PARAMS_RECORD].to_numpy_ndarrays()[0])
"""


@pytest.mark.oracle
@pytest.mark.parametrize(("norm", "mean"), [(100.0, (1 + 2 + 3 + 4 + 5) / 8 / 5), (0.5, (1 + 2 + 2 + 2 + 2) / 8 / 5)])
def test_clipped_updates_are_aggregated_securely(tmp_path, norm, mean):
    main = SECURE.format(norm=norm, folder=tmp_path)
    app = write_app(tmp_path / "app", "private_app", main, client=CLIPPED)
    result = emulated(app, {**DEVICES, "devices": {"count": 5}}, operations="app")
    assert result.status == "finished", result.error
    # A move of k / 8 in each of 2 x 2 weights has the norm k / 4: a norm of 0.5 leaves 2 / 8 of the larger ones.
    assert np.load(tmp_path / "w.npy") == pytest.approx(np.full((2, 2), mean), abs=1e-3)
    assert result.rounds["received"].tolist() == [4 * 5]  # four steps of the protocol
