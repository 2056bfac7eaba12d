"""Base of the training engines: local training of several clients, from start models to uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Indices, Ints
from edgefl.learning.algorithms import LocalContext, RunInfo
from edgefl.learning.algorithms.steps import upload
from edgefl.learning.learner.gradients import References
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.samples import Samples
from edgefl.learning.learner.solver import Solver
from edgefl.learning.learner.state_names import LAST_MODEL
from edgefl.learning.models import Model


@dataclass(frozen=True)
class Cohort:
    """C clients that are trained together; they may differ in everything but the model's architecture."""

    start: Tensor  # [C, d] the models that they received
    lr: Tensor  # [C, 1]
    received: Mapping[str, Tensor]  # what `downlink` sent besides, [C, d] each
    state: Mapping[str, Tensor]  # what they keep from earlier rounds, [C, d] each
    statistics: Tensor  # [C, b] of batch normalisation
    weight: Tensor  # [C, 1] samples held, over the mean of all devices
    index: Tensor  # [C, 1] of the round
    batches: list[Indices]  # per client [K_i, B_i], longest first
    draws: list[Ints] | None  # per client [K_i, B_i, 3] of augmentation
    keys: Tensor | None  # [C] of dropout
    all_samples: list[Indices]  # per client [k_i, B_i], one pass over its samples; empty if no hook needs it
    run: RunInfo

    def local(self, gradient: Tensor | float = 0.0) -> LocalContext:
        """Return what the algorithm's hooks see; `gradient` [C, d] is that of all samples, if a hook needs it."""
        steps = self.lr.new_tensor([[len(batch)] for batch in self.batches])
        all_alike = bool((self.lr == self.lr[0]).all())
        lr = float(self.lr[0]) if all_alike else self.lr  # a plain number saves a broadcast at every step
        return LocalContext(
            self.start, lr, self.received, self.state, steps, self.weight, self.index, gradient, self.run
        )

    def one_pass(self) -> Cohort:
        """Return the same clients with one pass over all their samples as they are, none of them augmented."""
        return replace(self, batches=self.all_samples, draws=None)


@dataclass(frozen=True)
class Trained:
    """The result of the local training of C clients."""

    uploads: Mapping[str, Tensor]  # [C, ...] each
    state: Mapping[str, Tensor]  # [C, d] each, to be kept until their next round
    statistics: Tensor  # [C, b]
    losses: Tensor  # [C] mean training loss


def joined(parts: Sequence[Trained]) -> Trained:
    """Return the results of several cohorts as one, in their order."""

    def concatenated(tables: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        return {name: torch.cat([table[name] for table in tables]) for name in tables[0]}

    return Trained(
        uploads=concatenated([part.uploads for part in parts]),
        state=concatenated([part.state for part in parts]),
        statistics=torch.cat([part.statistics for part in parts]),
        losses=torch.cat([part.losses for part in parts]),
    )


class TrainingEngine:
    """Base of the engines; all give the same result but for rounding.

    Args:
        network: the module as a function of flat vectors.
        model: for its loss.
        solver: one SGD step.
        samples: all training samples, on the training device.
    """

    def __init__(self, network: Network, model: Model, solver: Solver, samples: Samples) -> None:
        self.network = network
        self.model = model
        self.solver = solver
        self.samples = samples

    def train(self, cohort: Cohort) -> Trained:
        """Train the clients."""
        raise NotImplementedError

    def references(self, local: LocalContext, cohort: Cohort) -> References | None:
        """Return the models with which the algorithm's loss compares; None if the loss is the task's."""
        models = self.solver.algorithm.references(local)
        if not models:
            return None
        return References(models, cohort.statistics, local.received)

    def result(self, w: Tensor, cohort: Cohort, local: LocalContext, statistics: Tensor, loss_sum: Tensor) -> Trained:
        """Return what the algorithm makes of the trained models w; `loss_sum` [C] is over the steps of each client."""
        steps = loss_sum.new_tensor([len(batch) for batch in cohort.batches])
        algorithm = self.solver.algorithm
        uploads = upload(algorithm, w, local, minimal=self.solver.training.minimal_uploads)
        state = algorithm.remember(w, local)
        # kept beside the algorithm's states, and no hook sees it
        if LAST_MODEL in local.state:
            state = {**state, LAST_MODEL: w}
        return Trained(uploads, state, statistics, loss_sum / steps)


def select_clients(local: LocalContext, which: int | slice) -> LocalContext:
    """Return what the hooks see of one client (without the client axis), or of several."""

    def cut(value: Tensor | float) -> Tensor | float:
        if isinstance(value, float):  # the same for all clients
            return value
        return value[which]

    return LocalContext(
        local.start[which],
        cut(local.lr),
        {name: value[which] for name, value in local.received.items()},
        {name: value[which] for name, value in local.state.items()},
        cut(local.steps),
        cut(local.weight),
        cut(local.index),
        cut(local.gradient),
        local.run,
    )


def shortened(cohort: Cohort, steps: int) -> Cohort:
    """Return the same clients with exactly that many steps, repeating their batches if they have fewer."""
    batches = [np.resize(batch, (steps, batch.shape[1])) for batch in cohort.batches]
    draws = None
    if cohort.draws is not None:
        draws = [np.resize(each, (steps, *each.shape[1:])) for each in cohort.draws]
    return replace(cohort, batches=batches, draws=draws)
