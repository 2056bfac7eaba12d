"""The trained model comes out of a run: with it, the reported accuracy is found again, to the last sample."""

import json
import subprocess
import sys

import numpy as np
import pytest
from kills import Killed, kill_at
from run_cases import SWEEP_BASE

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.models.base import Init
from edgefl.learning.record import Pace
from edgefl.learning.trained_model import TrainedModel
from edgefl.results.result import read_result
from edgefl.runs.data_division import divide
from edgefl.runs.emulation import Options, run
from edgefl.scenario import load

pytestmark = pytest.mark.oracle

SMALL = {
    "rounds": 3,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
    "training": {"local_steps": 3, "batch_size": 8, "lr": 0.1, "engine": "serial"},
    "devices": {"count": 8},
    "server": {"participants": 4},
}
NORMED = {**SMALL, "model": "own_networks:Normed"}
COUNTING = {**SMALL, "model": "own_networks:CountingNormed"}
LOCAL = {**NORMED, "training": {**SMALL["training"], "batch_norm": "local"}}
CELLS = {
    "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100},
    "radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}},
}
CASES = {
    "by hand": {**SMALL, "model": {"kind": "mlp", "hidden": [8]}},
    "batch normalisation that counts": COUNTING,
    "statistics of each device": LOCAL,
    "group normalisation": {**SMALL, "model": "own_networks:Grouped"},
    "shared weights": {**SMALL, "model": "own_networks:Tied"},
    "a walk": {**NORMED, "server": {"participants": 3, "policy": "sequential"}},
    "edge servers": {**NORMED, **CELLS, "server": {"participants": 6, "policy": {"kind": "hierarchical"}}},
    "sessions": {
        **NORMED,
        "rounds": None,
        "sessions": {"count": 2, "rounds": 2, "initialisation": {"kind": "proposed"}},
    },
    "a cut": {**SMALL, "model": {"kind": "mlp", "hidden": [8, 8]}, "server": {"policy": {"kind": "split", "cut": 1}}},
    "without rounds, tested seldom": {
        **NORMED,
        "server": {"participants": 4, "policy": "asynchronous"},
        "report": {"eval_every": 2},
    },
}


def accuracy(result):
    """The accuracy of a result's module on the test set, by plain PyTorch."""
    import torch

    trained = result.saved_model()
    data = load(result.scenario).data.dataset.load()
    module = result.model()
    x = (data.test_x - np.array(trained.mean)) / np.array(trained.std)
    if not np.issubdtype(data.test_x.dtype, np.signedinteger):
        x = x.astype(np.float32)
    else:
        x = data.test_x
    with torch.no_grad():
        outputs = module(torch.from_numpy(x))
    assert not module.training
    return float((outputs.argmax(-1).numpy() == data.test_y).mean())


@pytest.mark.parametrize("name", CASES)
def test_saved_model_has_the_reported_accuracy(name, tmp_path):
    result = edgefl.run(CASES[name], out=tmp_path, device="cpu")
    assert accuracy(result) == result.summary["final_accuracy"]
    read = read_result(tmp_path)
    assert accuracy(read) == result.summary["final_accuracy"]
    assert np.array_equal(read.parameters, result.parameters)
    assert np.array_equal(read.saved_model().flat(), result.parameters)


def test_batch_normalisation_counts():
    """Or the tests above would pass with any statistics."""
    result = edgefl.run(NORMED, device="cpu")
    wrong = TrainedModel(**{**vars(result.trained), "tensors": {**result.trained.tensors}})
    wrong.tensors["norm.running_mean"] = np.zeros(3, dtype=np.float32)
    wrong.tensors["norm.running_var"] = np.ones(3, dtype=np.float32)
    assert accuracy(edgefl.Result(result.scenario, {}, wrong, "finished", None)) != result.summary["final_accuracy"]


def test_token_ids(tmp_path):
    x = np.random.default_rng(1).integers(1, 50, (60, 6))
    y = (x[:, 0] > 25).astype(np.int64)
    np.savez(tmp_path / "text.npz", train_x=x, train_y=y, test_x=x, test_y=y)
    keys = {**SMALL, "data": {"dataset": "npz", "path": str(tmp_path / "text.npz")}}
    result = edgefl.run({**keys, "model": {"kind": "fasttext", "vocabulary": 50, "dimension": 4}}, device="cpu")
    assert accuracy(result) == result.summary["final_accuracy"]


def test_regression(tmp_path):
    import torch

    rng = np.random.default_rng(1)
    x = rng.normal(3, 2, (80, 5)).astype(np.float32)
    y = (x @ rng.normal(size=(5, 2))).astype(np.float32)
    np.savez(tmp_path / "lines.npz", train_x=x, train_y=y, test_x=x, test_y=y)
    keys = {**SMALL, "data": {"dataset": "npz", "path": str(tmp_path / "lines.npz")}}
    keys["training"] = {**SMALL["training"], "lr": 0.01, "loss": "mse"}
    result = edgefl.run({**keys, "model": {"kind": "mlp", "hidden": [4]}}, out=tmp_path / "out", device="cpu")
    read = read_result(tmp_path / "out")
    prepared = torch.from_numpy(read.saved_model().prepared(x))
    with torch.no_grad():
        loss = ((read.model()(prepared) - torch.from_numpy(y)) ** 2).mean()
    assert loss.item() == pytest.approx(result.rounds["test_loss"].iloc[-1], rel=1e-5)


def test_double_precision_stays(tmp_path):
    import torch

    keys = {"rounds": 3, "data": {"dataset": "quadratic", "coefficients": [[0.5, 1, 0], [1, -1, 2]]}}
    result = edgefl.run({**keys, "training": {"local_steps": 1, "lr": 0.1}}, out=tmp_path, device="cpu")
    found = read_result(tmp_path).model()
    assert found.x.dtype == torch.float64
    reported = (
        edgefl.run({**keys, "training": {"local_steps": 1, "lr": 0.1}}, device="cpu").rounds["parameter"].iloc[-1]
    )
    assert found.x.item() == reported
    assert result.parameters == np.float32(reported)


def test_file_loads_into_a_plain_module(tmp_path):
    """Names, shapes and order are those of PyTorch's own state dict."""
    from own_networks import Normed, Tied
    from safetensors.torch import load_file

    edgefl.run(NORMED, out=tmp_path / "normed", device="cpu")
    module = Normed(classes=10)
    module.load_state_dict(load_file(tmp_path / "normed" / "model.safetensors"))
    saved = read_result(tmp_path / "normed").saved_model()
    assert list(saved.tensors) == list(module.state_dict())
    assert saved.parameters == tuple(name for name, _ in module.named_parameters())
    edgefl.run({**SMALL, "model": "own_networks:Tied"}, out=tmp_path / "tied", device="cpu")
    tensors = load_file(tmp_path / "tied" / "model.safetensors")
    assert list(tensors.keys() ^ Tied(classes=10).state_dict().keys()) == ["_extra_state"]
    assert tensors["first.weight"].equal(tensors["second.weight"])


def test_metadata_describe_the_model(tmp_path):
    from safetensors import safe_open

    edgefl.run({**NORMED, "name": "mine"}, out=tmp_path, device="cpu")
    with safe_open(tmp_path / "model.safetensors", "numpy") as file:
        found = json.loads(file.metadata()["edgefl"])
    assert found["scenario"] == "mine"
    assert found["model"] == "own_networks:Normed"
    assert (found["sample_shape"], found["classes"]) == ([8, 8], 10)
    assert "model.safetensors" in json.loads((tmp_path / "manifest.json").read_text())["digests"]


@pytest.mark.process
def test_equal_models_give_equal_bytes_in_every_process():
    """The library writes several entries of metadata in an order of the process."""
    program = """
import numpy as np, sys
from edgefl.learning.trained_model import TrainedModel
tensors = {name: np.ones(3, dtype=np.float32) for name in "bca"}
content = TrainedModel(tensors, ("b", "c"), (8, 8), 10).to_bytes(version="1", scenario="x", model="mlp")
assert "torch" not in sys.modules
print(content)
"""
    command = [sys.executable, "-c", program]
    contents = {subprocess.run(command, check=True, capture_output=True).stdout for _ in range(3)}
    assert len(contents) == 1


@pytest.mark.parametrize("keys", [LOCAL, COUNTING], ids=["local", "counting"])
def test_a_resumed_run_has_the_same_statistics(keys, tmp_path):
    whole = edgefl.run(keys, out=tmp_path / "whole", device="cpu")
    with pytest.raises(Killed):
        edgefl.run(keys, out=tmp_path / "cut", device="cpu", pace=Pace(rounds=1), progress=kill_at(2))
    resumed = edgefl.run(keys, out=tmp_path / "cut", device="cpu", resume=True)
    assert accuracy(resumed) == whole.summary["final_accuracy"]
    files = [tmp_path / name / "model.safetensors" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    again = edgefl.run(keys, out=tmp_path / "cut", device="cpu", resume=True)  # it had finished: read from its files
    assert accuracy(again) == whole.summary["final_accuracy"]


def test_a_run_that_learns_nothing_itself_has_the_model_of_the_record(tmp_path):
    """The second point of a bandwidth sweep is answered from the record of the first, without any learner."""
    folders = [tmp_path / "first", tmp_path / "second"]
    first = run(load(NORMED), Options(folders[0], "cpu", share=True))
    second = run(load(NORMED, ["radio.bandwidth_hz=5e6"]), Options(folders[1], "cpu", shared=(folders[0],)))
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in folders]
    # Both name the plan; only a run that trains has workers.
    assert ["workers" in manifest["learner"] for manifest in manifests] == [True, False]
    assert first.summary["time_s"] != second.summary["time_s"]
    assert accuracy(second) == accuracy(first) == second.summary["final_accuracy"]
    assert len({(folder / "model.safetensors").read_bytes() for folder in folders}) == 1


def test_a_run_begins_with_the_model_of_another(tmp_path):
    first = edgefl.run(CASES["by hand"], out=tmp_path / "out", device="cpu")
    file = first.folder / "model.safetensors"
    init = Init.model_validate({"kind": "file", "path": str(file)})
    assert np.array_equal(init.vector(len(first.parameters)).astype(np.float32), first.parameters)
    file.write_bytes(b"x")
    with pytest.raises(InputError, match=r"cannot be read as a \.npy array or the model of a run"):
        init.vector(len(first.parameters))


@pytest.mark.parametrize("name", ["by hand", "batch normalisation that counts"])
def test_a_run_begins_with_a_state_dict(name, tmp_path):
    """Batch normalisation's statistics are not parameters: they are left out, as with the model of a run."""
    import torch

    first = edgefl.run(CASES[name], device="cpu")
    torch.save(first.model().state_dict(), tmp_path / "weights.pt")
    init = Init.model_validate({"kind": "file", "path": str(tmp_path / "weights.pt")})
    assert np.array_equal(init.vector(len(first.parameters)).astype(np.float32), first.parameters)


def test_file_without_a_state_dict_is_refused(tmp_path):
    import torch

    contents = {
        "module": (torch.nn.Linear(2, 2), "is not the state_dict of a torch module"),
        "checkpoint": ({"model": torch.nn.Linear(2, 2).state_dict(), "epoch": 3}, "holds more than the state_dict"),
        "other": (torch.nn.Linear(2, 2).state_dict(), r"holds float32 \[6\], the model needs finite floats \[9\]"),
    }
    for name, (content, message) in contents.items():
        path = tmp_path / f"{name}.pth"
        torch.save(content, path)
        with pytest.raises(InputError, match=rf"model\.init\.path: .*{message}"):
            Init.model_validate({"kind": "file", "path": str(path)}).vector(9)


def test_run_without_learning_has_no_model(tmp_path):
    result = edgefl.run(SMALL, train=False, out=tmp_path)
    assert not (tmp_path / "model.safetensors").exists()
    for each in (result, read_result(tmp_path)):
        assert each.parameters is None
        with pytest.raises(InputError, match="has no model, as nothing was learned"):
            each.model()


def test_damaged_model_file_is_refused(tmp_path):
    edgefl.run(CASES["by hand"], out=tmp_path, device="cpu")
    file = tmp_path / "model.safetensors"
    content = file.read_bytes()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"digests": {}}))
    damaged = [content[:-1], content[:40], b"", content.replace(b'"classes', b'"classez'), b"\xff" * 100]
    for bad in damaged:
        file.write_bytes(bad)
        with pytest.raises(InputError, match=r"model.safetensors: cannot be read: no model of an edgefl run"):
            read_result(tmp_path).model()


def test_changed_code_of_a_network_is_refused(tmp_path, monkeypatch):
    import own_networks
    from torch import nn

    def narrower(self, classes):
        nn.Module.__init__(self)
        self.first = nn.Linear(64, classes)

    def broken(self, classes):
        raise ZeroDivisionError

    edgefl.run(NORMED, out=tmp_path, device="cpu")
    monkeypatch.setattr(own_networks.Normed, "__init__", narrower)
    with pytest.raises(InputError, match=r"first.bias is of shape \[3\] in the results, of shape \[10\] in the module"):
        read_result(tmp_path).model()
    monkeypatch.setattr(own_networks.Normed, "__init__", broken)
    with pytest.raises(InputError, match="model: its module cannot be made any more: ZeroDivisionError"):
        read_result(tmp_path).model()


def test_torchs_generator_is_left_alone():
    import torch

    result = edgefl.run(NORMED, device="cpu")
    before = torch.get_rng_state()
    result.model()
    assert torch.get_rng_state().equal(before)


def test_the_shipped_normalised_networks_are_evaluated_as_their_module_is():
    """The statistics of every shipped model lie where the module has them."""
    import torch

    from edgefl.learning.learner.networks.network import Network
    from edgefl.learning.models import MODELS

    module = MODELS.load("resnet18_feat")().module((3, 32, 32), 10)
    network = Network(module)
    flat = torch.cat([value.detach().flatten() for value in module.parameters()])
    state = network.state(flat, network.initial_statistics)
    expected = module.state_dict()
    assert list(state) == list(expected)
    assert all(torch.equal(state[name], expected[name]) for name in state)


def test_statistics_are_those_of_the_last_round(tmp_path):
    """By hand: after one step on a full batch, with momentum 1/2, they are halfway to the batch's."""
    import torch
    from own_networks import Normed

    keys = {**NORMED, "rounds": 1, "training": {"local_steps": 1, "batch_size": "full", "lr": 0.0, "engine": "serial"}}
    keys |= {"devices": {"count": 2}, "server": {"participants": 2}}
    result = edgefl.run(keys, device="cpu")
    data = load(result.scenario).data.dataset.load()
    divided = divide(load(result.scenario))
    module: Normed = result.model()
    sizes = np.array([len(part) for part in divided.parts])
    expected = torch.zeros(3)
    for part, size in zip(divided.parts, sizes, strict=True):
        x = torch.from_numpy(((data.train_x[part] - data.mean) / data.std).astype(np.float32))
        with torch.no_grad():
            mean = module.first(x[:, None]).mean((0, 2, 3))
        expected += 0.5 * mean * float(size / sizes.sum())
    assert module.norm.running_mean == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_base_of_sweeps_has_a_model_too(tmp_path):
    result = edgefl.run(SWEEP_BASE, out=tmp_path, device="cpu")
    assert set(result.model().state_dict()) == set(read_result(tmp_path).saved_model().tensors)
