"""Algorithms with memory at the devices or by device at the server, and their needs of the learner (cards 1.1 ff.)."""

from itertools import combinations, product

import numpy as np
import pytest
import torch
from algorithm_cases import CENTRES, CURVATURES, FULL, LR, PARTIAL, STEPS, UNIFORM, D, N, Simulation, digits, same
from hypothesis import given, settings
from hypothesis import strategies as st
from learner_cases import learners, random_data, shuffled_parts, train_round
from torch.nn.functional import cosine_similarity, cross_entropy, log_softmax

import edgefl
from edgefl.core.errors import InputError, RunError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.as_published.fedssg_program import FedSSGProgram
from edgefl.learning.algorithms.fedar import FedAR
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.feddc import FedDC
from edgefl.learning.algorithms.feddisco import FedDisco, disco_weights, discrepancy
from edgefl.learning.algorithms.feddyn import FedDyn
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.algorithms.fedssg import FedSSG
from edgefl.learning.algorithms.fedvarp import FedVarp
from edgefl.learning.algorithms.fedvra import FedVRA
from edgefl.learning.algorithms.mifa import Mifa
from edgefl.learning.algorithms.moon import Moon
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.algorithms.steps import initial_state
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.learner import learner as learner_module
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models.cnn import SvhnCnn
from edgefl.learning.models.fcn import Fcn, Mlp
from edgefl.learning.models.logistic import Logistic
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training


class TestDriftMemories:
    """FedDyn, FedDC, FedSSG, FedVRA."""

    class NoCorrection(FedDC):
        def remember(self, w, local):
            return {**super().remember(w, local), "g": 0 * w}

    class NoMemory(FedDC):
        def aggregate(self, server, updates):
            after = super().aggregate(server, updates)
            return {**after, "w": after["w"] - after["h"]}

    class MemoryAlone(FedSSGProgram):
        def remember(self, w, local):
            return {**super().remember(w, local), "g": 0 * w}

    class Gated(FedSSGProgram):
        fixed: float

        def gate(self, local):
            return 0 * local.state["count"] + self.fixed

    class Proximal(Gated):
        def correct(self, gradient, w, local):
            return super().correct(gradient, w, local) + self.alpha / local.weight * (w - local.start)

    class GatedAlone(Gated):
        def remember(self, w, local):
            return {**super().remember(w, local), "g": 0 * w}

    @pytest.mark.parametrize("algorithm", [FedDyn(alpha=0.3), FedDC(alpha=0.3)])
    def test_the_first_round_is_fedprox_and_its_mean_move_counts_twice(self, algorithm):
        first, prox = (Simulation(each, FULL[:1]) for each in (algorithm, FedProx(mu=0.3)))
        assert torch.allclose(first.moves[0], prox.moves[0], rtol=1e-13)
        assert torch.allclose(first.models[1], 2 * prox.moves[0].mean(dim=0), rtol=1e-13)

    @pytest.mark.parametrize("samples", [(1,) * N, (1, 2, 3, 4, 5)])
    def test_the_first_round_of_feddc_under_partial_participation(self, samples):
        """FedProx with alpha_i; w + mean_S delta + sum_S delta / N (card 1.6, oracle i)."""
        ids = [1, 3]
        first = Simulation(FedDC(alpha=0.3), [ids], samples)
        for row, i in enumerate(ids):
            prox = Simulation(FedProx(mu=0.3 * sum(samples) / N / samples[i]), [ids], samples)
            assert torch.allclose(first.moves[0][row], prox.moves[0][row], rtol=1e-13)
        moves = first.moves[0]
        assert torch.allclose(first.models[1], moves.mean(dim=0) + moves.sum(dim=0) / N, rtol=1e-13)

    @pytest.mark.parametrize("samples", [(1,) * N, (1, 2, 3, 4, 5)])
    @pytest.mark.parametrize("ids", [list(range(N)), [0, 3]])
    def test_the_fixed_point_of_feddyn(self, samples, ids):
        """At the optimum, with h_i = -grad F_i / alpha_i, no participant moves (card 1.5, oracle ii)."""
        this = Simulation(FedDyn(alpha=0.3), FULL[:1], samples)
        omega = torch.tensor(samples).double()[:, None] * N
        omega = omega / sum(samples)
        optimum = (omega * CURVATURES * CENTRES).sum(dim=0) / (omega * CURVATURES).sum(dim=0)
        drifts = -omega * CURVATURES * (optimum - CENTRES) / 0.3
        this.states = [{"w": optimum, "h": drifts.mean(dim=0)}]
        this.clients = [{"h": h} for h in drifts]
        this.round(0, ids)
        assert torch.allclose(this.moves[-1], torch.zeros(len(ids), D, dtype=torch.float64), atol=1e-14)
        assert torch.allclose(this.models[-1], optimum, rtol=1e-13)
        assert float(drifts.abs().min()) > 0

    def test_feddyn_with_exact_minimisation_finds_the_optimum(self):
        """Clients minimise F_i + alpha <h_i, .> + (alpha/2) |. - w|^2, at gradient 0 (card 1.5, oracle iii)."""
        alpha = 0.5
        algorithm = FedDyn(alpha=alpha)
        server = initial_state(algorithm, torch.zeros(D, dtype=torch.float64), N)
        clients = [algorithm.client_state(server["w"]) for _ in range(N)]
        for _ in range(200):
            moves = []
            for i, (a, b) in enumerate(zip(CURVATURES, CENTRES, strict=True)):
                local = LocalContext(server["w"], LR, state=clients[i])
                w = (a * b + alpha * (server["w"] - clients[i]["h"])) / (a + alpha)
                slope = algorithm.correct(a * (w - b), w, local) + algorithm.decay(local) * w
                assert torch.allclose(slope, torch.zeros(D, dtype=torch.float64), atol=1e-13)
                moves.append(algorithm.finish(w, local)["delta"])
                clients[i] = algorithm.remember(w, local)
            updates = Updates({"delta": torch.stack(moves)}, np.arange(N), np.ones(N, dtype=np.int64), N)
            server = algorithm.aggregate(server, updates)
        optimum = (CURVATURES * CENTRES).sum(dim=0) / CURVATURES.sum(dim=0)
        assert torch.allclose(server["w"], optimum, rtol=1e-10)

    class PlainMean(FedDyn):
        def aggregate(self, server, updates):
            return {**super().aggregate(server, updates), "w": server["w"] + updates.mean()}

    def test_feddyn_with_a_plain_mean_and_no_pull_is_fedavg(self):
        """Card 1.5, oracle v."""
        assert same(self.PlainMean(alpha=0.0), UNIFORM)
        assert not same(self.PlainMean(alpha=0.1), UNIFORM)

    @pytest.mark.parametrize(
        "algorithm", [FedDyn(alpha=0.0), NoCorrection(alpha=0.0), GatedAlone(alpha=0.0, fixed=1.0)]
    )
    def test_without_a_pull_the_memory_survives(self, algorithm):
        """w = mean_S w_i + sum of all moves so far / N, which is not FedAvg (card 1.5, oracle iv)."""
        simulation = Simulation(algorithm, PARTIAL)
        memory = torch.zeros(D, dtype=torch.float64)
        for before, after, moves in zip(simulation.models, simulation.models[1:], simulation.moves, strict=False):
            memory = memory + moves.sum(dim=0) / N
            assert torch.allclose(after, before + moves.mean(dim=0) + memory, rtol=1e-12)
        assert not same(algorithm, UNIFORM)

    @pytest.mark.parametrize("samples", [(1,) * N, (1, 2, 3, 4, 5)])
    def test_feddc_without_its_correction_is_feddyn(self, samples):
        assert same(self.NoCorrection(alpha=0.4), FedDyn(alpha=0.4), samples=samples)
        assert not same(FedDC(alpha=0.4), FedDyn(alpha=0.4), samples=samples)

    def test_feddc_without_pull_and_memory_is_scaffold(self):
        assert same(self.NoMemory(alpha=0.0), Scaffold())

    @pytest.mark.parametrize("kind", [FedDC, FedSSG, Scaffold])
    def test_the_learning_rate_in_the_corrections(self, kind):
        """By the initial one they shrink with the schedule; by the current one they do not (cards, section 0.3)."""
        rates = [LR * 0.5**index for index in range(6)]
        assert not same(kind(cv_lr="initial"), kind(cv_lr="current"), rates=rates)
        assert same(kind(cv_lr="initial"), kind(cv_lr="current"))

    def test_fedvra_can_be_feddyn(self):
        assert same(FedVRA(gamma=0.3, a=1.0, d=0.3), FedDyn(alpha=0.3))
        assert not same(FedVRA(gamma=0.3, a=2.0, d=0.3), FedDyn(alpha=0.3))

    def test_fedvra_without_penalty_is_fedavg(self):
        assert same(FedVRA(gamma=0.0), UNIFORM)

    def test_fedssg_with_a_closed_gate_is_fedavg(self):
        assert same(self.Gated(fixed=0.0), UNIFORM)

    @pytest.mark.parametrize("samples", [(1,) * N, (1, 2, 3, 4, 5)])
    def test_fedssg_with_an_open_gate_and_a_pull_is_feddc(self, samples):
        assert same(self.Proximal(alpha=0.4, fixed=1.0), FedDC(alpha=0.4), samples=samples)

    def test_the_first_round_of_fedssg_trains_as_fedavg_does(self):
        """And adds gated moves: w = mean_S w_i + sum p_i delta_i / N with p = 1 + 1 / (T m/N)."""
        ssg = Simulation(FedSSG(alpha=0.5), PARTIAL)
        plain = Simulation(UNIFORM, PARTIAL)
        moves = plain.moves[0]
        p = 1 + 1 / sum(map(len, PARTIAL)) * N
        assert torch.equal(ssg.moves[0], moves)
        assert torch.allclose(ssg.models[1], moves.mean(dim=0) + p * moves.sum(dim=0) / N, rtol=1e-13)

    def test_fedssg_counts_who_takes_part(self):
        clients = Simulation(FedSSG(), PARTIAL).clients
        counts = [sum(i in ids for ids in PARTIAL) for i in range(N)]
        assert [float(client["count"]) for client in clients] == counts

    def test_the_gate_of_fedssg_under_full_participation(self):
        """p = 1 + (t + 1) / T for all."""
        gates = [trace["gate"] for trace in Simulation(FedSSG(), FULL).traces]
        assert gates == pytest.approx([1 + (t + 1) / 6 for t in range(6)], rel=1e-14)

    def test_the_gate_of_the_main_text_is_at_most_one(self):
        """min(1, c_i / (t m/N)): device 3 in its first round, the third one, of 15 participations in six rounds."""
        main = FedSSG(variant="paper_main")
        full = [trace["gate"] for trace in Simulation(main, FULL).traces]
        assert full == pytest.approx([1.0] * 6, abs=1e-5)
        gates = [
            trace["gate"]
            for trace in Simulation(main, [[0, 1], [1, 2, 4], [3], [2], [0, 1, 2, 3, 4], [3, 4, 0]]).traces
        ]
        assert gates[2] == pytest.approx(1 / (3 * 15 / 6 / N), rel=1e-5)
        assert not same(main, FedSSG())

    @pytest.mark.parametrize(
        ("keys", "phi"),
        [
            ({}, lambda r: min(r, 1)),
            ({"clip_gate": False}, lambda r: r),
            ({"phi": "scaled"}, lambda r: 0.4 * min(r, 1)),
            ({"phi": "scaled", "clip_gate": False}, lambda r: 0.4 * r),
            ({"phi": "logistic"}, lambda r: 0.4 / (1 + np.exp(-r))),
        ],
    )
    @pytest.mark.parametrize("alignment", ["proximal", "inner_product"])
    def test_the_main_text_of_fedssg_by_hand(self, keys, phi, alignment):
        """Eqs. 5 to 10: one phi gates memory and alignment, alpha is in phi alone, no gradient is corrected."""
        samples = (1, 2, 3, 4, 5)
        schedule = [[0, 1], [1, 2, 4], [0, 1], [1], [0, 1, 2, 3, 4], [3, 4]]
        w = np.zeros(D)
        h = np.zeros((N, D))
        count = np.zeros(N)
        share = 15 / 6 / N
        above = False
        models = []
        for t, ids in enumerate(schedule, 1):
            moves = []
            for i in ids:
                count[i] += 1
                r = count[i] / (share * t + 1e-6)
                above |= r > 1
                theta = w
                for _ in range(STEPS):
                    aligned = h[i] if alignment == "inner_product" else theta - (w - h[i])
                    slope = CURVATURES[i].numpy() * (theta - CENTRES[i].numpy())
                    theta = theta - LR * (slope + phi(r) * aligned)
                h[i] += phi(r) * (theta - w)
                moves.append(theta - w)
            w = w + np.mean(moves, axis=0) + h.mean(axis=0)
            models.append(w)
        algorithm = FedSSG(variant="paper_main", alpha=0.4, alignment=alignment, **keys)
        assert Simulation(algorithm, schedule, samples).models[1:].numpy() == pytest.approx(np.array(models), rel=1e-12)
        assert above

    @pytest.mark.parametrize(
        "keys",
        [
            {},
            {"beta": 0.5, "cv_lr": "current"},
            {"server_mean": "population"},
            {"memo_correction": False},
            {"penalty": False},
            {"gradient_correction": False},
            {"penalty": False, "gradient_correction": False, "memo_correction": False},
        ],
    )
    def test_algorithm_1_of_fedssg_by_hand(self, keys):
        """Lines 3 to 13 with eqs. 19, 23 and 28; alpha is not divided by omega; a learning rate that shrinks."""
        samples = (1, 2, 3, 4, 5)
        share = 15 / 6 / N
        rates = [LR * 0.9**index for index in range(6)]
        w = np.zeros(D)
        overall = np.zeros(D)
        h = np.zeros((N, D))
        last = np.zeros((N, D))
        count = np.zeros(N)
        models = []
        for t, ids in enumerate(PARTIAL):
            before = last.copy()
            local = []
            for i in ids:
                theta = w
                eta = rates[t] if keys.get("cv_lr") == "current" else LR
                extra = 0.0
                if keys.get("penalty", True):
                    extra = extra + 0.4 * h[i]
                if keys.get("gradient_correction", True):
                    extra = extra + (before[i] - overall) / (eta * STEPS)
                for _ in range(STEPS):
                    theta = theta - rates[t] * (CURVATURES[i].numpy() * (theta - CENTRES[i].numpy()) + extra)
                count[i] += 1
                xi = count[i] / (6 * share) + keys.get("beta", 0.0)
                if not keys.get("memo_correction", True):
                    xi = 1.0
                last[i] = theta - w
                h[i] += xi * last[i]
                local.append(theta)
            total = np.sum(local, axis=0) + h[ids].sum(axis=0)
            w = total / (N if keys.get("server_mean") == "population" else len(ids))
            overall = last[ids].mean(axis=0)
            models.append(w)
        algorithm = FedSSG(variant="algorithm_1", alpha=0.4, **keys)
        this = Simulation(algorithm, PARTIAL, samples, rates)
        assert this.models[1:].numpy() == pytest.approx(np.array(models), rel=1e-11)

    def test_eq_23_with_epochs_as_its_unit(self):
        """The moves are divided by eta and epochs, where an epoch has several steps."""
        w = torch.ones(D)
        state = {**FedSSG(variant="algorithm_1").client_state(w), "move": 2 * w}
        local = LocalContext(w, 0.1, {"move": w}, state, steps=12.0, epoch_steps=4.0)
        for unit, length in {"steps": 12, "epochs": 3}.items():
            algorithm = FedSSG(variant="algorithm_1", correction_unit=unit, cv_lr="current")
            assert torch.allclose(algorithm.correct(0 * w, w, local), w / (0.1 * length))

    def test_the_ablation_of_fedssgs_program(self):
        """Each switch takes one term away; without all of them the memory alone survives, as in FedDyn with alpha 0."""
        off = {"penalty": False, "gradient_correction": False, "memo_correction": False}
        assert same(FedSSG(alpha=0.4, **off), FedDyn(alpha=0.0))
        assert same(FedSSG(alpha=0.4, penalty=False), FedSSG(alpha=0.0))
        assert same(FedSSG(alpha=0.4, memo_correction=False, penalty=False), FedDC(alpha=0.0))
        assert same(FedSSG(alpha=0.4, gradient_correction=False), self.MemoryAlone(alpha=0.4))
        for key in off:
            assert not same(FedSSG(alpha=0.4, **{key: False}), FedSSG(alpha=0.4))

    def test_without_its_correction_fedssg_sends_one_vector(self):
        for variant in ("code", "algorithm_1"):
            algorithm = FedSSG(variant=variant, gradient_correction=False)
            assert not algorithm.downlink(algorithm.server_state(torch.zeros(D)))
            assert set(algorithm.client_state(torch.zeros(D))) == {"h", "count"}

    def test_a_key_of_another_variant_is_refused(self):
        message = r"algorithm\.phi: belongs to paper_main: leave it out, or set variant: paper_main$"
        with pytest.raises(InputError, match=message):
            edgefl.load({"algorithm": {"kind": "fedssg", "phi": "logistic"}})
        message = r"algorithm\.penalty: belongs to code and algorithm_1: leave it out, or set variant: code$"
        with pytest.raises(InputError, match=message):
            edgefl.load({"algorithm": {"kind": "fedssg", "variant": "paper_main", "penalty": False}})

    def test_the_main_text_of_fedssg_sends_a_vector_each_way(self):
        algorithm = FedSSG(variant="paper_main")
        w = torch.zeros(D)
        assert not algorithm.downlink(algorithm.server_state(w))
        sent = algorithm.finish(w, LocalContext(w, 0.1, {}, algorithm.client_state(w)))
        assert {name: len(vector) for name, vector in sent.items()} == {"delta": D, "gate": 1}

    @pytest.mark.parametrize(
        ("algorithm", "server", "client"),
        [
            (FedDyn(alpha=0.2), "h", "h"),
            (FedDC(alpha=0.2), "h", "h"),
            (FedDC(alpha=0.2), "g", "g"),
            (FedSSG(), "h", "h"),
            (FedSSG(), "g", "g"),
            (FedVRA(), "dual", "dual"),
            (Scaffold(), "c", "c"),
            (Scaffold(option="I"), "c", "c"),
            (Mifa(state="client"), "mean", "G"),
        ],
    )
    def test_the_servers_mean_is_that_of_all_devices(self, algorithm, server, client):
        """After every round, with any participants (checklist, oracle 7)."""
        for rounds in range(1, len(PARTIAL) + 1):
            this = Simulation(algorithm, PARTIAL[:rounds])
            mean = torch.stack([each[client] for each in this.clients]).mean(dim=0)
            assert torch.allclose(this.states[-1][server], mean, rtol=1e-11, atol=1e-14)

    def test_corrections_of_unequal_devices_are_weighed_by_their_samples(self):
        """g = mean of omega_i g_i (card 1.6)."""
        samples = (1, 2, 3, 4, 5)
        this = Simulation(FedDC(alpha=0.2), PARTIAL, samples=samples)
        mean = sum(n / 3 * client["g"] for n, client in zip(samples, this.clients, strict=True)) / N
        assert torch.allclose(this.states[-1]["g"], mean, rtol=1e-11)

    @pytest.mark.oracle
    @pytest.mark.parametrize("algorithm", [FedDyn(alpha=0.5), FedDC(alpha=0.5), Scaffold(), Scaffold(option="I")])
    def test_drift_correction_finds_the_optimum_that_fedavg_misses(self, algorithm):
        """The optimum is that of the mean of unlike quadratics; several local steps, full participation."""
        optimum = (CURVATURES * CENTRES).sum(dim=0) / CURVATURES.sum(dim=0)
        schedule = [list(range(N))] * 120
        rates = (3 * LR,) * 120
        distance = torch.linalg.norm(Simulation(algorithm, schedule, rates=rates).models[-1] - optimum)
        missed = torch.linalg.norm(Simulation(UNIFORM, schedule, rates=rates).models[-1] - optimum)
        assert distance < 1e-6
        assert missed > 1e-4


class TestLastUpdates:
    """MIFA, FedVARP, FedAR."""

    @pytest.mark.parametrize("algorithm", [Mifa(), Mifa(wait=True), Mifa(state="client"), FedVarp(), FedAR(rho=0.7)])
    def test_full_participation_is_fedavg(self, algorithm):
        assert same(algorithm, UNIFORM, FULL, rates=[LR / (index + 1) for index in range(6)])
        assert not same(algorithm, UNIFORM, PARTIAL)

    def test_fedar_without_ages_is_mifa_over_devices_that_were_heard(self):
        """In every round its step is N / N_t times MIFA's from the same table (card 1.12, oracle iii)."""
        this = Simulation(FedAR(rho=0.0, cutoff_rule="constant", cutoff=1e9), PARTIAL)
        heard = set()
        for before, after, ids in zip(this.states, this.states[1:], PARTIAL, strict=False):
            heard |= set(ids)
            vectors = {"G": after["G"][ids]}
            updates = Updates(vectors, np.array(ids), np.ones(len(ids), dtype=np.int64), N, lr=LR)
            table = {"w": before["w"], "G": before["G"], "seen": torch.zeros(N, 1, dtype=torch.float64)}
            mifa = Mifa().aggregate(table, updates)["w"] - before["w"]
            assert torch.allclose(after["w"] - before["w"], N / len(heard) * mifa, rtol=1e-12)
        assert len(heard) == N > len(PARTIAL[0])

    def test_one_full_step_of_mifa_is_sag(self):
        """The step is the mean of the last gradients of all."""
        this = Simulation(Mifa(), PARTIAL, steps=1)
        table = torch.zeros(N, D, dtype=torch.float64)
        for before, after, ids in zip(this.models, this.models[1:], PARTIAL, strict=False):
            table[ids] = CURVATURES[ids] * (before - CENTRES[ids])
            assert torch.allclose(after, before - LR * table.mean(dim=0), rtol=1e-12, atol=1e-14)

    def test_the_mean_of_fedvarp_is_that_of_last_moves(self):
        """y-bar, added up over the rounds by (1/N) sum_S (delta_i - y_i), leads each step (checklist, oracle 7)."""
        this = Simulation(FedVarp(), PARTIAL)
        mean = torch.zeros(D, dtype=torch.float64)
        last = {}
        for ids, moves, before, after in zip(PARTIAL, this.moves, this.states, this.states[1:], strict=False):
            news = torch.stack([move - last.get(i, 0 * move) for i, move in zip(ids, moves, strict=True)])
            assert torch.allclose(after["w"] - before["w"], mean + news.mean(dim=0), rtol=1e-11)
            mean = mean + news.sum(dim=0) / N
            last = last | dict(zip(ids, moves, strict=True))
            assert torch.allclose(after["y"].mean(dim=0), mean, rtol=1e-12, atol=1e-15)

    def test_old_updates_shrink_with_the_learning_rate(self):
        """Stored by the step: an update of a round with lr 0.05 counts a fifth in one with 0.01 (card 1.10, 8)."""
        this = Simulation(Mifa(), [[0], [1]], rates=(0.05, 0.01))
        step = this.models[2] - this.models[1]
        assert torch.allclose(step, (this.moves[0][0] / 5 + this.moves[1][0]) / N, rtol=1e-12)

    EMPTY = ([0, 1], [], [1], [], [], [0])  # who arrives: device 2 never does

    def rounds_in_vain(self, tmp_path, algorithm):
        """F_i(x) = a_i/2 (x - b_i)^2 with a = (1, 2, 4), b = (1, -1, 3), two steps, a learning rate that shrinks."""
        path = tmp_path / "there.csv"
        path.write_text("device,on_s,off_s\n0,0,inf\n1,0,inf\n")
        functions = [[a / 2, -a * b, a * b * b / 2] for a, b in [(1, 1), (2, -1), (4, 3)]]
        training = {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial"}
        training["lr_schedule"] = {"kind": "exponential", "decay": 0.9}
        scenario = {
            "rounds": 6,
            "data": {"dataset": "quadratic", "coefficients": functions},
            "model": {"init": {"kind": "value", "value": 0.0}},
            "training": training,
            "algorithm": algorithm,
            "churn": {"kind": "trace", "path": str(path)},
            "server": {"selection": {"kind": "schedule", "rounds": [ids or [2] for ids in self.EMPTY]}},
        }
        rounds = edgefl.run(scenario).rounds
        assert rounds["received"].tolist() == [len(ids) for ids in self.EMPTY]
        return rounds

    def replayed(self, step):
        """The models, where `step` makes the server's from the last updates G [3], their ages [3] and the round."""
        x = 0.0
        g = np.zeros(3)
        age = np.full(3, np.inf)
        models = []
        for index, ids in enumerate(self.EMPTY):
            lr = 0.05 * 0.9**index
            age = age + 1
            for i in ids:
                way = 1 - (1 - lr * [1, 2, 4][i]) ** 2  # of two steps, to the optimum
                g[i] = way * (x - [1, -1, 3][i]) / lr
                age[i] = 0
            x -= lr * step(g, age, index)
            models.append(x)
        return models

    @pytest.mark.parametrize("state", ["server", "client"])
    def test_mifa_steps_in_rounds_without_participants(self, state, tmp_path):
        """Card 1.10.5: the table counts in each round, by its learning rate."""
        rounds = self.rounds_in_vain(tmp_path, {"kind": "mifa", "state": state})
        expected = self.replayed(lambda g, *_: g.sum() / 3)
        assert rounds["parameter"].to_numpy() == pytest.approx(expected, abs=1e-12)
        assert rounds["seen"].tolist() == [2] * 6

    @pytest.mark.parametrize("state", ["server", "client"])
    def test_mifa_that_waits_stands_still(self, state, tmp_path):
        rounds = self.rounds_in_vain(tmp_path, {"kind": "mifa", "state": state, "wait": True})
        assert rounds["parameter"].tolist() == [0.0] * 6

    @pytest.mark.parametrize("keys", [{}, {"cutoff_slope": 0.0, "cutoff": 2.0}, {"cutoff_slope": 0.0, "cutoff": 1.0}])
    def test_fedar_steps_in_rounds_without_participants(self, keys, tmp_path):
        """Card 1.12.5: all ages grow; those beyond g(t) do not count, and w stays where none does."""
        cutoff = keys.get("cutoff", 50)
        slope = keys.get("cutoff_slope", 0.4)
        counting = []

        def step(g, age, index):
            psi = np.minimum((age + 1) ** 0.5, 2) * (age < cutoff + slope * (index + 1))
            counting.append((psi > 0).sum())
            return psi @ g / max(counting[-1], 1)

        rounds = self.rounds_in_vain(tmp_path, {"kind": "fedar", "rho": 0.5, **keys})
        assert rounds["parameter"].to_numpy() == pytest.approx(self.replayed(step), abs=1e-12)
        assert rounds["contributing"].tolist() == counting

    def test_other_algorithms_do_not_step_without_participants(self, tmp_path):
        """Card 1.11 has no mean over no devices: FedVARP keeps w."""
        x = self.rounds_in_vain(tmp_path, {"kind": "fedvarp"})["parameter"].to_numpy()
        assert (np.diff(x) == 0).tolist() == [True, False, True, True, False]

    @pytest.mark.parametrize("wait", [False, True])
    def test_mifas_state_may_be_anywhere(self, wait):
        assert same(Mifa(wait=wait), Mifa(state="client", wait=wait))

    @pytest.mark.parametrize("state", ["server", "client"])
    def test_mifa_waits_for_all_devices(self, state):
        """No step before, then one of all from the first model."""
        this = Simulation(Mifa(wait=True, state=state), [[0, 1], [1, 2], [3, 4], [0]])
        full = Simulation(UNIFORM, FULL[:1])
        assert torch.equal(this.models[:3], torch.zeros(3, D, dtype=torch.float64))
        assert torch.allclose(this.models[3], full.models[1], rtol=1e-12)
        assert [trace["seen"] for trace in this.traces] == [2, 3, 5, 5]

    def test_the_first_round_of_fedvarp_is_fedavg(self):
        assert torch.allclose(Simulation(FedVarp(), PARTIAL[:1]).models, Simulation(UNIFORM, PARTIAL[:1]).models)

    def test_fedvarp_is_unbiased_over_uniform_participants(self):
        """The mean of its step over all pairs is the mean move, whatever the table holds (SAGA)."""
        generator = torch.manual_seed(3)
        moves, y = (torch.randn(N, D, generator=generator, dtype=torch.float64) for _ in range(2))
        server = {"w": torch.zeros(D, dtype=torch.float64), "y": y}
        steps = [
            FedVarp().aggregate(server, Updates({"delta": moves[list(ids)]}, np.array(ids), np.ones(2), N))["w"]
            for ids in combinations(range(N), 2)
        ]
        assert torch.allclose(torch.stack(steps).mean(dim=0), moves.mean(dim=0), rtol=1e-12)
        assert max(torch.linalg.norm(step - moves.mean(dim=0)) for step in steps) > 0.1

    def test_fedar_of_any_age_is_mifa(self):
        """Equal weights once all devices have been heard."""
        heard = [list(range(N)), *PARTIAL[:5]]
        assert same(FedAR(rho=0.0, cutoff=1e9), Mifa(), heard)
        assert not same(FedAR(rho=0.1, cutoff=1e9), Mifa(), heard)

    def test_fedar_of_fresh_updates_alone_is_fedavg(self):
        assert same(FedAR(rho=0.9, cutoff=1.0, cutoff_slope=0.0), UNIFORM)

    def test_fedars_weights(self):
        """psi(0) = 1, psi(9) = 10^0.1, psi(1023) = 2 and no more; 0 from the cut-off on (card 1.12, 7)."""
        ages = torch.tensor([0.0, 9.0, 1023.0, 10_000.0, 100_000.0, torch.inf], dtype=torch.float64)
        psi = FedAR(cutoff=100_000.0, cutoff_slope=0.0).weights(ages, 0, RunInfo()).tolist()
        assert psi == pytest.approx([1, 1.2589254118, 2, 2, 0, 0], rel=1e-10)
        counts = FedAR().weights(torch.tensor([53.9, 54.0]), 9, RunInfo()) > 0  # in the tenth round, 50 + 0.4 * 10
        assert counts.tolist() == [True, False]

    def test_fedars_ages(self):
        this = Simulation(FedAR(), PARTIAL)
        last = [max(t for t, ids in enumerate(PARTIAL) if i in ids) for i in range(N)]
        assert this.states[-1]["age"][:, 0].tolist() == [len(PARTIAL) - 1 - t for t in last]

    def test_too_large_tables_are_refused_in_one_line(self, monkeypatch):
        monkeypatch.setattr(learner_module, "budget", lambda _: 1000)
        with pytest.raises(RunError, match="what the server keeps of each of 20 devices does not fit"):
            edgefl.run(digits({"kind": "fedvarp"}))


class TestFedDisco:
    def test_published_weights(self):
        weights = disco_weights([10, 20, 30], np.array([0.5, 0.2, 0.3]), 0.5, 0.1)
        assert weights == pytest.approx([0.020833333333, 0.416666666667, 0.5625], abs=1e-12)

    def test_published_divergence(self):
        from_uniform = discrepancy(np.array([[7, 2, 1], [5, 5, 5]]), np.ones(3), "kl")
        assert from_uniform == pytest.approx([0.296793736125, 0.0], abs=1e-12)

    @pytest.mark.oracle
    @given(
        st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 5)), min_size=1, max_size=8),
        st.floats(0, 10),
        st.floats(0, 3),
    )
    @settings(max_examples=60, deadline=None)
    def test_weights_are_shares(self, clients, a, b):
        samples, distance = (np.array(column) for column in zip(*clients, strict=True))
        weights = disco_weights(samples, distance, a, b)
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()

    def test_feddisco_tends_to_its_limits(self):
        n = np.array([10, 20, 30])
        d = np.array([0.5, 0.2, 0.3])
        assert disco_weights(n, d, 0, 0) == pytest.approx(n / 60)
        assert disco_weights(np.array([7, 7, 7]), np.full(3, 0.4), 0.5, 0.1) == pytest.approx(np.full(3, 1 / 3))
        assert disco_weights(n, d, 0.5, 1e9) == pytest.approx(np.full(3, 1 / 3), rel=1e-6)
        assert disco_weights(n, np.array([0, 1, 0]), 50, 0.1)[1] == 0
        assert disco_weights(n, d, 1e6, 0.1) == pytest.approx(n / 60)  # no device is left

    def test_the_server_knows_the_labels(self, learner):
        of = learner(FedDisco())
        updates = train(of, {})
        y = data().train_y
        expected = [[int((y[part] == label).sum()) for label in range(3)] for part in parts()]
        assert updates.labels.tolist() == expected


class TestFedAvgOptions:
    def test_importance_sampling_of_devices_that_are_always_present_is_fedavg(self):
        assert same(FedAvg(availability=1.0), UNIFORM, FULL)

    def test_importance_is_unbiased(self):
        """The mean over all sets of available devices, each as likely as its coins say, is the mean move."""
        p = (0.3, 0.9, 0.5, 0.2, 0.7)
        moves = torch.randn(N, D, generator=torch.manual_seed(4), dtype=torch.float64)
        mean = torch.zeros(D, dtype=torch.float64)
        for coins in product([False, True], repeat=N):
            ids = np.flatnonzero(coins)
            if len(ids):
                updates = Updates({"delta": moves[ids]}, ids, np.ones(len(ids)), N)
                after = FedAvg(availability=p).aggregate({"w": torch.zeros(D, dtype=torch.float64)}, updates)
                mean += np.prod([q if coin else 1 - q for q, coin in zip(p, coins, strict=True)]) * after["w"]
        assert torch.allclose(mean, moves.mean(dim=0), rtol=1e-12)

    @pytest.mark.oracle
    def test_the_selections_probability_is_the_availability(self):
        base = digits({"kind": "fedavg", "availability": "selection"})
        base["server"] = {"selection": {"kind": "bernoulli", "probability": 0.4}}
        told = {**base, "algorithm": {"kind": "fedavg", "availability": 0.4}}
        assert np.array_equal(edgefl.run(base).parameters, edgefl.run(told).parameters)
        fixed = digits({"kind": "fedavg", "availability": "selection"})  # 5 of 20: 1 / (N m/N) = 1 / m
        uniform = digits({"kind": "fedavg", "weighting": "uniform"})
        assert edgefl.run(fixed).parameters == pytest.approx(edgefl.run(uniform).parameters, abs=1e-6)

    @pytest.mark.oracle
    @pytest.mark.parametrize("train", [False, True])
    def test_cap_limits_the_participants(self, train):
        base = digits({"kind": "fedavg", "max_participants": 3})
        base["server"] = {"selection": {"kind": "bernoulli", "probability": 0.3}}
        free = edgefl.run({**base, "algorithm": "fedavg"}, train=train)
        capped = edgefl.run(base, train=train)
        assert capped.rounds["selected"].tolist() == np.minimum(free.rounds["selected"], 3).tolist()
        assert free.rounds["selected"].max() > 3
        few, all_of = (set(zip(r.devices["round"], r.devices["device"], strict=True)) for r in (capped, free))
        assert few < all_of

    def test_admitted_devices_are_drawn_uniformly(self):
        """Each of ten in 3 of 10 rounds: 1,000 draws, standard deviation 14.5 of 300; five of them."""
        counts = np.zeros(10)
        for index in range(1000):
            admitted = FedAvg(max_participants=3).admit(np.arange(10), {}, Streams(1).generator("selection", 0, index))
            assert (np.diff(admitted) > 0).all()
            counts[admitted] += 1
        assert np.abs(counts - 300).max() < 73

    @pytest.mark.parametrize(
        ("availability", "message"),
        [
            ([0.5, 0.5], "algorithm: availability lists 2 devices, but there are 20"),
            (0.0, 'algorithm.availability: must be "selection", a number in (0, 1] or a list of such numbers, got 0.0'),
            (
                "often",
                (
                    'algorithm.availability: must be "selection", a number in (0, 1] '
                    'or a list of such numbers, got "often"'
                ),
            ),
        ],
    )
    def test_wrong_availabilities_are_refused_in_one_line(self, availability, message):
        with pytest.raises(InputError) as error:
            edgefl.run(digits({"kind": "fedavg", "availability": availability}))
        assert message in str(error.value)


SIZES = [7, 40, 23, 1, 50]
PLANS = {"serial": SERIAL, "vmap": Plan("batched", "vmap", 3), "layers": Plan("batched", "layers", 3)}


def data():
    return random_data(sum(SIZES))


def parts():
    return shuffled_parts(SIZES)


@pytest.fixture
def learner():
    """Makes learners, and closes them."""
    with learners() as make_any:

        def make(algorithm, engine="serial", model=None, of=None, **training):
            work = {"local_epochs": 2, **training}
            return make_any(model, algorithm, data=of or data(), parts=parts(), plan=PLANS[engine], **work)

        yield make


def train(of, received, index=0, start=None):
    updates, _ = train_round(of, range(len(SIZES)), index, start, received)
    return updates


MEMBERS = [
    Scaffold(),
    Scaffold(option="I"),
    FedDyn(alpha=0.1),
    FedDC(alpha=0.1),
    FedSSG(),
    FedSSG(variant="paper_main", phi="logistic"),
    FedSSG(variant="algorithm_1", correction_unit="epochs"),
]
MEMBERS += [FedVRA(), Mifa(state="client"), FedAR(), Moon(mu=2.0)]


class TestEngines:
    @pytest.mark.parametrize(
        ("algorithm", "engine"),
        [*zip(MEMBERS, ["vmap", "layers"] * 6, strict=False), (MEMBERS[1], "vmap"), (MEMBERS[-1], "layers")],
        ids=repr,
    )
    @pytest.mark.oracle
    def test_clients_together_are_clients_alone(self, learner, algorithm, engine):
        """Two rounds with what clients remember; unequal clients, short batches, clipping and momentum."""
        solver = {"momentum": 0.5, "clip_norm": 1.0, "lr_schedule": {"kind": "exponential", "decay": 0.5}}
        models = []
        for of in (learner(algorithm, "serial", **solver), learner(algorithm, engine, **solver)):
            state = of.begin(3, 5)
            for index in range(2):
                updates = train(of, algorithm.downlink(state), index, algorithm.broadcast(state))
                state = of.aggregate(state, updates)
            models.append(state["w"])
        assert torch.allclose(*models, rtol=1e-9, atol=1e-11)
        assert not torch.allclose(models[0], learner(algorithm).initial, atol=1e-2)

    def test_hooks_know_the_facts_of_the_run(self, learner):
        """K_ref = E ceil(n / (N B)) (cards, section 0.3), the round and its learning rate."""
        of = learner(FedAvg(), local_epochs=3, lr=0.2, lr_schedule={"kind": "exponential", "decay": 0.5}, momentum=0.4)
        of.begin(7, 2.5)
        updates = train(of, {}, 2)
        labels = (tuple(int((y == label).sum()) for label in range(3)) for y in (data().train_y, data().test_y))
        expected = RunInfo(
            5, 7, 2.5, 0.2, 3 * 2, 0.4, *labels, samples=24.2, work=(3, None, 16), seed=of.task.streams.seed
        )  # N, T, m, eta_0, K_ref
        assert updates.run == of.run == expected
        assert (updates.index, updates.lr) == (2, pytest.approx(0.05))


class TestScaffoldOptionI:
    @pytest.mark.oracle
    @pytest.mark.parametrize("engine", list(PLANS))
    def test_control_variates_are_gradients_of_all_samples(self, learner, engine):
        algorithm = Scaffold(option="I")
        of = learner(algorithm, engine)
        updates = train(of, algorithm.downlink(of.begin(1, 5)))
        module = Fcn(hidden=(8,)).module((4, 5), 3).double()
        arrays = data()
        for row, part in enumerate(parts()):
            torch.nn.utils.vector_to_parameters(of.initial.clone(), module.parameters())
            outputs = module(torch.from_numpy(arrays.train_x[part]))
            loss = cross_entropy(outputs, torch.from_numpy(arrays.train_y[part]))
            expected = torch.nn.utils.parameters_to_vector(torch.autograd.grad(loss, list(module.parameters())))
            assert torch.allclose(updates.vectors["delta_c"][row], expected, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("engine", list(PLANS))
    def test_one_full_batch_step_is_option_ii(self, learner, engine):
        models = []
        for option in ("I", "II"):
            algorithm = Scaffold(option=option)
            of = learner(algorithm, engine, batch_size="full", local_epochs=None, local_steps=1)
            state = of.begin(3, 5)
            for index in range(3):
                state = of.aggregate(state, train(of, algorithm.downlink(state), index, state["w"]))
            models.append(state["w"])
        assert torch.allclose(*models, rtol=1e-9, atol=1e-12)

    @pytest.mark.oracle
    @pytest.mark.usefixtures("narrow_svhn_cnn")
    def test_with_batch_normalisation_and_dropout(self, learner):
        """The extra pass leaves the statistics alone, and meets a last batch of one sample."""
        rng = np.random.default_rng(0)
        images = [rng.normal(size=(k, 3, 8, 8)).astype(np.float32) for k in (sum(SIZES), 5)]
        labels = [rng.integers(0, 3, len(x)) for x in images]
        of_images = Data(images[0], labels[0], images[1], labels[1], classes=3)
        shift = []
        statistics = []
        for option in ("I", "II"):
            algorithm = Scaffold(option=option)
            of = learner(algorithm, "serial", SvhnCnn(), of_images, batch_size=11, local_epochs=1)
            updates = train(of, algorithm.downlink(of.begin(1, 5)))
            shift.append(updates.vectors["delta"])
            statistics.append(of.statistics)
        assert torch.equal(*shift)
        assert torch.equal(*statistics)

    def test_the_extra_pass_is_priced(self):
        plain, extra = (cost(Scaffold(option=option)) for option in ("II", "I"))
        per_sample = Mlp().flops_per_sample((8, 8), 10)
        assert extra.flops - plain.flops == pytest.approx(np.array([10, 120]) * per_sample, rel=1e-12)


def cost(algorithm):
    section = Training.model_validate({"batch_size": 50, "local_epochs": 2})
    return measure(Mlp(), algorithm, section, Digits().load(), np.array([10, 120]))


MOONS = {"fcn": Fcn(hidden=(8,)), "logistic": Logistic()}  # represents by its hidden layer, by its outputs


class TestMoon:
    def objective(self, model, w, previous, received, mu, temperature):
        """Return the objective of the first device's full batch: two logits and the entropy of the first."""
        x, y = (torch.from_numpy(each[parts()[0]]) for each in (data().train_x, data().train_y))
        module = MOONS[model].module((4, 5), 3).double()
        z = []
        for vector in (w, received, previous):
            torch.nn.utils.vector_to_parameters(vector, module.parameters())
            with torch.no_grad():
                z.append(module[:-1](x) if model == "fcn" else module(x))
                if vector is w:
                    task = cross_entropy(module(x), y)
        logits = torch.stack([cosine_similarity(z[0], other, dim=-1) for other in z[1:]], dim=-1) / temperature
        return float(task - mu * log_softmax(logits, dim=-1)[:, 0].mean())

    @pytest.mark.parametrize(
        ("engine", "model"), [("serial", "fcn"), ("vmap", "logistic"), ("layers", "fcn"), ("layers", "logistic")]
    )
    def test_gradient_against_finite_differences(self, learner, engine, model):
        """One full-batch step of the second round gives the gradient; differences along random directions."""
        algorithm = Moon(mu=3.0, temperature=0.7)
        lr = 0.5
        of = learner(algorithm, engine, MOONS[model], batch_size="full", local_epochs=None, local_steps=1, lr=lr)
        first = train(of, {}).vectors["delta"][0]
        generator = torch.manual_seed(0)
        start = of.initial + 0.3 * torch.randn(of.initial.shape, generator=generator, dtype=torch.float64)
        second = train(of, {}, 1, start).vectors["delta"][0]
        previous = of.initial + first
        step = 1e-6
        for _ in range(5):
            v = torch.randn(start.shape, generator=generator, dtype=torch.float64)
            ends = [self.objective(model, start + sign * step * v, previous, start, 3.0, 0.7) for sign in (1, -1)]
            assert float(-second / lr @ v) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-7)

    @pytest.mark.oracle
    def test_the_first_round_is_fedavg_at_a_loss_of_log_two_more(self):
        moon = edgefl.run({**digits({"kind": "moon", "mu": 5.0}), "rounds": 1})
        fedavg = edgefl.run({**digits("fedavg"), "rounds": 1})
        assert moon.parameters == pytest.approx(fedavg.parameters, abs=1e-6)
        more = moon.rounds["train_loss"].iloc[0] - fedavg.rounds["train_loss"].iloc[0]
        assert more == pytest.approx(5 * np.log(2), rel=1e-5)

    @pytest.mark.oracle
    def test_moon_without_contrast_equals_fedavg(self):
        moon = edgefl.run(digits({"kind": "moon", "mu": 0.0})).parameters
        fedavg = edgefl.run(digits("fedavg")).parameters
        assert moon == pytest.approx(fedavg, abs=1e-6)

    @pytest.mark.oracle
    def test_later_rounds_of_moon_are_not_those_of_fedavg(self):
        all_twice = {"server": {}, "rounds": 2}
        moon = {**digits({"kind": "moon", "mu": 5.0}, local_epochs=1), **all_twice}
        fedavg = {**digits("fedavg", local_epochs=1), **all_twice}
        assert edgefl.run(moon).parameters != pytest.approx(edgefl.run(fedavg).parameters, abs=1e-3)

    def test_two_more_forward_passes_are_priced(self):
        """5 F instead of 3 F (card 1.16, 3)."""
        moon, fedavg = (cost(algorithm).flops for algorithm in (Moon(), FedAvg()))
        samples = 2 * np.array([10, 120])
        forward = Mlp().flops_per_sample((8, 8), 10) / 3
        assert moon - fedavg == pytest.approx(2 * samples * forward, rel=1e-12)


@pytest.mark.oracle
def test_traces_are_columns_of_the_rounds():
    rounds = edgefl.run(digits({"kind": "fedar"})).rounds
    assert rounds["contributing"].is_monotonic_increasing
    assert rounds["contributing"].iloc[0] == 5
    assert (rounds["staleness_weight"] >= 1).all()
    assert "contributing" not in edgefl.run(digits("fedavg")).rounds
