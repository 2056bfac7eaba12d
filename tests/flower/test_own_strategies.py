"""Apps with strategies, mods, workflows and loops of their own, in both interfaces of Flower."""

import pytest

from tests.cases.flower_cases import CLIENT, FEDAVG, emulated, write_app

pytestmark = pytest.mark.oracle

WORLD = {"devices": {"count": 8}, "model": "logistic", "training": {"local_epochs": 1}, "rounds": 3}
PROCESSOR = {**WORLD, "radio": {"sharing": "processor"}}
BITS = 650 * 32  # of the model in single precision

IMPORTS = """
import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import Strategy
app = ServerApp()
START = ArrayRecord({"w": Array(np.zeros(650, dtype=np.float32))})
"""
# One client after another; the second round's update is thrown away.
ROUND_ROBIN = (
    IMPORTS
    + """
class RoundRobin(Strategy):
    def summary(self):
        pass

    def configure_train(self, server_round, arrays, config, grid):
        nodes = sorted(grid.get_node_ids())
        content = RecordDict({"arrays": arrays, "config": config})
        return [Message(content, nodes[(server_round - 1) % len(nodes)], "train")]

    def aggregate_train(self, server_round, replies):
        if server_round == 2:
            return None, None
        (reply,) = replies
        return reply.content["arrays"], MetricRecord()

    def configure_evaluate(self, server_round, arrays, config, grid):
        return []

    def aggregate_evaluate(self, server_round, replies):
        return None

def tested(server_round, arrays):
    if server_round == 3:
        return None
    return MetricRecord({"accuracy": float(arrays["w"].numpy()[0])})

@app.main()
def main(grid, context):
    RoundRobin().start(grid, START, num_rounds=4, evaluate_fn=tested)
"""
)


def written(folder, name, server="", client=CLIENT, main="    pass\n"):
    app = write_app(folder / name, name, main, client=client)
    if server:
        (app / name / "server.py").write_text(server)
    return app


def test_strategy_from_the_abstract_base_asks_one_client_after_another(tmp_path):
    result = emulated(written(tmp_path, "robin_app", ROUND_ROBIN), WORLD)
    assert result.status == "finished"
    assert result.devices[["round", "device"]].to_numpy().tolist() == [[1, 0], [2, 1], [3, 2], [4, 3]]
    # Client k adds k / 8; round 2 changes nothing, and round 3 is not tested.
    tested = result.rounds["test_accuracy"]
    assert tested[[0, 1, 3]].tolist() == [0.0, 0.0, (2 + 3) / 8]
    assert tested.isna().tolist() == [False, False, True, False]


QUANTISED = CLIENT.replace(
    "app = ClientApp()",
    """
def shorter(message, context, call_next):
    reply = call_next(message, context)
    w = reply.content["arrays"]["w"].numpy()
    reply.content["arrays"] = ArrayRecord({"w": Array((w * 8).astype(np.uint8))})
    return reply

app = ClientApp()
""",
).replace("@app.train()", "@app.train(mods=[shorter])")


def test_mod_of_one_function_that_quantises_is_priced_by_the_bits_that_it_leaves(tmp_path):
    app = written(tmp_path, "short_app", client=QUANTISED, main="    grid.send_and_receive(ask(grid.get_node_ids()))\n")
    devices = emulated(app, WORLD).devices
    assert set(devices["bytes_down"]) == {BITS / 8}
    assert set(devices["bytes_up"]) == {BITS / 32}


EARLY = FEDAVG.replace("FedAvg(", "Early(").replace(
    "    start =",
    """
    class Early(FedAvg):
        def configure_train(self, server_round, *rest):
            return [] if server_round > 2 else super().configure_train(server_round, *rest)

        def configure_evaluate(self, server_round, *rest):
            return [] if server_round > 2 else super().configure_evaluate(server_round, *rest)
    start =""",
)


def test_strategy_that_asks_for_nothing_any_more_ends_the_rounds(tmp_path):
    result = emulated(written(tmp_path, "early_app", main=EARLY.replace("{folder}", str(tmp_path))), WORLD)
    assert result.status == "finished"
    assert len(result.rounds) == 2


ASYNCHRONOUS = """
    import time
    under_way = {}
    def send(node):
        (number,) = grid.push_messages(ask([node]))
        under_way[number] = node
    for node in sorted(grid.get_node_ids())[:4]:
        send(node)
    version = 0
    while version < 10:
        for reply in grid.pull_messages(list(under_way)):
            node = under_way.pop(reply.metadata.reply_to_message_id)
            assert not reply.has_error()
            version += 1
            send(node)
        time.sleep(0.01)
"""


@pytest.mark.parametrize("world", [WORLD, PROCESSOR], ids=["fixed", "processor"])
def test_loop_of_pushes_and_pulls_keeps_clients_under_way(world, tmp_path):
    result = emulated(written(tmp_path, "async_app", main=ASYNCHRONOUS), world)
    if world is WORLD:
        assert result.status == "failed"
        assert result.manifest["error"].endswith("set radio.sharing: processor")
        return
    assert result.status == "finished"
    assert result.rounds["received"].sum() >= 10
    assert set(result.devices["device"]) == {0, 1, 2, 3}


# The client counts its rounds in its own state, as it would keep layers of batch normalisation.
LOCAL = CLIENT.replace(
    "    own = ",
    """
    known = context.state.array_records.get("local")
    count = 0.0 if known is None else float(known["count"].numpy()[0])
    context.state["local"] = ArrayRecord({"count": Array(np.array([count + 1], dtype=np.float32))})
    own = """,
).replace('"train_loss": float(own[0])', '"train_loss": count')


def test_layers_in_the_state_of_a_client_stay_there(tmp_path):
    main = FEDAVG.replace("fraction_train=0.5", "fraction_train=1.0").replace("{folder}", str(tmp_path))
    result = emulated(written(tmp_path, "local_app", client=LOCAL, main=main), WORLD)
    assert result.rounds["train_loss"].tolist() == [0, 1, 2]
    assert set(result.devices.loc[result.devices["status"] == "received", "bytes_up"]) == {BITS / 8}
