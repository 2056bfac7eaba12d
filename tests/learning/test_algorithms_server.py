"""Algorithms whose memory is at the server: limits, fixed points and what they send (cards 1.4, 1.13 to 1.17)."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from algorithm_cases import digits
from hypothesis import given, settings
from hypothesis import strategies as st

import edgefl
from edgefl.learning.algorithms import LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.fedacg import FedACG
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.fedavgm import FedAvgM
from edgefl.learning.algorithms.fedeve import FedEve
from edgefl.learning.algorithms.fednova import FedNova
from edgefl.learning.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
from edgefl.learning.algorithms.qfedavg import QFedAvg
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.models.fcn import Mlp
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training

D = 5
TINY_TAU = 1e-30
NEUTRAL = {  # settings in which an algorithm is FedAvg
    "fedavgm_ema": FedAvgM(server_momentum=0.0),
    "fedavgm_heavy_ball": FedAvgM(server_momentum=0.0, rule="heavy_ball"),
    "fedacg": FedACG(server_momentum=0.0, beta=0.0, weighting="samples"),
    "fednova": FedNova(),
}


def zeros():
    return torch.zeros(D, dtype=torch.float64)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.manual_seed(seed))


def updates(delta, samples=None, losses=None, **vectors):
    """Updates as they come from len(delta) participants, of the same number of samples if not said otherwise."""
    count = len(delta)
    samples = np.full(count, 7) if samples is None else np.array(samples)
    losses = None if losses is None else np.array(losses)
    return Updates({"delta": delta, **vectors}, np.arange(count), samples, 10, np.ones(count), losses)


def quadratics(algorithm, functions, rounds=1, x0=0.0, steps=2, lr=0.05, **more):
    """A run on a/2 (x - b)^2 for each (a, b): its models [rounds]."""
    data = {"dataset": "quadratic", "coefficients": [[a / 2, -a * b, a * b * b / 2] for a, b in functions]}
    training = {"local_steps": steps, "batch_size": "full", "lr": lr, "engine": "serial"}
    base = {"rounds": rounds, "data": data, "training": training, "algorithm": algorithm}
    base["model"] = {"init": {"kind": "value", "value": x0}}
    return edgefl.run({**base, **more}).rounds["parameter"].to_numpy()


class TestNeutralSettings:
    @pytest.mark.parametrize("case", list(NEUTRAL))
    def test_are_fedavg(self, case):
        """Whatever was before; equal steps (cards 1.4, 1.13, 1.17, oracles i)."""
        algorithm = NEUTRAL[case]
        fedavg = FedAvg()
        w = random(D)
        server = algorithm.server_state(w)
        plain = fedavg.server_state(w)
        for seed in range(3):
            delta = random(3, D, seed=seed)
            start = algorithm.broadcast(server).expand(3, -1)
            local = LocalContext(start, 0.1, steps=torch.full((3, 1), 4.0, dtype=w.dtype))
            upload = algorithm.finish(start + delta, local)
            this = updates(samples=[1, 2, 3], **{**upload, "delta": delta})
            server = algorithm.aggregate(server, this)
            plain = fedavg.aggregate(plain, this)
            assert torch.allclose(server["w"], plain["w"], rtol=1e-14)

    def test_fedopt_with_huge_adaptivity_is_fedavg(self):
        """server_lr = tau = 1e8, beta1 = 0, v0 = 0: to 1e-8 (card 1.14, oracle i)."""
        for kind in (FedAdagrad, FedAdam, FedYogi):
            algorithm = kind(server_lr=1e8, tau=1e8, beta1=0.0, v0=0.0)
            delta = random(3, D).clamp(-1, 1)
            after = algorithm.aggregate(algorithm.server_state(zeros()), updates(delta))
            assert torch.allclose(after["w"], delta.mean(dim=0), rtol=2e-8, atol=0)

    def test_q_0_is_uniform_fedavg(self):
        delta = random(3, D)
        this = updates(delta, [1, 2, 3], [0.3, 2.0, 0.01], curvature=(delta**2).sum(dim=1, keepdim=True) / 0.1)
        algorithm = QFedAvg(q=0.0)
        assert torch.allclose(algorithm.aggregate({"w": zeros()}, this)["w"], delta.mean(dim=0), rtol=1e-14)

    @pytest.mark.parametrize("kind", ["fedacg", "fedavgm", "fedeve", "fednova", "qfedavg"])
    def test_one_full_step_of_equal_clients_is_gradient_descent(self, kind):
        """Checklist, oracle 1; identical clients give FedEve a gain of 1, heavy ball and no loss change nothing."""
        keys = {"fedavgm": {"rule": "heavy_ball"}, "qfedavg": {"q": 0.0}}.get(kind, {})
        after = quadratics({"kind": kind, **keys}, [(3, 2)] * 4, steps=1)
        assert after == pytest.approx([0.05 * 3 * 2], abs=1e-12)


class TestFedAvgM:
    @pytest.mark.parametrize(("rule", "limit"), [("ema", 1.0), ("heavy_ball", 5.0)])
    def test_a_constant_move(self, rule, limit):
        """The step tends to the move, and to 1 / (1 - beta) times it (card 1.13, oracle ii)."""
        algorithm = FedAvgM(server_momentum=0.8, rule=rule)
        move = random(1, D)
        server = algorithm.server_state(zeros())
        for _ in range(200):
            before = server
            server = algorithm.aggregate(server, updates(move))
        assert torch.allclose(server["w"] - before["w"], limit * move[0], rtol=1e-12)

    @pytest.mark.oracle
    @given(beta=st.floats(0.0, 0.99), seed=st.integers(0, 99))
    @settings(max_examples=25, deadline=None)
    def test_both_rules_are_one_at_another_server_lr(self, beta, seed):
        """Oracle iii."""
        ema = FedAvgM(server_momentum=beta, server_lr=1 / (1 - beta))
        ball = FedAvgM(server_momentum=beta, rule="heavy_ball")
        first = ema.server_state(zeros())
        second = ball.server_state(zeros())
        for number in range(4):
            this = updates(random(3, D, seed=seed + number))
            first = ema.aggregate(first, this)
            second = ball.aggregate(second, this)
        assert torch.allclose(first["w"], second["w"], rtol=1e-9)


class TestFedOpt:
    @pytest.mark.parametrize(("kind", "kept"), [(FedAdagrad, 1.0), (FedAdam, 0.99), (FedYogi, 1.0)])
    def test_without_a_move_only_momentum_moves(self, kind, kept):
        """Oracle ii: by beta1 m / (sqrt(v) + tau), where Adam alone forgets v."""
        algorithm = kind(server_lr=0.3, beta1=0.6)
        first = algorithm.aggregate(algorithm.server_state(zeros()), updates(random(2, D)))
        second = algorithm.aggregate(first, updates(torch.zeros(2, D, dtype=torch.float64)))
        step = 0.3 * 0.6 * first["m"] / ((kept * first["v"]).sqrt() + 1e-3)
        assert torch.allclose(second["w"] - first["w"], step, rtol=1e-12)

    def test_adam_without_memory_takes_the_sign(self):
        """Oracle iii: beta1 = beta2 = 0 and no adaptivity."""
        algorithm = FedAdam(server_lr=0.3, beta1=0.0, beta2=0.0, tau=TINY_TAU)
        delta = random(1, D)
        after = algorithm.aggregate(algorithm.server_state(zeros()), updates(delta))
        assert torch.allclose(after["w"], 0.3 * delta[0].sign(), rtol=1e-12)

    def test_adam_by_hand(self):
        """Oracle iv: three moves of 1."""
        algorithm = FedAdam(server_lr=1.0, tau=TINY_TAU, v0=0.0)
        states = [algorithm.server_state(torch.zeros(1, dtype=torch.float64))]
        for _ in range(3):
            states.append(algorithm.aggregate(states[-1], updates(torch.ones(1, 1, dtype=torch.float64))))
        assert [float(state["m"]) for state in states[1:]] == pytest.approx([0.1, 0.19, 0.271], rel=1e-12)
        assert [float(state["v"]) for state in states[1:]] == pytest.approx([0.01, 0.0199, 0.029701], rel=1e-12)
        steps = np.diff([float(state["w"]) for state in states])
        assert steps == pytest.approx([1, 0.19 / 0.0199**0.5, 0.271 / 0.029701**0.5], rel=1e-12)

    @given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6))
    @settings(max_examples=50, deadline=None)
    def test_second_moments(self, moves):
        """Yogi's v moves by at most (1 - beta2) delta^2 and stays positive, Adagrad's is the sum of all."""
        yogi = FedYogi()
        adagrad = FedAdagrad()
        first = yogi.server_state(torch.zeros(1).double())
        second = adagrad.server_state(torch.zeros(1).double())
        for move in moves:
            this = updates(torch.tensor([[move]], dtype=torch.float64))
            before = first["v"]
            first = yogi.aggregate(first, this)
            second = adagrad.aggregate(second, this)
            assert float((first["v"] - before).abs()) <= 0.01 * move**2 * (1 + 1e-6) + 1e-12
            assert float(first["v"]) > 0
        assert float(second["v"]) == pytest.approx(1e-6 + sum(move**2 for move in moves), rel=1e-12)


def gain(before, after, delta):
    """Kappa, from M+ = M + kappa (D - M)."""
    towards = -delta.mean(dim=0) - before["m"]
    return float((after["m"] - before["m"]) @ towards / (towards @ towards))


class TestFedEve:
    def test_no_spread_is_trusted(self):
        """One participant, or identical ones: kappa = 1, M = D, nothing is uncertain (card 1.15, oracle i)."""
        algorithm = FedEve()
        move = random(1, D)
        before = {"w": zeros(), "m": random(D, seed=1), "variance": torch.full((1,), 0.3, dtype=torch.float64)}
        for count in (1, 2, 8):
            after = algorithm.aggregate(before, updates(move.expand(count, -1)))
            assert torch.allclose(after["m"], -move[0], rtol=1e-12)
            assert float(after["variance"]) == pytest.approx(0, abs=1e-15)

    @pytest.mark.parametrize("q", ["paper", "code"])
    def test_the_first_round(self, q):
        """The prediction is w; w+ = w + kappa mean(delta), kappa from the variances of the moves (oracle ii)."""
        algorithm = FedEve(q=q)
        w = random(D)
        delta = random(4, D, seed=1)
        server = algorithm.server_state(w)
        assert torch.equal(algorithm.broadcast(server), w)
        after = algorithm.aggregate(server, updates(delta))
        mean = delta.mean(dim=0)
        drift = float(mean @ mean) / (4 * D)
        noise = float(delta.var(dim=0, correction=0).sum()) / (4 * D)
        kappa = drift / (drift + noise)
        assert torch.allclose(after["w"], w + kappa * mean, rtol=1e-12)
        assert float(after["variance"]) == pytest.approx((1 - kappa) * drift, rel=1e-12)
        traced = algorithm.trace(after, updates(delta))
        assert traced == {
            "kalman_gain": pytest.approx(kappa, rel=1e-12),
            "period_variance": pytest.approx(drift, rel=1e-12),
            "client_variance": pytest.approx(noise, rel=1e-12),
        }

    @pytest.mark.parametrize("q", ["paper", "code"])
    def test_the_traces_give_the_gain_of_every_round(self, q):
        """Equations 12b, 12c and 12f: kappa = s / (s + sigma_R^2), s = sigma^2 + sigma_Q^2, then (1 - kappa) s."""
        algorithm = FedEve(q=q)
        server = algorithm.server_state(zeros())
        variance = 0.0
        for seed in range(6):
            server = algorithm.aggregate(server, updates(random(3, D, seed=seed)))
            traced = algorithm.trace(server, updates(random(3, D, seed=seed)))
            predicted = variance + traced["period_variance"]
            kappa = predicted / (predicted + traced["client_variance"])
            assert traced["kalman_gain"] == pytest.approx(kappa, rel=1e-12)
            variance = (1 - kappa) * predicted

    @pytest.mark.oracle
    def test_a_gain_of_1_is_fedavg_from_the_prediction(self):
        """w+ = w - D, D at w - M: with identical clients k (x - b), x+ = (1 - k) x + k (M + b) (oracle iii)."""
        k = 1 - 0.9**2
        b = 2.0
        x = 0.0
        m = 0.0
        expected = []
        for _ in range(6):
            m = k * (x - m - b)
            x -= m
            expected.append(x)
        assert quadratics({"kind": "fedeve"}, [(2, b)] * 3, rounds=6) == pytest.approx(expected, abs=1e-12)
        fedavg = quadratics({"kind": "fedavg"}, [(2, b)] * 3, rounds=6)
        assert fedavg[0] == pytest.approx(expected[0], abs=1e-12)
        assert abs(fedavg[1] - expected[1]) > 0.05

    def test_a_constant_gain_is_a_moving_mean(self):
        """Without prediction, and two clients just so far apart that kappa = 1 - beta (oracle iv)."""
        beta = 0.7
        across = torch.eye(D, dtype=torch.float64)[0]
        eve = FedEve(server_lr=0.9)
        ema = FedAvgM(server_momentum=beta, server_lr=0.9)
        first = eve.server_state(zeros())
        second = ema.server_state(zeros())
        for seed in range(4):
            move = random(D, seed=seed)
            predicted = float(first["variance"]) + float(((first["m"] + move) ** 2).sum()) / (2 * D)
            apart = (2 * D * predicted * beta / (1 - beta)) ** 0.5 * across  # their noise is |apart|^2 / (2 d)
            this = updates(torch.stack([move - apart, move + apart]))
            first = eve.aggregate(first, this)
            second = ema.aggregate(second, this)
            assert torch.allclose(first["w"], second["w"], rtol=1e-9)

    @pytest.mark.oracle
    @given(
        seed=st.integers(0, 10**6),
        count=st.integers(1, 6),
        q=st.sampled_from(["paper", "code"]),
        power=st.floats(-4, 4),
    )
    @settings(max_examples=20, deadline=None)
    def test_gains_are_shares_that_do_not_depend_on_the_unit(self, seed, count, q, power):
        """0 <= kappa <= 1, variances not negative, all moves times s leave kappa alone (oracles v and vi)."""
        algorithm = FedEve(q=q)
        scale = 10**power
        small = algorithm.server_state(zeros())
        large = algorithm.server_state(zeros())
        for number in range(3):
            delta = random(count, D, seed=seed + number)
            before = small
            small = algorithm.aggregate(small, updates(delta))
            scaled = large
            large = algorithm.aggregate(large, updates(scale * delta))
            kappa = gain(before, small, delta)
            assert -1e-12 <= kappa <= 1 + 1e-12
            assert gain(scaled, large, scale * delta) == pytest.approx(kappa, rel=1e-9)
            assert float(small["variance"]) >= 0
            assert float(large["variance"]) == pytest.approx(scale**2 * float(small["variance"]), rel=1e-9, abs=1e-12)

    def test_zero_moves_do_not_divide_by_zero(self):
        after = FedEve().aggregate(FedEve().server_state(zeros()), updates(torch.zeros(3, D, dtype=torch.float64)))
        assert all(torch.equal(value, torch.full_like(value, name == "gain")) for name, value in after.items())


class TestFedACG:
    def test_the_model_is_the_mean_of_the_local_ones(self):
        """In every round (oracle iii)."""
        algorithm = FedACG()
        server = algorithm.server_state(random(D))
        for seed in range(4):
            models = random(3, D, seed=seed)
            server = algorithm.aggregate(server, updates(models - algorithm.broadcast(server)))
            assert torch.allclose(server["w"], models.mean(dim=0), rtol=1e-12)

    @pytest.mark.oracle
    def test_fedacg_without_momentum_equals_fedprox(self):
        """Oracle iv."""
        keys = {"beta": 0.5, "server_momentum": 0.0, "weighting": "samples"}
        prox = edgefl.run(digits({"kind": "fedprox", "mu": 0.5})).parameters
        assert edgefl.run(digits({"kind": "fedacg", **keys})).parameters == pytest.approx(prox, abs=1e-7)


def by_steps(algorithm, lr, folder):
    """The fixed point of two clients of one and of five steps a round: rounds are affine, so two of them tell."""
    path = folder / "parts.json"
    path.write_text(json.dumps({"0": [0], "1": [1] * 5}))
    data = {"dataset": "quadratic", "coefficients": [[1.0, 2.0, 1.0], [0.5, -3.0, 4.5]]}  # (x + 1)^2, (x - 3)^2 / 2
    data["partition"] = {"kind": "file", "path": str(path)}
    training = {"local_steps": None, "local_epochs": 1, "batch_size": 1, "lr": lr, "engine": "serial"}
    zero = quadratics(algorithm, [], x0=0.0, data=data, training=training)[0]
    one = quadratics(algorithm, [], x0=1.0, data=data, training=training)[0]
    return zero / (1 - (one - zero))


class TestFedNova:
    @pytest.mark.oracle
    def test_unequal_steps_do_not_move_the_fixed_point(self, tmp_path):
        """At the optimum of the mean but for O(lr); FedAvg's is that of steps as weights (card 1.4, oracle iii)."""
        optimum = (2 * -1 + 3) / 3
        weighted = (2 * -1 + 5 * 3) / 7
        uniform = {"weighting": "uniform"}
        nova = [by_steps({"kind": "fednova", **uniform}, lr, tmp_path) - optimum for lr in (1e-2, 1e-3)]
        assert nova[1] == pytest.approx(0, abs=5e-3)
        assert nova[0] / nova[1] == pytest.approx(10, rel=0.05)  # what is left is the discretisation
        assert by_steps({"kind": "fedavg", **uniform}, 1e-3, tmp_path) == pytest.approx(weighted, abs=5e-3)

    @given(steps=st.integers(1, 12), momentum=st.floats(0, 0.95), mu=st.floats(0, 5), lr=st.floats(1e-3, 0.2))
    @settings(max_examples=50, deadline=None)
    def test_closed_forms_of_the_normaliser(self, steps, momentum, mu, lr):
        """K; sum (1 - rho^k) / (1 - rho); (1 - (1 - lr mu)^K) / (lr mu); with both, what SGD does to gradients of 1."""
        local = LocalContext(zeros(), lr, steps=float(steps))
        heavy = replace(local, run=RunInfo(momentum=momentum))
        assert float(FedNova().normaliser(local)) == steps
        ball = sum(1 - momentum**k for k in range(1, steps + 1)) / (1 - momentum)
        assert float(FedNova().normaliser(heavy)) == pytest.approx(ball, rel=1e-12)
        pull = sum((1 - lr * mu) ** k for k in range(steps))
        assert float(FedNova(mu=mu).normaliser(local)) == pytest.approx(pull, rel=1e-12)
        x = velocity = 0.0
        for _ in range(steps):
            velocity = momentum * velocity + 1 + mu * x
            x -= lr * velocity
        both = FedNova(mu=mu).normaliser(heavy)
        assert float(both) == pytest.approx(-x / lr, rel=1e-9)

    def test_clients_with_different_steps_have_different_normalisers(self):
        """Together as one after another, also where some have fewer steps."""
        algorithm = FedNova(mu=0.5)
        counts = [3.0, 1.0, 2.0]
        run = RunInfo(momentum=0.3)
        steps = torch.tensor(counts, dtype=torch.float64)[:, None]
        many = LocalContext(torch.zeros(3, D, dtype=torch.float64), 0.1, steps=steps, run=run)
        together = algorithm.normaliser(many)
        alone = [algorithm.normaliser(LocalContext(zeros(), 0.1, steps=count, run=run)) for count in counts]
        assert torch.equal(together, torch.stack(alone))

    @pytest.mark.parametrize("nesterov", [False, True])
    def test_one_client_with_momentum_is_its_sgd(self, nesterov):
        """Oracle ii."""
        training = {"local_steps": 3, "batch_size": "full", "lr": 0.05, "momentum": 0.8, "nesterov": nesterov}
        fedavg = quadratics({"kind": "fedavg"}, [(3, 2)], rounds=4, training=training)
        nova = quadratics({"kind": "fednova"}, [(3, 2)], rounds=4, training=training)
        assert nova == pytest.approx(fedavg, abs=1e-12)

    def test_server_momentum_shrinks_with_the_learning_rate(self):
        """u = gamma u + move / lr, w + lr u: after moves of 1 at lr 0.2 and 0.1, and none at 0, 1 + (1 + gamma / 2)."""
        algorithm = FedNova(server_momentum=0.6)
        one = torch.ones(1, 1, dtype=torch.float64)
        server = algorithm.server_state(torch.zeros(1, dtype=torch.float64))
        for lr, move in ((0.2, 1.0), (0.1, 1.0), (0.0, 0.0)):
            server = algorithm.aggregate(server, replace(updates(move * one, a=one), lr=lr))
        assert float(server["w"]) == pytest.approx(1 + (1 + 0.6 / 2), rel=1e-12)

    def test_a_pull_alone_is_that_of_fedprox(self):
        """Equal steps: FedNova moves K / a times as far as FedProx."""
        functions = [(1, 1), (2, -1)]
        a = (1 - 0.975**3) / 0.025
        prox = quadratics({"kind": "fedprox", "mu": 0.5}, functions, steps=3)[0]
        nova = quadratics({"kind": "fednova", "mu": 0.5}, functions, steps=3)[0]
        assert nova == pytest.approx(3 / a * prox, rel=1e-12)


class TestQFedAvg:
    @pytest.mark.parametrize("q", [0.5, 1.0, 3.0])
    def test_as_in_the_paper(self, q):
        """Delta_k = F^q L (w - w_k), h_k = q F^(q-1) |L (w - w_k)|^2 + L F^q."""
        algorithm = QFedAvg(q=q)
        lr = 0.2
        delta = random(3, D)
        losses = np.array([0.3, 2.0, 0.01])
        start = torch.zeros(3, D, dtype=torch.float64)
        upload = algorithm.finish(start + delta, LocalContext(start, lr))
        after = algorithm.aggregate({"w": zeros()}, updates(losses=losses, **upload))["w"].numpy()
        moves = -delta.numpy() / lr
        h = q * losses ** (q - 1) * (moves**2).sum(axis=1) + losses**q / lr
        assert after == pytest.approx(-(losses**q @ moves) / h.sum(), rel=1e-12)

    @pytest.mark.parametrize("q", [1.0, 4.0])
    @pytest.mark.oracle
    def test_the_fixed_point_minimises_powers_of_losses(self, q):
        """sum F_k^q grad F_k = 0: with a (x + 1)^2 / 2 and (x - 3)^2 / 2 the distances are as a^-((q+1)/(2q+1))."""
        a = 8.0
        ratio = a ** ((q + 1) / (2 * q + 1))
        x = quadratics({"kind": "qfedavg", "q": q}, [(a, -1), (1, 3)], rounds=60, steps=1)[-1]
        assert (3 - x) / (x + 1) == pytest.approx(ratio, rel=1e-6)

    def test_a_device_that_has_learned_all_counts_nothing(self):
        """A loss of 0 divides by nothing, with any q."""
        delta = random(2, D) * torch.tensor([[0.0], [1.0]], dtype=torch.float64)
        for q in (0.5, 1.0, 2.0):
            this = updates(delta, losses=[0.0, 1.0], curvature=torch.zeros(2, 1, dtype=torch.float64))
            share = 1 / (1 + 1e-10**q)
            after = QFedAvg(q=q).aggregate({"w": zeros()}, this)["w"]
            assert torch.allclose(after, share * delta[1], rtol=1e-12)

    def test_a_negative_loss_is_refused_in_one_line(self):
        scenario = {
            "rounds": 1,
            "data": {"dataset": "quadratic", "coefficients": [[1, 0, -5]] * 2},
            "algorithm": {"kind": "qfedavg"},
            "training": {"engine": "serial"},
        }
        result = edgefl.run(scenario)
        assert result.status == "failed"
        assert "must not be negative" in result.error


def test_a_pull_costs_fednova_a_scalar_and_three_operations():
    data = Digits().load()
    section = Training.model_validate({"batch_size": 50, "local_steps": 4})
    plain = measure(Mlp(), FedNova(mu=0.0), section, data, np.array([50]))
    pulled = measure(Mlp(), FedNova(mu=0.1), section, data, np.array([50]))
    assert pulled.up_bits - plain.up_bits == 32
    assert pulled.flops - plain.flops == pytest.approx([4 * 3 * 4_810])
