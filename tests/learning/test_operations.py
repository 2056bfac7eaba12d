"""The operations of an algorithm's correction, counted on NumPy arrays or on torch tensors."""

import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
import torch
from algorithm_cases import SHIPPED, digits, shipped

import edgefl
from edgefl.learning.algorithms import LocalContext
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.trial import uses_torch
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.models.fcn import Mlp
from edgefl.learning.operations import counted_by_numpy, counted_by_torch
from edgefl.learning.payload import measure
from edgefl.learning.torch_operations import OperationCounter
from edgefl.learning.training_section import Training

D = 4_810  # parameters of the model mlp on digits


class Clipped(FedAvg):
    """An algorithm from outside the package, with functions of torch that NumPy arrays do not have."""

    def server_state(self, w):
        return {"w": w, "moves": torch.zeros_like(w)}

    def downlink(self, server):
        return {"moves": torch.clamp(server["moves"], -1.0, 1.0)}

    def correct(self, gradient, w, local):
        pull = torch.clamp(w - local.start, -0.01, 0.01)  # 2 d
        norm = torch.linalg.norm(gradient, dim=-1, keepdim=True)  # 2 d
        gradient = torch.where(norm > 10.0, gradient / norm, gradient)  # 2 d
        return gradient + 0.1 * torch.sign(pull).clamp(max=1.0) + local.received["moves"]  # 5 d

    def remember(self, w, local):
        return {}

    def finish(self, w, local):
        return {"delta": torch.sign(w - local.start) * (w - local.start).abs().sqrt().square()}

    def aggregate(self, server, updates):
        move = self.mean_delta(updates)
        norm = torch.linalg.norm(move)
        move = torch.where(norm > 5.0, 5.0 * move / norm, move).clamp(-1.0, 1.0)
        return {**server, "w": server["w"] + move, "moves": torch.sign(move) * 1e-6}


@pytest.mark.parametrize("case", SHIPPED, ids=str)
@pytest.mark.parametrize("d", [1, 2, 100])
def test_both_ways_to_count_agree_on_every_shipped_algorithm(case, d):
    algorithm = shipped(case)
    assert not uses_torch(algorithm)
    more = counted_by_torch(algorithm, d) - counted_by_torch(algorithm, 1)  # operations on scalars left out
    assert more == counted_by_numpy(algorithm, d) - counted_by_numpy(algorithm, 1)


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (lambda x: x.clamp(-1, 1), 1),
        (lambda x: torch.clamp(x, max=1.0), 1),
        (lambda x: x.clone().clamp_(0, 1), 1),
        (torch.sign, 1),
        (torch.abs, 1),
        (lambda x: torch.where(x > 0, x, -x), 3),  # comparison, sign, choice
        (torch.linalg.norm, 2),
        (lambda x: x.norm(dim=-1, keepdim=True), 2),
        (lambda x: x.sum(), 1),
        (lambda x: x @ x, 2),
        (lambda x: torch.add(x, x, alpha=2), 2),
        (lambda x: x.addcmul(x, x), 2),
        (lambda x: x.sort().values, 1),
        (lambda x: torch.outer(x[:10], x[:3]).new_zeros(3), 0.03),
        (lambda x: torch.cat([x.reshape(-1, 2).T[0], x[::2]]).detach().clone(), 0),
        (lambda x: torch.ones_like(x).expand(3, -1), 0),
        (deepcopy, 0),
        (lambda x: torch.tensor([]).set_(x.untyped_storage(), 0, x.shape), 0),  # as data of another process arrive
    ],
)
def test_operations_an_element(function, operations):
    x = torch.linspace(-1, 1, 1000)
    with OperationCounter() as counter:
        function(x)
    assert counter.operations == 1000 * operations


def test_products_of_matrices_count_as_torch_counts_them():
    with OperationCounter() as counter:
        torch.ones(3, 4) @ torch.ones(4, 5)
    assert counter.operations == 2 * 3 * 4 * 5


def test_an_algorithm_from_outside_may_call_any_function_of_torch():
    section = Training.model_validate({"batch_size": "full", "local_epochs": None, "local_steps": 1})
    data = Digits().load()
    sizes = np.array([10])
    plain = measure(Mlp(), FedAvg(), section, data, sizes)
    clipped = measure(Mlp(), Clipped(), section, data, sizes)
    assert clipped.flops - plain.flops == pytest.approx(11 * D)
    assert clipped.down_bits == 2 * plain.down_bits
    assert clipped.up_bits == plain.up_bits


@pytest.mark.oracle
def test_a_run_of_such_an_algorithm():
    result = edgefl.run(digits(Clipped()), train=False)
    assert result.status == "finished"
    assert (result.rounds["bytes_down"] == 5 * 2 * 4 * D).all()


@pytest.mark.oracle
def test_the_batched_engine_runs_it_too():
    serial = edgefl.run(digits(Clipped(), engine="serial")).parameters
    batched = edgefl.run(digits(Clipped(), engine="batched")).parameters
    apart = np.abs(batched - serial)
    assert (apart > 1e-5).mean() < 1e-3  # rounding decides the sign of a pull that is all but 0
    # Such a sign moves one of five clients by 0.1 * 0.1 * 2, and their mean by a fifth of that.
    assert apart.max() < 0.01


class Weighted(FedAvg):
    """Calls methods of what is a tensor in the engine."""

    def correct(self, gradient, w, local):
        return gradient + 0.0 * (local.weight.sqrt() * w + local.steps.log() + local.index.clamp(max=1))


@pytest.mark.oracle
def test_scalars_are_tensors_as_in_the_engine():
    assert isinstance(LocalContext(torch.zeros(1), 0.1).weight, float)
    assert counted_by_torch(Weighted(), 5) - counted_by_torch(Weighted(), 4) == 5
    assert edgefl.run(digits(Weighted())).status == "finished"


WITHOUT_TORCH = """
import sys
import edgefl
from edgefl.learning.algorithms import ALGORITHMS

for name in ALGORITHMS.members:
    scenario = {"rounds": 1, "algorithm": name, "devices": {"count": 5}, "server": {"participants": 3}}
    edgefl.run({**scenario, "radio": {"transfer": "fast"}}, train=False)
    assert "torch" not in sys.modules, name
"""


@pytest.mark.process
def test_worlds_without_learning_price_every_shipped_algorithm_without_torch():
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
