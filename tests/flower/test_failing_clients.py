"""Clients that fail, often because they have no samples: which device it is, and what to do."""

import pytest

from tests.cases.flower_cases import CLIENT, emulated, write_app

FEDAVG = """
    from flwr.serverapp.strategy import FedAvg
    start = ask([1000])[0].content["arrays"]
    FedAvg(min_train_nodes=8, fraction_evaluate=EVALUATED).start(grid, start, num_rounds=3)
"""
# Device 3 has no samples from the second round on; each case is a way in which code meets that.
EMPTY = """
    import numpy as np
    import torch
    samples = list(range(4))
    if context.node_config["partition-id"] == 3 and message.content["config"]["server-round"] > 1:
        samples = []
    USE
"""
LINE = '    w = message.content["arrays"]["w"].numpy()\n'
USES = {
    "a mean": "sum(samples) / len(samples)",
    "a loader of torch": "torch.utils.data.DataLoader(samples, shuffle=True)",
    "the first batch": "next(iter(torch.utils.data.DataLoader(samples)))",
    "a maximum of NumPy": "np.zeros(len(samples)).max()",
    "a concatenation": "np.concatenate([np.zeros(3) for _ in samples])",
    "a maximum of Python": "max(samples)",
    "statistics": "__import__('statistics').mean(samples)",
}


@pytest.mark.oracle
@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_an_exception_names_device_round_message_and_line_with_a_remedy(tmp_path, use):
    client = CLIENT.replace(LINE, EMPTY.replace("USE", use) + LINE)
    result = emulated(write_app(tmp_path / "app", "empty_app", FEDAVG.replace("EVALUATED", "0.0"), client))
    assert result.status == "failed"
    line, _, remedy = result.error.partition(" (device 3, which is partition-id 3; train message of round 2)")
    assert line.startswith(f"{tmp_path / 'app' / 'empty_app' / 'client.py'}:16: ")
    assert remedy.startswith("; if the device has no samples, divide the app's data so that each one has some, or let")
    assert len(result.rounds) == 1


def test_a_key_that_nodes_do_not_have_gets_a_remedy(tmp_path):
    client = CLIENT.replace('context.node_config["partition-id"] / 8', 'context.node_config["dataset-path"]')
    result = emulated(write_app(tmp_path / "app", "keyed_app", FEDAVG.replace("EVALUATED", "0.0"), client))
    line, _, remedy = result.error.partition(" (device 0, which is partition-id 0; train message of round 1); ")
    assert line.endswith("client.py:11: KeyError: 'dataset-path'")
    assert remedy.startswith("a node's configuration has partition-id and num-partitions only: let the app")


def test_a_client_that_returns_something_else_names_its_device(tmp_path):
    client = CLIENT.replace('    return Message(RecordDict({"arrays"', '    return str(RecordDict({"arrays"')
    client = client.replace('"metrics": metrics}), reply_to=message)', '"metrics": metrics}))', 1)
    result = emulated(write_app(tmp_path / "app", "wrong_app", FEDAVG.replace("EVALUATED", "0.0"), client))
    assert result.error.endswith("got str (device 0, which is partition-id 0; train message of round 1)")


@pytest.mark.oracle
@pytest.mark.parametrize(("kind", "weight"), [("train", "4"), ("evaluate", "1 + partition")])
def test_replies_that_all_have_no_samples_are_named(tmp_path, kind, weight):
    client = CLIENT.replace(f'"num-examples": {weight}', '"num-examples": 0')
    result = emulated(write_app(tmp_path / "app", "weightless_app", FEDAVG.replace("EVALUATED", "1.0"), client))
    assert result.status == "failed"
    remedy = f"; all {kind} replies of the round have num-examples 0: give at least one device samples"
    assert result.error.endswith(f"division by zero{remedy}")
