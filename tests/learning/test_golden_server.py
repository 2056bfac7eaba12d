"""Golden trajectories of the algorithms whose memory is at the server: published values, and a reference in NumPy.

Algorithm cards, section 11: F_i(x) = a_i/2 (x - b_i)^2, a = (1, 2, 4), b = (1, -1, 3), x0 = 0, lr 0.05, two steps.
The reference is written in other words than the code: sums over the past, streamed variances, normalisers step by step.
"""

import copy
import json

import numpy as np
import pytest

import edgefl

A = np.array([1.0, 2.0, 4.0])
B = np.array([1.0, -1.0, 3.0])
LR = 0.05
SCHEDULE = [[0, 1], [1, 2], [0, 2], [0, 1, 2]]
UNIFORM = {"weighting": "uniform"}
ONES = (1, 1, 1)
UNEQUAL = (1, 2, 3)


def locally(i, x, steps, mu=0.0, momentum=0.0):
    """Local training: the move of client i from x, and the mean of the losses that it met."""
    start = x
    velocity = 0.0
    losses = []
    for _ in range(steps):
        losses.append(A[i] / 2 * (x - B[i]) ** 2)
        velocity = momentum * velocity + A[i] * (x - B[i]) + mu * (x - start)
        x -= LR * velocity
    return x - start, np.mean(losses)


class Rule:
    """One algorithm's server in scalars; the last model is `x`, all mean moves are in `past`."""

    def __init__(self, **local):
        self.x = 0.0
        self.past = []
        self.local = local

    def start(self):
        return self.x

    def learn(self, moves, p, steps, losses):
        self.past.append(p @ moves)
        self.x = self.next(self.past)


class FedAvgM(Rule):
    def __init__(self, beta, share, lr=1.0):
        super().__init__()
        self.beta = beta
        self.share = share
        self.lr = lr

    def next(self, past):
        step = sum(self.share * self.beta**age * move for age, move in enumerate(reversed(past)))
        return self.x + self.lr * step


class FedOpt(Rule):
    """`v` of all moves so far."""

    def __init__(self, v, beta1=0.9, lr=0.1, tau=1e-3):
        super().__init__()
        self.v = v
        self.beta1 = beta1
        self.lr = lr
        self.tau = tau

    def next(self, past):
        m = sum((1 - self.beta1) * self.beta1**age * move for age, move in enumerate(reversed(past)))
        return self.x + self.lr * m / (np.sqrt(self.v(past)) + self.tau)


def adagrad(past):
    return 1e-6 + sum(move**2 for move in past)


def adam(v0=1e-6):
    def v(past):
        streamed = sum(0.01 * 0.99**age * move**2 for age, move in enumerate(reversed(past)))
        return 0.99 ** len(past) * v0 + streamed

    return v


def yogi(past):
    v = 1e-6
    for move in past:
        square = move**2
        if v < square:
            v += 0.01 * square
        else:
            v -= 0.01 * square
    return v


class FedEve(Rule):
    def __init__(self, q, lr=1.0):
        super().__init__()
        self.q = q
        self.lr = lr
        self.m = 0.0
        self.variance = 0.0
        self.gains = []

    def start(self):
        return self.x - self.lr * self.m

    def learn(self, moves, p, steps, losses):
        d = -moves
        count = len(moves)
        mean = p @ d
        if self.q == "paper":
            centre = mean
            drift = (self.m - mean) ** 2
        else:
            centre = d.mean()
            drift = mean**2
        streamed = (d**2).sum() - 2 * d.sum() * centre + count * centre**2
        self.variance += drift / count
        gain = 1 / (1 + streamed / count**2 / self.variance)
        self.gains.append(gain)
        self.m = (1 - gain) * self.m + gain * mean
        self.x = self.x - self.lr * self.m
        self.variance = (1 - gain) * self.variance


class FedACG(Rule):
    """The next model is the mean of the local ones; momentum is the last move."""

    def __init__(self, momentum, beta):
        super().__init__(mu=beta)
        self.momentum = momentum
        self.before = 0.0

    def start(self):
        return self.x + self.momentum * (self.x - self.before)

    def learn(self, moves, p, steps, losses):
        after = p @ (self.start() + moves)
        self.before = self.x
        self.x = after


class FedNova(Rule):
    """`a` of K steps."""

    def __init__(self, a, server_momentum=0.0, **local):
        super().__init__(**local)
        self.a = a
        self.server_momentum = server_momentum

    def learn(self, moves, p, steps, losses):
        a = np.array([self.a(int(k)) for k in steps])
        tau = p @ steps if self.local.get("mu") else p @ a
        self.past.append(tau * (p * moves / a).sum())
        self.x += sum(self.server_momentum**age * move for age, move in enumerate(reversed(self.past)))


def with_momentum(rho):
    return lambda steps: sum(sum(rho**j for j in range(k + 1)) for k in range(steps))


def with_pull(mu):
    return lambda steps: sum((1 - LR * mu) ** k for k in range(steps))


class QFedAvg(Rule):
    """The paper's algorithm 2, with L = 1 / lr."""

    def __init__(self, q):
        super().__init__()
        self.q = q

    def learn(self, moves, p, steps, losses):
        gradients = -moves / LR
        h = self.q * losses ** (self.q - 1) * gradients**2 + losses**self.q / LR
        self.x -= (losses**self.q * gradients).sum() / h.sum()


def reference(rule, copies, steps):
    """The models after each round, one a row of SCHEDULE."""
    rule = copy.deepcopy(rule)
    models = []
    for ids in SCHEDULE:
        trained = [locally(i, rule.start(), steps[i], **rule.local) for i in ids]
        moves, losses = np.array(trained).T
        weight = np.array([copies[i] for i in ids], dtype=float)
        taken = np.array([steps[i] for i in ids], dtype=float)
        rule.learn(moves, weight / weight.sum(), taken, losses)
        models.append(rule.x)
    return models


def scenario(algorithm, copies=ONES, folder=None, **training):
    """Copies of its function make a client weigh more, and take as many steps of an epoch of single samples."""
    coefficients = [[a / 2, -a * b, a * b * b / 2] for a, b in zip(A, B, strict=True)]
    data = {"dataset": "quadratic", "coefficients": coefficients}
    if copies != ONES:
        path = folder / "parts.json"
        path.write_text(json.dumps({str(i): [i] * n for i, n in enumerate(copies)}))
        data["partition"] = {"kind": "file", "path": str(path)}
    return {
        "rounds": 4,
        "data": data,
        "model": {"init": {"kind": "value", "value": 0.0}},
        "training": {"local_steps": 2, "batch_size": "full", "lr": LR, "engine": "serial", **training},
        "algorithm": algorithm,
        "server": {"selection": {"kind": "schedule", "rounds": SCHEDULE}},
    }


GOLDEN = {  # the algorithm, its reference, and what the cards give
    "fedavgm_ema_.9": (
        {"kind": "fedavgm", **UNIFORM},
        FedAvgM(0.9, 0.1),
        [-0.004625000000, 0.035839687500, 0.130313073398, 0.245443196873],
    ),
    "fedavgm_heavyball_.9": (
        {"kind": "fedavgm", "rule": "heavy_ball", **UNIFORM},
        FedAvgM(0.9, 1.0),
        [-0.046250000000, 0.369843750000, 1.248476367188, 2.098949573405],
    ),
    "fedadam_v0=tau2": (
        {"kind": "fedadam", "server_lr": 0.1, **UNIFORM},
        FedOpt(adam()),
        [-0.080704031952, 0.008037646872, 0.135631618419, 0.279642979359],
    ),
    "fedadam_v0=0": (
        {"kind": "fedadam", "server_lr": 0.1, "v0": 0.0, **UNIFORM},
        FedOpt(adam(0.0)),
        [-0.082222222222, 0.006548925223, 0.134160033732, 0.278193623942],
    ),
    "fedyogi_v0=tau2": (
        {"kind": "fedyogi", "server_lr": 0.1, **UNIFORM},
        FedOpt(yogi),
        [-0.080689152599, 0.008047819598, 0.135393176422, 0.278551788566],
    ),
    "fedadagrad_v0=tau2": (
        {"kind": "fedadagrad", "server_lr": 0.1, **UNIFORM},
        FedOpt(adagrad, beta1=0.0),
        [-0.097861209833, 0.001452300868, 0.079213759143, 0.117336295197],
    ),
    "fedeve_paperQ": (
        {"kind": "fedeve", **UNIFORM},
        FedEve("paper"),
        [-0.004338512402, 0.143828930685, 0.506469831774, 0.756783027567],
    ),
    "fedeve_codeQ": (
        {"kind": "fedeve", "q": "code", **UNIFORM},
        FedEve("code"),
        [-0.004338512402, 0.141903678935, 0.538571645238, 0.798005283221],
    ),
    "fedacg_lam=.85_beta=.1": (
        {"kind": "fedacg", "beta": 0.1},
        FedACG(0.85, 0.1),
        [-0.046125000000, 0.381820845313, 1.162615559424, 1.761431914372],
    ),
}
KAPPA = [0.093805673564, 0.337608187996, 0.573783097062, 0.508138409464]
NOVA = [-0.033750000000, 0.468370312500, 0.906763559375, 1.016109611530]  # steps 1:2:3

WEIGHTED = {  # not in the cards: samples 1:2:3, two steps each, other hyper-parameters
    "fedavgm": (
        {"kind": "fedavgm", "rule": "heavy_ball", "server_momentum": 0.4, "server_lr": 0.7},
        FedAvgM(0.4, 1.0, 0.7),
    ),
    "fedadam": (
        {"kind": "fedadam", "beta1": 0.5, "server_lr": 0.3, "tau": 0.1, "v0": 0.2},
        FedOpt(adam(0.2), 0.5, 0.3, 0.1),
    ),
    "fedeve_paper": ({"kind": "fedeve", "server_lr": 0.8}, FedEve("paper", 0.8)),
    "fedeve_code": ({"kind": "fedeve", "server_lr": 0.8, "q": "code"}, FedEve("code", 0.8)),
    "fedacg": ({"kind": "fedacg", "server_momentum": 0.5, "beta": 0.7, "weighting": "samples"}, FedACG(0.5, 0.7)),
    "qfedavg_q=2": ({"kind": "qfedavg", "q": 2.0}, QFedAvg(2.0)),
    "qfedavg_q=.5": ({"kind": "qfedavg", "q": 0.5}, QFedAvg(0.5)),
}
MOMENTUM = {"momentum": 0.6}
PULL = {"mu": 0.9}
NOVAS = {  # samples and steps 1:2:3
    "plain": ({}, FedNova(float), {}),
    "momentum": ({}, FedNova(with_momentum(0.6), **MOMENTUM), MOMENTUM),
    "pull": (PULL, FedNova(with_pull(0.9), **PULL), {}),
    "server_momentum": ({"server_momentum": 0.7}, FedNova(float, server_momentum=0.7), {}),
}


@pytest.mark.parametrize("case", list(GOLDEN))
def test_the_reference_gives_the_published_values(case):
    _, rule, published = GOLDEN[case]
    assert reference(rule, ONES, (2, 2, 2)) == pytest.approx(published, abs=1e-12)


@pytest.mark.parametrize(
    ("case", "engine"),
    [*((case, "serial") for case in GOLDEN), ("fedeve_paperQ", "batched"), ("fedacg_lam=.85_beta=.1", "batched")],
)
def test_published_values(case, engine):
    """Runs give the cards' values, and where clients start or train in another way, also with clients together."""
    algorithm, _, published = GOLDEN[case]
    rounds = edgefl.run(scenario(algorithm, engine=engine)).rounds
    assert rounds["parameter"].to_numpy() == pytest.approx(published, abs=1e-9)


@pytest.mark.parametrize("q", ["paper", "code"])
def test_gains_of_fedeve(q):
    """From the models alone, M is the last descent, D what clients give at the prediction; and as they are told."""
    rounds = edgefl.run(scenario({"kind": "fedeve", "q": q, **UNIFORM})).rounds
    x = [0.0, 0.0, *rounds["parameter"]]
    for number, ids in enumerate(SCHEDULE):
        before, now, after = x[number : number + 3]
        m = before - now
        d = -np.mean([locally(i, now - m, 2)[0] for i in ids])
        gain = (now - after - m) / (d - m)
        assert rounds["kalman_gain"][number] == pytest.approx(gain, abs=1e-9)
        assert q == "code" or gain == pytest.approx(KAPPA[number], abs=1e-9)


@pytest.mark.parametrize("engine", ["serial", "batched"])
def test_published_values_of_fednova(engine, tmp_path):
    assert reference(FedNova(float), ONES, UNEQUAL) == pytest.approx(NOVA, abs=1e-12)
    epochs = {"local_steps": None, "local_epochs": 1, "batch_size": 1, "engine": engine}
    result = edgefl.run(scenario({"kind": "fednova", **UNIFORM}, UNEQUAL, tmp_path, **epochs))
    assert result.rounds["parameter"].to_numpy() == pytest.approx(NOVA, abs=1e-9)


@pytest.mark.parametrize("engine", ["serial", "batched"])
@pytest.mark.parametrize("case", list(NOVAS))
def test_fednova_with_unequal_samples_and_steps(case, engine, tmp_path):
    keys, rule, solver = NOVAS[case]
    epochs = {"local_steps": None, "local_epochs": 1, "batch_size": 1, "engine": engine, **solver}
    result = edgefl.run(scenario({"kind": "fednova", **keys}, UNEQUAL, tmp_path, **epochs))
    expected = reference(rule, UNEQUAL, UNEQUAL)
    assert result.rounds["parameter"].to_numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", list(WEIGHTED))
def test_weights_and_other_hyper_parameters(case, tmp_path):
    algorithm, rule = WEIGHTED[case]
    result = edgefl.run(scenario(algorithm, UNEQUAL, tmp_path))
    expected = reference(rule, UNEQUAL, (2, 2, 2))
    assert result.rounds["parameter"].to_numpy() == pytest.approx(expected, abs=1e-9)
