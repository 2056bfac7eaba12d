"""Options of algorithms: other papers' programs, other bases, waiting, minimal uploads."""

import inspect
import json

import numpy as np
import pytest
import torch
from algorithm_cases import CENTRES, CURVATURES, FULL, LR, PARTIAL, STEPS, UNIFORM, D, N, Simulation, same

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS, Algorithm, RunInfo, Updates
from edgefl.learning.algorithms.fedacg import FedACG
from edgefl.learning.algorithms.fedar import FedAR
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.fedavgm import FedAvgM
from edgefl.learning.algorithms.feddc import FedDC
from edgefl.learning.algorithms.feddisco import FedDisco, disco_weights, discrepancy
from edgefl.learning.algorithms.feddyn import FedDyn
from edgefl.learning.algorithms.fednova import FedNova
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.algorithms.fedssg import FedSSG
from edgefl.learning.algorithms.fedvarp import FedVarp
from edgefl.learning.algorithms.fedvra import FedVRA
from edgefl.learning.algorithms.mifa import Mifa
from edgefl.learning.algorithms.reweighted import BASES
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.learning.algorithms.steps import initial_state
from edgefl.learning.algorithms.weighted import Weighted
from edgefl.learning.algorithms.wrapper import Wrapper
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.models.fcn import Mlp
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training

UNEQUAL = (1, 2, 3, 4, 5)
LABELS = np.array([[4, 0, 0], [2, 1, 1], [0, 0, 3], [1, 1, 1], [0, 5, 1]])
NO_MEMORY = [
    UNIFORM,
    FedProx(mu=0.0, weighting="uniform"),
    Scaffold(),
    FedNova(weighting="uniform"),
    Mifa(),
    Mifa(state="client"),
    FedVarp(),
    FedAR(),
    FedACG(server_momentum=0.0, beta=0.0),
    FedAvgM(server_momentum=0.0, weighting="uniform"),
    FedVRA(gamma=0.0),
    FedDisco(a=0.0, b=0.0, base=UNIFORM),
]


def quadratics(algorithm, rounds=4, schedule=None, **more):
    """The golden setting: a/2 (x - b)^2, a = (1, 2, 4), b = (1, -1, 3), two steps of 0.05 from 0."""
    selection = {"selection": {"kind": "schedule", "rounds": schedule}} if schedule else {}
    return {
        "rounds": rounds,
        "data": {"dataset": "quadratic", "coefficients": [[0.5, -1, 0.5], [1, 2, 1], [2, -12, 18]]},
        "model": {"init": {"kind": "value", "value": 0.0}},
        "training": {"local_steps": 2, "batch_size": "full", "lr": 0.05, "engine": "serial"},
        "algorithm": algorithm,
        "server": selection,
        **more,
    }


def models(scenario, **options):
    return edgefl.run(scenario, **options).rounds["parameter"].to_numpy()


class TestChecklist:
    """Algorithm cards, section 10, items 1, 2 and 4."""

    @pytest.mark.parametrize("algorithm", NO_MEMORY, ids=repr)
    @pytest.mark.parametrize("steps", [1, 3])
    def test_the_first_full_round_is_a_mean_of_local_training(self, algorithm, steps):
        """With one step that is gradient descent on the mean loss."""
        this = Simulation(algorithm, FULL[:1], steps=steps, labels=LABELS)
        moved = (CENTRES * (1 - (1 - LR * CURVATURES) ** steps)).mean(dim=0)
        assert torch.allclose(this.models[1], moved, rtol=1e-12)
        if steps == 1:
            assert torch.allclose(this.models[1], LR * (CURVATURES * CENTRES).mean(dim=0), rtol=1e-12)

    @pytest.mark.parametrize("algorithm", NO_MEMORY, ids=repr)
    def test_one_client_is_sgd(self, algorithm):
        this = Simulation(algorithm, [[0]] * 4, samples=(7,), labels=LABELS)
        left = (1 - LR * CURVATURES[0]) ** (STEPS * torch.arange(5)[:, None])
        assert torch.allclose(this.models, CENTRES[0] * (1 - left), rtol=1e-12)

    def test_the_first_full_round_of_fedvra_adds_its_mean_dual(self):
        """w + (1 + a gamma / d) mean(delta)."""
        this = Simulation(FedVRA(gamma=0.2, a=3.0, d=4.0), FULL[:1])
        assert torch.allclose(this.models[1], (1 + 3 * 0.2 / 4) * this.moves[0].mean(dim=0), rtol=1e-12)


CLIPPED = [  # an algorithm that is FedDyn, and the weights of devices with samples 1:2:3 in its server's mean
    ({"kind": "feddyn", "alpha": 0.3}, (1, 1, 1)),
    ({"kind": "fedvra", "variant": "ssg_code", "alpha": 0.3}, (1, 1, 1)),
    ({"kind": "feddisco", "base": {"kind": "feddyn", "alpha": 0.3}, "a": 0.0, "b": 0.0}, (1, 2, 3)),
]


class TestFedDynsProgram:
    @pytest.mark.parametrize("engine", ["serial", "batched"])
    @pytest.mark.parametrize(("algorithm", "counts"), CLIPPED, ids=lambda case: str(case)[:30])
    def test_clipping_leaves_its_weight_decay_alone(self, algorithm, counts, engine, tmp_path):
        """alpha_i (h_i - w) is clipped with the gradient, alpha_i theta comes after it (cards, 0.2 and 1.5)."""
        path = tmp_path / "parts.json"
        path.write_text(json.dumps({str(i): [i] * (i + 1) for i in range(3)}))
        rounds = [[0, 1], [1, 2], [0, 2], [0, 1, 2]]
        scenario = quadratics(algorithm, 4, rounds)
        scenario["data"]["partition"] = {"kind": "file", "path": str(path)}
        scenario["training"] |= {"clip_norm": 1.5, "weight_decay": 0.2, "lr": 0.4, "engine": engine, "width": 3}
        a = [1, 2, 4]
        b = [1, -1, 3]
        omega = [0.5, 1, 1.5]
        clipped = []
        x = 0.0
        h = np.zeros(3)
        expected = []
        for ids in rounds:
            moves = np.zeros(3)
            for i in ids:
                w = x
                alpha = 0.3 / omega[i]
                for _ in range(2):
                    g = a[i] * (w - b[i]) + alpha * (h[i] - x)
                    clipped.append(abs(g) > 1.5)
                    w -= 0.4 * (g * min(1, 1.5 / (abs(g) + 1e-6)) + (0.2 + alpha) * w)
                moves[i] = w - x
            h += moves
            x += np.average(moves[ids], weights=np.array(counts)[ids]) + h.mean()
            expected.append(x)
        assert 0 < sum(clipped) < len(clipped)
        assert models(scenario) == pytest.approx(expected, abs=1e-11)


class TestFedVRA:
    @pytest.mark.parametrize("samples", [(1,) * N, UNEQUAL])
    def test_fedssgs_program_is_feddyn(self, samples):
        """Number for number; gamma, a and d have no part in it."""
        first = Simulation(FedVRA(variant="ssg_code", alpha=0.3, gamma=9.0), PARTIAL, samples=samples)
        assert torch.equal(first.models, Simulation(FedDyn(alpha=0.3), PARTIAL, samples=samples).models)
        assert not same(FedVRA(), FedDyn(), samples=samples)


def scaffold(variant, schedule, samples, rates):
    """The models of the three programs, in sums over the past."""
    a = CURVATURES.numpy()
    b = CENTRES.numpy()
    n = np.array(samples)
    omega = n / n.mean()
    x = np.zeros(D)
    c = np.zeros(D)
    of = np.zeros((N, D))
    models = [x]
    for ids, lr in zip(schedule, rates, strict=True):
        moves = []
        news = []
        q = n[ids] / n[ids].sum()
        for i in ids:
            constant = {"ssg_code": c / omega[i] - of[i], "dyn": 0 * c, "eve_code": c - of[i]}[variant]
            w = x
            for _ in range(STEPS):
                w = w - lr * (a[i] * (w - b[i]) + constant)
            moves.append(w - x)
            news.append(of[i] - c - (w - x) / (STEPS * lr))
        moves = np.array(moves)
        news = np.array(news)
        if variant == "ssg_code":
            x = x + moves.mean(axis=0)
            c = c + omega[ids] @ (news - of[ids]) / N
        elif variant == "dyn":
            x = x + lr * q @ moves
            c = c + q @ (news - of[ids])
        else:
            x = x + q @ moves
            c = c + (news.mean(axis=0) - c)
        of[ids] = news
        models.append(x)
    return np.array(models)


class TestScaffold:
    @pytest.mark.parametrize("variant", ["ssg_code", "dyn", "eve_code"])
    def test_programs(self, variant):
        """Unequal devices, partial participation, a learning rate that shrinks."""
        rates = [LR * 0.9**index for index in range(6)]
        this = Simulation(Scaffold(variant=variant), PARTIAL, samples=UNEQUAL, rates=rates).models.numpy()
        assert this == pytest.approx(scaffold(variant, PARTIAL, UNEQUAL, rates), rel=1e-11, abs=1e-14)
        assert not same(Scaffold(variant=variant), Scaffold(), samples=UNEQUAL)

    def test_fedssgs_program_equals_the_paper_for_equal_devices(self):
        assert same(Scaffold(variant="ssg_code"), Scaffold())

    @pytest.mark.parametrize(
        ("variant", "minimal", "engine"),
        [
            ("ssg_code", False, "batched"),
            ("ssg_code", True, "serial"),
            ("eve_code", False, "serial"),
            ("eve_code", True, "batched"),
        ],
    )
    def test_programs_differ_from_papers_in_their_steps(self, variant, minimal, engine, tmp_path):
        """Samples 1:2:3, two epochs of batches of 2.

        FedSSG's program takes E ceil(n / (N B)) = 2 steps everywhere, and averages uniformly. FedEve's takes 2, 2 and
        4, divides by E (floor(n_i / B) + 1), and averages models by samples.
        """
        steps = divisors = (2, 2, 2)
        if variant == "eve_code":
            steps = (2, 2, 4)
            divisors = (2, 4, 4)
        path = tmp_path / "parts.json"
        path.write_text(json.dumps({str(i): [i] * (i + 1) for i in range(3)}))
        rounds = [[0, 1], [1, 2], [0, 2], [0, 1, 2]]
        scenario = quadratics({"kind": "scaffold", "variant": variant}, 4, rounds)
        scenario["data"]["partition"] = {"kind": "file", "path": str(path)}
        scenario["training"] = {"local_epochs": 2, "batch_size": 2, "lr": 0.05, "engine": engine, "width": 3}
        scenario["training"]["minimal_uploads"] = minimal
        a = [1, 2, 4]
        b = [1, -1, 3]
        omega = np.array([0.5, 1, 1.5])
        x = 0.0
        c = 0.0
        of = np.zeros(3)
        expected = []
        for ids in rounds:
            moves = []
            news = of.copy()
            for i in ids:
                w = x
                common = c / omega[i] if variant == "ssg_code" else c
                constant = common - of[i]
                for _ in range(steps[i]):
                    w -= 0.05 * (a[i] * (w - b[i]) + constant)
                moves.append(w - x)
                news[i] = of[i] - c + (x - w) / (divisors[i] * 0.05)
            if variant == "ssg_code":
                x += np.mean(moves)
                c = c + omega @ (news - of) / 3
            else:
                x += omega[ids] @ moves / omega[ids].sum()
                c = news[ids].mean()
            of = news
            expected.append(x)
        assert models(scenario) == pytest.approx(expected, abs=1e-11)

    def test_the_program_of_the_dynamic_devices_paper_has_no_option_i(self):
        message = r"algorithm\.option: the variant dyn knows only II: leave it out, or take another variant$"
        with pytest.raises(InputError, match=message):
            edgefl.load({"algorithm": {"kind": "scaffold", "variant": "dyn", "option": "I"}})

    def test_fedssgs_control_variate_is_the_weighted_mean(self):
        this = Simulation(Scaffold(variant="ssg_code"), PARTIAL, samples=UNEQUAL)
        mean = sum(n / 3 * client["c"] for n, client in zip(UNEQUAL, this.clients, strict=True)) / N
        assert torch.allclose(this.states[-1]["c"], mean, rtol=1e-11)

    def test_fedeves_rule_is_the_papers_under_full_participation(self):
        """The rules agree if c is the mean c_i already; and c moves less at a lower server_lr."""
        assert same(Scaffold(variant="eve_code"), Scaffold(), FULL)
        slow = Simulation(Scaffold(variant="eve_code", server_lr=0.5), FULL[:1])
        assert torch.allclose(slow.states[-1]["c"], torch.stack([each["c"] for each in slow.clients]).mean(dim=0) / 2)


class TestFedDisco:
    @pytest.mark.parametrize("name", list(BASES.members))
    def test_feddisco_without_discrepancy_equals_its_base(self, name):
        """a = b = 0 and alike devices: weights of 1 / m."""
        base = BASES.load(name)()
        first = Simulation(FedDisco(base=base, a=0.0, b=0.0), PARTIAL, labels=LABELS)
        assert torch.allclose(first.models, Simulation(base, PARTIAL).models, rtol=1e-11, atol=1e-14)
        assert not torch.allclose(Simulation(FedDisco(base=base), PARTIAL, labels=LABELS).models, first.models)

    def test_feddisco_on_feddyn_agrees_with_fedssgs_program(self):
        """sum_k a_k w_k + mean of all drifts; local training, and drifts, are FedDyn's."""
        this = Simulation(FedDisco(base=FedDyn(alpha=0.2)), PARTIAL, UNEQUAL, labels=LABELS)
        drift = torch.zeros(D, dtype=torch.float64)
        plain = Simulation(FedDyn(alpha=0.2), PARTIAL[:1], UNEQUAL)
        assert torch.equal(this.moves[0], plain.moves[0])
        for ids, moves, before, after in zip(PARTIAL, this.moves, this.models, this.models[1:], strict=False):
            p = LABELS[ids] / LABELS[ids].sum(axis=1, keepdims=True)
            distance = np.array([sum(x * np.log(3 * x) for x in row if x) for row in p])
            weights = torch.from_numpy(disco_weights(np.array(UNEQUAL)[ids], distance, 0.5, 0.1))
            drift = drift + moves.sum(dim=0) / N
            assert torch.allclose(after, before + weights @ moves + drift, rtol=1e-11)

    def test_distances(self):
        """Distances of (1, 0, 0) and (1/4, 1/4, 1/2) from (1/2, 1/4, 1/4), which counts 2 : 1 : 1."""
        labels = np.array([[3, 0, 0], [1, 1, 2]])
        reference = np.array([2.0, 1.0, 1.0])
        expected = {
            "kl": [np.log(2), 0.25 * np.log(0.5) + 0.5 * np.log(2)],
            "l1": [1.0, 0.5],
            "l2": [np.sqrt(6) / 4, np.sqrt(2) / 4],
            "cosine": [1 - 2 / np.sqrt(6), 1 - 5 / 6],
        }
        for name, values in expected.items():
            assert discrepancy(labels, reference, name) == pytest.approx(values, rel=1e-12)
        assert discrepancy(labels, np.array([1.0, 0.0, 1.0]), "kl")[1] == np.inf

    @pytest.mark.parametrize("reference", ["global", "test"])
    def test_other_references(self, reference):
        """The only participant that is like the reference has no distance; the other one loses all weight."""
        run = RunInfo(labels=(1, 3), test_labels=(3, 1))
        moves = torch.eye(2, dtype=torch.float64)
        labels = np.array([[10, 30], [30, 10]])
        updates = Updates({"delta": moves}, np.arange(2), np.ones(2, dtype=np.int64), 2, labels=labels, run=run)
        after = FedDisco(a=9.0, b=0.0, reference=reference).aggregate({"w": torch.zeros(2).double()}, updates)
        assert after["w"].tolist() == ([1, 0] if reference == "global" else [0, 1])

    def test_a_reference_without_a_label_is_refused_in_one_line(self, tmp_path):
        x = np.zeros((8, 2), dtype=np.float32)
        y = np.array([0, 1] * 4)
        np.savez(tmp_path / "few.npz", train_x=x, train_y=y, test_x=x[:2], test_y=np.array([0, 0]))
        data = {"dataset": "npz", "path": str(tmp_path / "few.npz")}
        algorithm = {"kind": "feddisco", "reference": "test"}
        scenario = {"rounds": 1, "data": data, "model": "logistic", "devices": {"count": 2}, "algorithm": algorithm}
        result = edgefl.run({**scenario, "training": {"engine": "serial"}})
        assert "devices have labels that the reference test lacks" in result.error

    def test_keys_of_feddisco_are_nested_and_round_trip(self):
        algorithm = {"kind": "feddisco", "base": {"kind": "feddyn", "alpha": 0.4}, "distance": "l1"}
        scenario = quadratics(algorithm, rounds=1)
        assert edgefl.run(scenario).scenario["algorithm"] == {**algorithm, "a": 0.5, "b": 0.1, "reference": "uniform"}

    @pytest.mark.parametrize(
        ("base", "message"),
        [
            ("mifa", 'algorithm.base: unknown base algorithm "mifa"'),
            ({"kind": "feddyn", "mu": 1}, "algorithm.base.mu: unknown key"),
            ({"kind": "fedavg", "max_participants": 2, "mode": "wait"}, "algorithm.base.mode: feddisco weighs"),
        ],
    )
    def test_wrong_bases_are_refused_in_one_line(self, base, message):
        with pytest.raises(InputError) as error:
            edgefl.run(quadratics({"kind": "feddisco", "base": base}))
        assert message in str(error.value)

    def test_a_wrapper_passes_every_hook_to_its_base(self):
        """A new hook of Algorithm must not stop at the wrapper."""
        members = {name: member for name, member in vars(Algorithm).items() if name[0] != "_"}
        hooks = {name for name, member in members.items() if inspect.isfunction(member) or isinstance(member, property)}
        assert {"check", "replays", "aggregate"} <= hooks <= set(vars(Wrapper))


GROUPS = {"count": 3, "groups": [{"name": "phones", "count": 2}, {"name": "boards", "count": 1}]}
TURNS = [[0, 1], [1, 2], [0, 1, 2]]


class TestWeighted:
    @pytest.mark.parametrize(
        ("weights", "expected"),
        [
            ([3, 1, 2], (3, 1, 2)),
            ({"file": "weights.csv", "column": "p"}, (3, 1, 2)),
            ({"boards": 5, "phones": 2}, (2, 2, 5)),
            ("uniform", (1, 1, 1)),
        ],
        ids=str,
    )
    def test_participants_count_by_the_weights_of_their_device(self, weights, expected, tmp_path, monkeypatch):
        """The model moves by sum_k p_k (b_k - x) (1 - (1 - lr a_k)^2) / sum_k p_k over the participants k."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "weights.csv").write_text("q,p\n9,3\n9,1\n9,2\n")
        run = quadratics({"kind": "weighted", "weights": weights}, 3, TURNS, devices=GROUPS)
        found = edgefl.run(run, out="out").rounds["parameter"].to_numpy()
        x = 0.0
        for ids, model in zip(TURNS, found, strict=True):
            p = np.array(expected)[ids]
            taken = 1 - (1 - 0.05 * np.array([1, 2, 4])[ids]) ** 2
            x += p / p.sum() @ ((np.array([1, -1, 3])[ids] - x) * taken)
            assert model == pytest.approx(x, abs=1e-6)
        (tmp_path / "weights.csv").unlink()
        assert (models("out/scenario.yaml") == found).all()

    @pytest.mark.parametrize("base", list(BASES.members))
    def test_weights_by_samples_or_uniform_are_those_of_any_base(self, base):
        """Moves of each device are those of its base; in a first round without memory, the model is their mean."""
        algorithm = Weighted(base=BASES.load(base)(), weights="samples")
        by_samples = Simulation(algorithm, FULL[:1], UNEQUAL).states[-1]["w"]
        given = Weighted(base=BASES.load(base)(), weights=UNEQUAL)
        assert torch.allclose(Simulation(given, FULL[:1], UNEQUAL).states[-1]["w"], by_samples, rtol=1e-12)
        uniform = Weighted(base=BASES.load(base)(), weights="uniform")
        assert not torch.allclose(Simulation(uniform, FULL[:1], UNEQUAL).states[-1]["w"], by_samples)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ({"phones": 1}, "algorithm.weights: lacks the group boards: give a number for each of: phones, boards"),
            (
                {"phones": 1, "bords": 1},
                r'algorithm.weights.bords: unknown group \(did you mean "boards"\?\); devices.',
            ),
            ([1, 2], "algorithm: weights lists 2 devices, but there are 3: give one number for each"),
            ([1, 0, 1], r"algorithm.weights: must be samples, uniform, a list .*, got \[1, 0, 1\]"),
            ({"file": "no.csv", "column": "p"}, "algorithm.weights: .*no.csv: cannot be read"),
        ],
    )
    def test_wrong_weights_are_refused_in_one_line(self, weights, message):
        with pytest.raises(InputError, match=message):
            edgefl.load(quadratics({"kind": "weighted", "weights": weights}, devices=GROUPS))


class TestFedAR:
    def test_cut_offs(self):
        """Theorems 1 and 2 of the paper, and a constant; t = 10."""
        run = RunInfo(population=20, steps=5)
        keys = {"cutoff": 30.0, "cutoff_slope": 0.25}
        assert FedAR(**keys).cutoff_rounds(9, run) == pytest.approx(30 + 10 / 4)
        assert FedAR(cutoff_rule="constant", **keys).cutoff_rounds(9, run) == 30
        constants = {"smoothness": 2.0, "dissimilarity": 3.0, "hessian_lipschitz": 0.1}
        root = FedAR(cutoff_rule="root", **keys, **constants)
        assert root.cutoff_rounds(9, run) == pytest.approx(0.25 * np.sqrt(2 / ((4 + 3 * 0.1 * 20) * 5 * 20)) * 30**0.5)
        ratio = root.cutoff_rounds(119, run) / root.cutoff_rounds(9, run)
        assert ratio == pytest.approx(2)  # sqrt(120 / 30)

    def test_the_root_rule_can_count_all_or_the_fresh_alone(self):
        flat = FedAR(cutoff_rule="root", smoothness=1e-12, dissimilarity=0.0)
        assert same(flat, FedAR(cutoff=1e9))
        assert same(FedAR(cutoff_rule="root"), UNIFORM)


class TestFedAvgWaits:
    STEPS_TAKEN = 1 - (1 - 0.05 * np.array([1, 2, 4])) ** 2  # of the way to the optimum in two steps
    OPTIMA = np.array([1.0, -1.0, 3.0])

    def moved(self, x, ids):
        return x + np.mean([(self.OPTIMA[i] - x) * self.STEPS_TAKEN[i] for i in ids])

    def wait(self, count, schedule, rounds=4, **more):
        algorithm = {"kind": "fedavg", "max_participants": count, "mode": "wait"}
        return quadratics(algorithm, rounds, schedule, **more)

    def test_by_hand(self):
        """All three awaited: the model moves when the third one has been heard, from the same w for all."""
        first = self.moved(0.0, [0, 1, 2])
        second = self.moved(first, [0, 1, 2])
        result = edgefl.run(self.wait(3, [[0, 1], [1, 2], [0, 2], [0, 1, 2]]))
        assert result.rounds["parameter"].to_numpy() == pytest.approx([0, first, first, second], abs=1e-12)
        assert result.rounds["selected"].tolist() == [2, 1, 2, 1]  # who has been heard is left out
        assert result.rounds["awaited"].tolist() == [1, 0, 1, 0]

    @pytest.mark.oracle
    def test_participants_are_drawn(self):
        """Two of three: replayed from the table of devices alone."""
        result = edgefl.run(self.wait(2, [[0], [1], [2]], rounds=30))
        x = 0.0
        heard = []
        sets = []
        for number, after in enumerate(result.rounds["parameter"], 1):
            heard += result.devices.loc[result.devices["round"] == number, "device"].tolist()
            if len(heard) == 2:
                x = self.moved(x, heard)
                sets.append(frozenset(heard))
                heard = []
            assert after == pytest.approx(x, abs=1e-12)
        assert len(sets) > 5
        assert len(set(sets)) > 1

    @pytest.mark.parametrize("mode", ["cap", "wait"])
    @pytest.mark.oracle
    def test_devices_that_are_always_present_participate_fully(self, mode):
        algorithm = {"kind": "fedavg", "max_participants": 3, "mode": mode}
        assert models(quadratics(algorithm)) == pytest.approx(models(quadratics("fedavg")), abs=1e-12)

    def test_a_round_without_participants_lasts_until_the_deadline(self):
        """Only device 0 is asked again, who has been heard: the server waits (cards, section 2)."""
        scenario = self.wait(2, [[0], [0], [1]], rounds=3, devices={"count": 2})
        scenario["data"]["coefficients"] = scenario["data"]["coefficients"][:2]
        scenario["server"] |= {"policy": "deadline", "deadline_s": 60.0}
        rounds = edgefl.run(scenario).rounds
        assert rounds["received"].tolist() == [1, 0, 1]
        assert rounds["duration_s"][1] == pytest.approx(60)
        assert (rounds["duration_s"][[0, 2]] < 60).all()

    @pytest.mark.oracle
    def test_the_same_devices_take_part_with_and_without_learning(self):
        trained = edgefl.run(self.wait(2, [[0, 1], [2]], 12), train=True)
        priced = edgefl.run(self.wait(2, [[0, 1], [2]], 12), train=False)
        columns = ["round", "device", "upload_s"]
        assert trained.devices[columns].equals(priced.devices[columns])

    def test_samples_count(self):
        """(1 delta_0 + 3 delta_1) / 4, over two rounds."""
        algorithm = FedAvg(max_participants=2, mode="wait")
        server = {**initial_state(algorithm, torch.zeros(1).double(), 2), "awaited": np.arange(2)}
        moves = torch.tensor([[1.0], [5.0]], dtype=torch.float64)
        for row, n in ((0, 1), (1, 3)):
            updates = Updates({"delta": moves[[row]]}, np.array([row]), np.array([n]), 2)
            server = algorithm.aggregate(server, updates)
            server["awaited"] = np.array([1])
        assert server["w"].tolist() == [4.0]
        assert server["moves"].tolist() == server["total"].tolist() == [0.0]

    @pytest.mark.oracle
    def test_draws_are_uniform_and_kept_until_heard(self):
        """Each of ten in 3 of 10 draws: 1,000, standard deviation 14.5 of 300; five of them."""
        algorithm = FedAvg(max_participants=3, mode="wait")
        nobody = np.empty(0, dtype=np.int64)
        counts = np.zeros(10)
        for index in range(1000):
            drawn = algorithm.awaited(nobody, nobody, 10, Streams(1).generator("awaited", 0, index))
            counts[drawn] += 1
            left = algorithm.awaited(drawn, drawn[:2], 10, Streams(1).generator("awaited", 0, index))
            assert left.tolist() == drawn[2:].tolist()
        assert counts.sum() == 3000
        assert np.abs(counts - 300).max() < 73

    @pytest.mark.parametrize(
        ("keys", "more", "message"),
        [
            ({"max_participants": None}, {}, "algorithm.mode: wait needs max_participants"),
            ({"availability": 0.5}, {}, "algorithm.mode: wait needs max_participants"),
            ({"max_participants": 4}, {}, "algorithm: max_participants asks for 4 devices, but there are 3"),
            ({}, {"server": {"policy": "sequential"}}, "algorithm: the policy sequential averages nothing"),
            (
                {"mode": "cap", "availability": 0.5},
                {},
                "algorithm.availability: weighs devices by the probability that",
            ),
        ],
    )
    def test_faults_are_refused_in_one_line(self, keys, more, message):
        algorithm = {"kind": "fedavg", "max_participants": 2, "mode": "wait", **keys}
        with pytest.raises(InputError) as error:
            edgefl.run(quadratics(algorithm, devices={"count": 3}, **more))
        assert message in str(error.value)


TWO_VECTORS = [Scaffold(), Scaffold(variant="ssg_code", cv_lr="initial"), Scaffold(variant="dyn")]
TWO_VECTORS += [FedDC(alpha=0.1), FedDC(alpha=0.1, cv_lr="current"), FedSSG()]


class TestMinimalUploads:
    @pytest.mark.parametrize("algorithm", TWO_VECTORS, ids=repr)
    def test_the_server_derives_what_is_left_out(self, algorithm):
        """Unequal devices, partial participation, a learning rate that shrinks."""
        options = {"samples": UNEQUAL, "rates": [LR * 0.9**index for index in range(6)]}
        naive = Simulation(algorithm, PARTIAL, minimal=False, **options)
        minimal = Simulation(algorithm, PARTIAL, minimal=True, **options)
        assert torch.allclose(naive.models, minimal.models, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize(("kind", "engine"), [("scaffold", "batched"), ("feddc", "serial"), ("fedssg", "batched")])
    @pytest.mark.oracle
    def test_through_the_learner(self, kind, engine, tmp_path):
        """Devices of one to three samples and steps."""
        path = tmp_path / "parts.json"
        path.write_text(json.dumps({str(i): [i] * (i + 1) for i in range(3)}))
        naive = quadratics({"kind": kind}, 4, [[0, 1], [1, 2], [0, 2], [0, 1, 2]])
        naive["data"]["partition"] = {"kind": "file", "path": str(path)}
        naive["training"] = {"local_epochs": 2, "batch_size": 1, "lr": 0.05, "engine": engine, "width": 3}
        naive["training"]["lr_schedule"] = {"kind": "exponential", "decay": 0.9}
        minimal = {**naive, "training": {**naive["training"], "minimal_uploads": True}}
        first = edgefl.run(naive)
        second = edgefl.run(minimal)
        assert second.rounds["parameter"].to_numpy() == pytest.approx(first.rounds["parameter"].to_numpy(), abs=1e-11)
        assert (second.rounds["bytes_up"] < first.rounds["bytes_up"]).all()
        assert second.rounds["bytes_down"].equals(first.rounds["bytes_down"])

    @pytest.mark.oracle
    def test_the_server_knows_what_each_device_has_got(self):
        """Also where each got another model and another control variate."""
        more = {"policy": {"kind": "buffered", "buffer": 2}, "participants": 3}
        runs = [quadratics("scaffold", 6, server=more, devices={"cpu_hz": {"uniform": [1.0, 30.0]}}) for _ in range(2)]
        runs[1]["training"] = {**runs[1]["training"], "minimal_uploads": True}
        runs[1]["cost"] = runs[0]["cost"] = "paper"  # the same order of arrivals
        naive, minimal = map(models, runs)
        assert naive[-1] != 0
        assert minimal == pytest.approx(naive, abs=1e-11)

    @pytest.mark.parametrize("name", list(ALGORITHMS.members))
    def test_devices_send_a_single_vector(self, name):
        """Cards, section 0.5: minimal; the model that is sent down, and the scalars, are as they were."""
        assert self.vectors_up(ALGORITHMS.load(name)()) == 1

    @pytest.mark.parametrize("algorithm", [Scaffold(option="I"), Scaffold(variant="eve_code")])
    def test_vectors_that_only_the_device_knows_are_sent(self, algorithm):
        assert self.vectors_up(algorithm) == 2

    def vectors_up(self, algorithm):
        section = Training.model_validate({"batch_size": 50, "local_epochs": 2, "minimal_uploads": True})
        payload = measure(Mlp(), algorithm, section, Digits().load(), np.array([10, 120]))
        d = 4_810
        return payload.up_bits // (32 * d)
