"""What an engine is: local training of several clients, from start models to uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Indices
from edgefl.learning.algorithms import LocalContext, RunInfo
from edgefl.learning.learner.gradients import Frozen
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.samples import Draws, Samples
from edgefl.learning.learner.solver import Solver
from edgefl.learning.models import Model

LAST = "last_model"  # the client state that holds what a device's last training made, where that is wanted


@dataclass(frozen=True)
class Cohort:
    """C clients that are trained together; they may differ in everything but the model."""

    start: Tensor  # [C, d] the models that they received
    lr: Tensor  # [C, 1]
    received: Mapping[str, Tensor]  # what `downlink` sent besides, [C, d] each
    state: Mapping[str, Tensor]  # what they keep from earlier rounds, [C, d] each
    statistics: Tensor  # [C, b] of batch normalisation
    weight: Tensor  # [C, 1] samples held, over the mean of all devices
    index: Tensor  # [C, 1] of the round
    batches: list[Indices]  # per client [K_i, B_i], longest first
    draws: list[Draws] | None  # per client [K_i, B_i, 3] of augmentation
    keys: Tensor | None  # [C] of dropout
    whole: list[Indices]  # per client [k_i, B_i] one pass over its samples, where their gradient is needed
    run: RunInfo

    def local(self, gradient: Tensor | float = 0.0) -> LocalContext:
        """What the algorithm's hooks see; `gradient` [C, d] is that of all samples, where it is needed."""
        steps = self.lr.new_tensor([[len(batch)] for batch in self.batches])
        uniform = bool((self.lr == self.lr[0]).all())
        lr = float(self.lr[0]) if uniform else self.lr  # a plain number saves a broadcast at every step
        args = self.start, lr, self.received, self.state, steps, self.weight, self.index
        return LocalContext(*args, gradient, self.run)

    def one_pass(self) -> Cohort:
        """The same clients with one pass over all their samples as they are, none of them augmented."""
        return replace(self, batches=self.whole, draws=None)


@dataclass(frozen=True)
class Trained:
    """What local training makes of C clients."""

    uploads: Mapping[str, Tensor]  # [C, ...] each
    state: Mapping[str, Tensor]  # [C, d] each, to be kept until their next round
    statistics: Tensor  # [C, b]
    losses: Tensor  # [C] mean training loss


def joined(parts: Sequence[Trained]) -> Trained:
    """What several cohorts make, one after another."""

    def cat(each: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        return {name: torch.cat([part[name] for part in each]) for name in each[0]}

    return Trained(
        cat([part.uploads for part in parts]),
        cat([part.state for part in parts]),
        torch.cat([part.statistics for part in parts]),
        torch.cat([part.losses for part in parts]),
    )


class Engine:
    """Base of the engines; all give the same result.

    Args:
        network: the module as a function of flat vectors.
        model: for its loss.
        solver: one SGD step.
        samples: all training samples, on the training device.
    """

    def __init__(self, network: Network, model: Model, solver: Solver, samples: Samples) -> None:
        self.network, self.model, self.solver, self.samples = network, model, solver, samples

    def train(self, cohort: Cohort) -> Trained:
        """Train the clients."""
        raise NotImplementedError

    def frozen(self, local: LocalContext, cohort: Cohort) -> Frozen | None:
        """The models that the algorithm's loss compares with; None where it is the task's."""
        models = self.solver.algorithm.references(local)
        return Frozen(models, cohort.statistics, local.received) if models else None

    def _trained(self, w: Tensor, cohort: Cohort, local: LocalContext, statistics: Tensor, loss_sum: Tensor) -> Trained:
        algorithm, steps = self.solver.algorithm, loss_sum.new_tensor([len(batch) for batch in cohort.batches])
        uploads = algorithm.upload(w, local, minimal=self.solver.training.minimal_uploads)
        state = algorithm.remember(w, local)
        if LAST in local.state:
            state = {**state, LAST: w}
        return Trained(uploads, state, statistics, loss_sum / steps)


def rows(local: LocalContext, which: int | slice) -> LocalContext:
    """What the hooks of one client see, or of several."""

    def cut(value: Tensor | float) -> Tensor | float:
        return value if isinstance(value, float) else value[which]

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
    """The same clients with exactly that many steps, repeating their batches where they have fewer."""
    batches = [np.resize(batch, (steps, batch.shape[1])) for batch in cohort.batches]
    draws = None if cohort.draws is None else [np.resize(d, (steps, *d.shape[1:])) for d in cohort.draws]
    return replace(cohort, batches=batches, draws=draws)
