"""Flower's own example apps run in an emulated world, unmodified, as docs/flower-apps.md says."""

import os
from pathlib import Path

import pytest

from tests.cases.flower_cases import write_app
from tests.cases.flower_examples import Known, Outcome, apps_below, known, tried

VARIABLE = "EDGEFL_FLOWER_EXAMPLES"
ADVICE = "git clone --depth 1 https://github.com/adap/flower, and name flower/examples"
RUNNING = sorted(name for name, about in known().items() if about.outcome == "runs")


@pytest.fixture(scope="module")
def examples():
    """The folders of the apps by their names."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        pytest.skip(f"{VARIABLE} names no folder: {ADVICE}")
    if not Path(folder).is_dir():
        pytest.fail(f"{VARIABLE}={folder}: there is no such folder")
    return apps_below(folder)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("name", RUNNING)
def test_an_example_runs_unmodified(examples, name):
    if name not in examples:
        pytest.skip(f"the folder has no app {name}")
    outcome = tried(examples[name], known()[name])
    if outcome.text.startswith("needs "):
        pytest.skip(outcome.text)
    assert outcome.text == "runs"


CLIENT = """
import torch
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr_datasets import FederatedDataset
from flwr_datasets.partitioner import DirichletPartitioner
from torch.utils.data import DataLoader
from torchvision.transforms import ToTensor

app = ClientApp()

def as_tensors(batch):
    return {"x": [ToTensor()(picture) for picture in batch["image"]], "y": batch["label"]}

@app.train()
def train(message, context):
    count = context.node_config["num-partitions"]
    partitioner = DirichletPartitioner(num_partitions=count, partition_by="label", alpha=1.0)
    data = FederatedDataset(dataset="ylecun/mnist", partitioners={"train": partitioner})
    rows = data.load_partition(context.node_config["partition-id"]).train_test_split(test_size=0.2, seed=1)["train"]
    w = message.content["arrays"].to_torch_state_dict()["w"].requires_grad_()
    for batch in DataLoader(rows.with_transform(as_tensors), batch_size=16, shuffle=True):
        torch.nn.functional.cross_entropy(batch["x"].flatten(1) @ w, batch["y"]).backward()
    metrics = MetricRecord({"num-examples": len(rows)})
    arrays = ArrayRecord({"w": (w - 0.01 * w.grad).detach()})
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)
"""
MAIN = """
    import torch
    from flwr.serverapp.strategy import FedAvg
    FedAvg(fraction_evaluate=0.0).start(grid, ArrayRecord({"w": torch.zeros(784, 10)}), num_rounds=1)
"""


@pytest.mark.process
def test_an_app_of_the_shape_of_an_example_runs_with_made_up_data(tmp_path):
    write_app(tmp_path / "own", "pictures_app", MAIN, client=CLIENT)
    [folder] = apps_below(tmp_path).values()
    assert tried(folder, Known("own", devices=3)) == Outcome("runs")


@pytest.mark.process
def test_a_library_that_an_app_needs_is_named(tmp_path):
    client = CLIENT.replace("import torch", "import no_such_library.deep as library", 1)
    folder = write_app(tmp_path / "own", "needy_app", MAIN, client=client)
    assert tried(folder, Known("own")) == Outcome("needs no_such_library")


@pytest.mark.process
def test_an_app_that_fails_is_known_by_its_own_line(tmp_path):
    folder = write_app(tmp_path / "own", "faulty_app", MAIN, client=CLIENT.replace('"ylecun/mnist"', '"no/data"'))
    outcome = tried(folder, Known("own", devices=3))
    assert outcome.text.startswith("edgefl: failed: faulty_app/client.py:")
    assert "no/data: there is no stand-in for this dataset" in outcome.text
