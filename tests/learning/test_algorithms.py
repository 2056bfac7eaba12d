"""Algorithms: limits, and what every member of the catalogue must do."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from algorithm_cases import FULL, SHIPPED, D, N, Simulation, digits, shipped

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import ALGORITHMS, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.steps import initial_state, upload

# As large a tau that their steps shrink with what is left to go; by themselves they have a length of their own.
SHRINKING = {kind: {"server_lr": 1.0, "tau": 1.0} for kind in ("fedadagrad", "fedadam", "fedyogi")}
GRADUAL = ("fedadam", "fedavgm", "fedeve", "fedvra", "fedyogi")  # small steps of the server: many rounds
# Algorithm cards, section 11: F_i(x) = a_i/2 (x - b_i)^2, a = (1, 2, 4), b = (1, -1, 3), x0 = 0, lr 0.05, two steps
FUNCTIONS = [[a / 2, -a * b, a * b * b / 2] for a, b in [(1, 1), (2, -1), (4, 3)]]


def golden_scenario(algorithm, **data):
    return {
        "rounds": 4,
        "data": {"dataset": "quadratic", "coefficients": FUNCTIONS, **data},
        "model": {"init": {"kind": "value", "value": 0.0}},
        "training": {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial"},
        "algorithm": algorithm,
        "server": {"selection": {"kind": "schedule", "rounds": [[0, 1], [1, 2], [0, 2], [0, 1, 2]]}},
    }


@pytest.mark.oracle
def test_fedprox_without_its_pull_is_fedavg():
    with_pull = edgefl.run(digits({"kind": "fedprox", "mu": 0.0})).parameters
    assert np.array_equal(with_pull, edgefl.run(digits({"kind": "fedavg"})).parameters)


@pytest.mark.oracle
def test_one_step_of_fedprox_is_fedavg_for_any_mu():
    """At the only step w is the received model, so there is nothing to pull (card 1.2, oracle ii)."""
    work = {"local_epochs": None, "local_steps": 1}
    prox = edgefl.run(digits({"kind": "fedprox", "mu": 5.0}, **work)).parameters
    assert np.array_equal(prox, edgefl.run(digits({"kind": "fedavg"}, **work)).parameters)


@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_a_pull_of_one_over_the_learning_rate_returns_to_the_start_in_each_step(engine):
    """theta_k = w - eta grad(theta_(k-1)) at eta = 1 / mu (card 1.2, oracle iii)."""
    scenario = golden_scenario({"kind": "fedprox", "mu": 20.0})
    scenario["training"] |= {"local_steps": 5, "engine": engine}
    scenario["server"] = {}
    x = 0.0
    expected = []
    for _ in range(4):
        thetas = np.full(3, x)
        for _ in range(5):
            thetas = x - 0.05 * np.array([1, 2, 4]) * (thetas - [1, -1, 3])
        x = thetas.mean()
        expected.append(x)
    assert edgefl.run(scenario).rounds["parameter"].to_numpy() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weighting", ["samples", "uniform"])
@pytest.mark.oracle
def test_equal_clients_learn_as_one_client(weighting, tmp_path):
    """The same samples in the same batches: the mean is any of the local models (card 1.1, oracle iv)."""
    work = {"local_epochs": None, "local_steps": 4, "batch_size": "full", "momentum": 0.5}
    models = []
    for count in (1, 3):
        path = tmp_path / f"{count}.json"
        path.write_text(json.dumps({str(i): list(range(100)) for i in range(count)}))
        scenario = digits({"kind": "fedavg", "weighting": weighting}, **work)
        scenario |= {"devices": {"count": count}, "server": {}}
        scenario["data"] = {"dataset": "digits", "partition": {"kind": "file", "path": str(path)}}
        models.append(edgefl.run(scenario).parameters)
    assert models[1] == pytest.approx(models[0], abs=1e-6)


@pytest.mark.oracle
def test_the_first_round_of_scaffold_is_fedavg():
    """All control variates are 0 (card 1.3, oracle i)."""
    first = {**digits({"kind": "fedavg", "weighting": "uniform"}), "rounds": 1}
    fedavg = edgefl.run(first).parameters
    assert edgefl.run({**first, "algorithm": {"kind": "scaffold"}}).parameters == pytest.approx(fedavg, abs=1e-7)


@pytest.mark.oracle
def test_scaffold_with_one_full_batch_step_is_gradient_descent():
    """Full participation and the same n_i: the trajectory of uniform FedAvg (card 1.3, oracle iv)."""
    work = {"local_epochs": None, "local_steps": 1, "batch_size": "full"}
    base = {**digits({"kind": "scaffold"}, **work), "data": {"dataset": "digits"}, "server": {}, "rounds": 3}
    other = {**base, "algorithm": {"kind": "fedavg", "weighting": "uniform"}}
    assert edgefl.run(base).parameters == pytest.approx(edgefl.run(other).parameters, abs=1e-6)


# Those that wait need the devices that are awaited, which only a learner tells.
@pytest.mark.parametrize("case", [case for case in SHIPPED if case.get("mode") != "wait"], ids=str)
class TestHooks:
    """Catalogue conformance of the hooks, without exceptions."""

    d = 6

    def hooks(self, case):
        algorithm = shipped(case)
        w = torch.linspace(-1, 1, self.d)
        server = initial_state(algorithm, w, 3)
        return algorithm, server, LocalContext(w, 0.1, algorithm.downlink(server), algorithm.client_state(w))

    def test_no_movement_no_change(self, case):
        algorithm, server, local = self.hooks(case)
        upload = {key: torch.stack([value] * 3) for key, value in algorithm.finish(local.start, local).items()}
        updates = Updates(
            upload,
            np.arange(3),
            np.array([1, 2, 3]),
            3,
            steps=np.ones(3),
            losses=np.ones(3),
            labels=np.array([[1, 0], [1, 1], [0, 3]]),
        )
        after = algorithm.aggregate(server, updates)
        assert torch.equal(after["w"], server["w"])
        assert {key: value.shape for key, value in after.items()} == {k: v.shape for k, v in server.items()}
        assert all(np.isfinite(value) for value in algorithm.trace(after, updates).values())

    def test_hooks_leave_their_state_unchanged(self, case):
        """Hooks are pure, also those that keep a table."""
        algorithm, server, local = self.hooks(case)
        before = {key: value.clone() for key, value in server.items()}
        upload = {key: torch.stack([value] * 2) for key, value in algorithm.finish(local.start + 1, local).items()}
        labels = np.array([[1, 0], [1, 1]])
        twos = np.full(2, 2.0)
        algorithm.aggregate(server, Updates(upload, np.array([0, 2]), np.array([1, 2]), 3, twos, twos, labels=labels))
        assert all(torch.equal(server[key], value) for key, value in before.items())

    def test_a_client_axis_changes_nothing(self, case):
        algorithm, _, local = self.hooks(case)
        gradients = torch.randn(3, self.d, generator=torch.manual_seed(0))
        ws = torch.eye(3, self.d)
        received, state = ({k: v.expand(3, -1) for k, v in part.items()} for part in (local.received, local.state))
        ones = torch.ones(3, 1)
        many = LocalContext(local.start.expand(3, -1), 0.1 * ones, received, state, ones, ones)
        stacked = algorithm.correct(gradients.clone(), ws, many)
        single = torch.stack([algorithm.correct(g.clone(), w, local) for g, w in zip(gradients, ws, strict=True)])
        assert torch.equal(stacked, single)
        for hook in (algorithm.finish, algorithm.remember):
            together = hook(ws, many)
            alone = [hook(w, local) for w in ws]
            for key, value in together.items():
                assert torch.allclose(value, torch.stack([each[key] for each in alone]), rtol=1e-6)

    def test_derived_vectors_equal_those_that_finish_would_send(self, case):
        """And depends on nothing that the device alone knows."""
        algorithm, _, local = self.hooks(case)
        state = {name: value + 0.5 for name, value in local.state.items()}
        received = {name: value + 0.2 for name, value in local.received.items()}
        rest = {"steps": 3.0, "weight": 1.5, "run": RunInfo(steps=4.0, lr=0.3, participants=0.5)}
        local = replace(local, state=state, received=received, **rest)
        w = local.start + torch.linspace(0, 1, self.d)
        naive = algorithm.finish(w, local)
        sent = upload(algorithm, w, local, minimal=True)
        whole = {**sent, **algorithm.derived(sent, replace(local, state={}, gradient=torch.nan))}
        assert whole.keys() == naive.keys()
        assert all(torch.allclose(whole[name], naive[name], rtol=1e-5, atol=1e-6) for name in naive)


@cache
def initial_model():
    return edgefl.run({**digits("fedavg", lr=1e-9), "rounds": 1}).parameters


DIVIDES = {"fedar", "feddc", "fedssg", "mifa", "qfedavg", "scaffold"}  # a move by the learning rate


@pytest.mark.parametrize("name", list(ALGORITHMS.members))
def test_a_learning_rate_of_0_is_refused_or_harmless(name):
    if name in DIVIDES:
        with pytest.raises(InputError, match=rf"training\.lr: {name} divides model updates by it: set it above 0, or"):
            edgefl.run(digits({"kind": name}, lr=0.0))
    else:
        still = Simulation(ALGORITHMS.load(name)(), FULL[:2], rates=(0.0, 0.0), labels=np.ones((N, 2), dtype=np.int64))
        assert torch.equal(still.models, torch.zeros(3, D, dtype=torch.float64))


@pytest.mark.parametrize(
    "algorithm", [{"kind": "scaffold", "option": "I"}, {"kind": "fedssg", "variant": "paper_main"}]
)
def test_learning_rate_0_is_allowed_without_a_division(algorithm):
    assert edgefl.run({**digits(algorithm, lr=0.0), "rounds": 1}).status == "finished"


@pytest.mark.parametrize("name", list(ALGORITHMS.members))
class TestEveryAlgorithm:
    """Catalogue conformance of whole runs."""

    def test_builds_from_defaults_and_cites_its_source(self, name):
        assert "(" in ALGORITHMS.summary(name)
        assert any(char.isdigit() for char in ALGORITHMS.summary(name))

    @pytest.mark.oracle
    def test_full_participation_with_equal_data_reaches_the_optimum(self, name):
        algorithm = ALGORITHMS.load(name).model_validate(SHRINKING.get(name, {}))
        rounds = 100
        lr = 0.2
        if name in GRADUAL:
            rounds = 300
            lr = 0.05
        twos = torch.full((3, D), 2.0, dtype=torch.float64)
        once = Simulation(
            algorithm,
            [[0, 1, 2]] * rounds,
            samples=(1,) * 3,
            rates=(lr,) * rounds,
            steps=2,
            labels=np.ones((3, 2), dtype=np.int64),
            curvatures=twos,
            centres=twos,
        )
        assert (once.models[-1] - 2).abs().max() < 1e-6

    @pytest.mark.oracle
    def test_a_codec_costs_what_it_rounds(self, name):
        """Half the bytes, but for scalars; of the way less than 2^-11, half of the last digit of a float16."""
        base = {**digits(name), "rounds": 2}
        plain = edgefl.run(base)
        assert plain.status == "finished"
        assert plain.rounds["received"].tolist() == [5, 5]
        coded = edgefl.run({**base, "training": {**base["training"], "codec": "float16"}})
        way = np.linalg.norm(plain.parameters - initial_model())
        assert 0 < np.linalg.norm(plain.parameters - coded.parameters) < 2**-11 * way
        assert coded.rounds["bytes_up"].sum() == pytest.approx(0.5 * plain.rounds["bytes_up"].sum(), rel=1e-3)

    @pytest.mark.oracle
    def test_runs_on_one_client(self, name):
        few = {"local_epochs": None, "local_steps": 2}
        result = edgefl.run({**digits({"kind": name}, **few), "devices": {"count": 1}, "server": {}})
        assert result.status == "finished"
        assert np.isfinite(result.parameters).all()
