"""Local training on quadratics and the hooks around it, without a learner."""

from dataclasses import replace

import numpy as np
import torch

from edgefl.core.words import words_of
from edgefl.learning.algorithms import ALGORITHMS, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.steps import initial_state, upload

D = 4
N = 5
LR = 0.05
STEPS = 3
PARTIAL = [[0, 1], [1, 2, 4], [0, 3], [2], [0, 1, 2, 3, 4], [3, 4]]
FULL = [list(range(N))] * 6
UNIFORM = FedAvg(weighting="uniform")
CURVATURES = torch.rand(N, D, dtype=torch.float64, generator=torch.manual_seed(1)) + 0.5
CENTRES = torch.randn(N, D, dtype=torch.float64, generator=torch.manual_seed(2))

VARIANTS = words_of(__file__, "algorithm_variants.yaml")
SHIPPED = [*({"kind": name} for name in ALGORITHMS.members), *VARIANTS]


def shipped(case):
    """Return the algorithm of an entry of `SHIPPED`."""
    keys = {key: value for key, value in case.items() if key != "kind"}
    return ALGORITHMS.load(case["kind"]).model_validate(keys)


class Simulation:
    """Local training on quadratics and the hooks around it, one client after another; all that happened is kept.

    There are as many clients as `samples`; with `minimal` uploads the server derives what it can. The clients minimise
    quadratics of these curvatures and centres [N, D].
    """

    def __init__(
        self,
        algorithm,
        schedule,
        samples=(1,) * N,
        rates=(LR,) * 6,
        steps=STEPS,
        labels=None,
        *,
        minimal=False,
        curvatures=CURVATURES,
        centres=CENTRES,
    ):
        self.algorithm = algorithm
        self.samples = np.array(samples)
        self.rates = rates
        self.steps = steps
        self.labels = labels
        self.minimal = minimal
        self.curvatures = curvatures
        self.centres = centres
        start = torch.zeros(D, dtype=torch.float64)
        n = len(samples)
        mean_participants = sum(map(len, schedule)) / len(schedule)
        self.run = RunInfo(n, len(schedule), mean_participants, rates[0], steps)
        self.states = [initial_state(algorithm, start, n)]
        self.clients = [algorithm.client_state(start) for _ in range(n)]
        self.moves = []
        self.traces = []
        for index, ids in enumerate(schedule):
            self.round(index, ids)

    def round(self, index, ids):
        server = self.states[-1]
        uploads = []
        moves = []
        losses = []
        for i in ids:
            start = self.algorithm.broadcast(server)
            gradient = self.curvatures[i] * (start - self.centres[i])
            losses.append(float(gradient @ (start - self.centres[i]) / 2))
            received = self.algorithm.downlink(server)
            weight = self.samples[i] / self.samples.mean()
            local = LocalContext(
                start, self.rates[index], received, self.clients[i], self.steps, weight, index, gradient, self.run
            )
            w = start
            for _ in range(self.steps):
                gradient = self.algorithm.correct(self.curvatures[i] * (w - self.centres[i]), w, local)
                w = w - local.lr * (gradient + self.algorithm.decay(local) * w)
            sent = upload(self.algorithm, w, local, minimal=self.minimal)
            known = replace(local, state={}, gradient=torch.nan)
            if self.minimal:
                sent = {**sent, **self.algorithm.derived(sent, known)}
            uploads.append(sent)
            self.clients[i] = self.algorithm.remember(w, local)
            moves.append(w - start)
        vectors = {name: torch.stack([upload[name] for upload in uploads]) for name in uploads[0]}
        updates = Updates(
            vectors,
            np.array(ids),
            self.samples[ids],
            self.run.population,
            steps=np.full(len(ids), float(self.steps)),
            losses=np.array(losses),
            index=index,
            lr=self.rates[index],
            run=self.run,
            labels=None if self.labels is None else self.labels[ids],
        )
        self.states.append(self.algorithm.aggregate(server, updates))
        self.moves.append(torch.stack(moves))
        self.traces.append(self.algorithm.trace(self.states[-1], updates))

    @property
    def models(self):
        return torch.stack([state["w"] for state in self.states])


def same(first, second, schedule=PARTIAL, **options):
    """Tell whether two algorithms go the same way."""
    one = Simulation(first, schedule, **options).models
    other = Simulation(second, schedule, **options).models
    return torch.allclose(one, other, rtol=1e-12, atol=1e-14)


def digits(algorithm, **training):
    """A small scenario of real learning: 5 of 20 devices with skewed labels, 3 rounds."""
    return {
        "rounds": 3,
        "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
        "devices": {"count": 20},
        "server": {"participants": 5},
        "training": {"local_epochs": 1, "batch_size": 20, "engine": "serial", **training},
        "algorithm": algorithm,
    }
