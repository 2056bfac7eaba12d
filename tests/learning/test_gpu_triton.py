"""Our kernels on a GPU: their error in each precision, the same bytes twice, and runs that choose them."""

import json

import numpy as np
import pytest
import torch
from triton_cases import NETWORKS, Case

import edgefl
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.learner.workers.gpu import FlagsForGpus

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
]
# Of the gradient of a whole network, relative to its length; docs/benchmarks.md has what was measured.
ROUNDING = {"float32": 1e-5, "tf32": 2e-2, "bfloat16": 1e-1}


def on_card(case):
    """The same case in the card's memory."""
    case.network.module.to("cuda:0")
    for name in ("w", "statistics", "x", "y", "weight", "keys"):
        setattr(case, name, getattr(case, name).to("cuda:0"))
    return case


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_networks(name, precision):
    from edgefl.learning.learner.kernels.triton_gradient import TritonGradient

    right = Case(name).in_double()
    case = on_card(Case(name))
    flags = FlagsForGpus()
    flags.hold(case, exact=precision != "tf32")
    try:
        kernel = TritonGradient(case.network, case.model, FedAvg(), precision)
        found = case.gradients(kernel)
        again = case.gradients(kernel)
    finally:
        flags.release()
    for one, other, exact in zip(found, again, right, strict=True):
        assert torch.equal(one, other)
        difference = (one.cpu().double() - exact).norm()
        assert difference <= ROUNDING[precision] * max(1.0, float(exact.norm()))


def run(tmp_path, name, **training):
    scenario = {
        "rounds": 3,
        "data": {"dataset": "digits"},
        "devices": {"count": 10},
        "model": name,
        "training": {"local_epochs": 2, "batch_size": 10, "lr": 0.02, **training},
    }
    folder = tmp_path / "_".join([name, *map(str, training.values())])
    result = edgefl.run(scenario, device="cuda", out=folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    return result.parameters, manifest["learner"]["kernel"]


@pytest.mark.parametrize("graphs", ["off", "auto"])
@pytest.mark.parametrize("name", ["cnn_mnist", "svhn_cnn", "resnet18"])
def test_runs_choose_them_and_have_the_same_bytes_twice(name, graphs, tmp_path):
    first, kernel = run(tmp_path / "first", name, graphs=graphs)
    second, _ = run(tmp_path / "second", name, graphs=graphs)
    assert kernel == "triton"
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", ["cnn_mnist", "svhn_cnn"])
def test_runs_are_those_of_one_client_after_another(name, tmp_path):
    found, _ = run(tmp_path, name)
    expected, kernel = run(tmp_path, name, engine="serial")
    assert kernel == "autograd"
    assert np.linalg.norm(found - expected) <= 0.01 * np.linalg.norm(expected)
