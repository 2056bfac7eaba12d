"""Base of the training engines: local training of several clients, from start models to uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Floats, Indices, Ints
from edgefl.learning.algorithms import LocalContext, RunInfo
from edgefl.learning.algorithms.properties import has_own_loss
from edgefl.learning.algorithms.steps import upload
from edgefl.learning.learner.engines.phases import Phases
from edgefl.learning.learner.engines.samples import Samples
from edgefl.learning.learner.engines.solver import Solver
from edgefl.learning.learner.kernels.gradients import References
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.state_names import LAST_MODEL, OWN_PARAMETERS
from edgefl.learning.models import Model


@dataclass(frozen=True)
class Cohort:
    """C clients that are trained together; they may differ in everything but the model's architecture."""

    start: Tensor  # [C, d] the models that they received, without what devices keep
    lr: Floats  # [C] learning rates, rounded as the models are
    received: Mapping[str, Tensor]  # [C, d] the other vectors that `downlink` sent, by name
    state: Mapping[str, Tensor]  # [C, d] the vectors that clients kept from earlier rounds, by name
    statistics: Tensor  # [C, b] statistics of batch normalisation
    weight: Tensor  # [C, 1] number of samples over the mean of all devices, omega
    index: Tensor  # [C, 1] index of the round, from 0
    batches: list[Indices]  # per client [K_i, B_i], longest first
    draws: list[Ints] | None  # per client [K_i, B_i, 3] draws of augmentation
    keys: Tensor | None  # [C] keys of dropout
    all_samples: list[Indices]  # per client [k_i, B_i], one pass over its samples; empty if no hook needs it
    run: RunInfo
    epoch_steps: Tensor  # [C, 1] mini-batches of one pass over a client's samples
    device_id: Tensor  # [C, 1] ids of the devices
    first_steps: Ints  # [C] steps where only the part of `training.parts.first` trains; 0 without it

    def local(self, gradient: Tensor | float = 0.0, *, rate_on_device: bool = False) -> LocalContext:
        """Return the context of the algorithm's hooks, with the `gradient` [C, d] over all samples if a hook needs it.

        With `rate_on_device` the learning rate is a tensor even if all clients have the same.
        """
        steps = self.start.new_tensor([[len(batch)] for batch in self.batches])
        lr: Tensor | float
        # Rates are compared on the host, as a GPU would have to be waited for.
        if (self.lr == self.lr[0]).all() and not rate_on_device:
            lr = float(self.lr[0])  # a plain number saves a broadcast at every step
        else:
            lr = self.start.new_tensor(self.lr)[:, None]
        return LocalContext(
            self.start,
            lr,
            self.received,
            self.state,
            steps,
            self.weight,
            self.index,
            gradient,
            self.run,
            self.epoch_steps,
            self.device_id,
        )

    def one_pass(self) -> Cohort:
        """Return the same clients with one pass over all their samples, without augmentation."""
        return replace(self, batches=self.all_samples, draws=None)


@dataclass(frozen=True)
class Trained:
    """The result of the local training of C clients."""

    uploads: Mapping[str, Tensor]  # [C, ...] each
    state: Mapping[str, Tensor]  # [C, d] each, to be kept until their next round
    statistics: Tensor  # [C, b]
    losses: Tensor  # [C] mean training loss

    def tensors(self) -> list[Tensor]:
        """Return all learned tensors in a fixed order."""
        return [*self.uploads.values(), *self.state.values(), self.statistics, self.losses]


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


@dataclass(kw_only=True, eq=False)
class TrainingEngine:
    """Base of the engines; their results are the same but for rounding."""

    network: Network
    model: Model
    solver: Solver
    samples: Samples

    def __post_init__(self) -> None:
        first = self.model.first_names(self.network.module)
        self.phases = Phases(self.network.parameters, first, counted=self.solver.training.has_adams_moments)

    def train(self, cohort: Cohort) -> Trained:
        """Train the clients."""
        raise NotImplementedError

    def references(self, local: LocalContext, cohort: Cohort) -> References | None:
        """Return the models that the algorithm's loss compares with; None if the loss is the task's."""
        algorithm = self.solver.algorithm
        models = algorithm.references(local)
        if not models and not has_own_loss(algorithm):
            return None
        return References(models, cohort.statistics, local.received)

    def result(self, w: Tensor, cohort: Cohort, local: LocalContext, statistics: Tensor, loss_sum: Tensor) -> Trained:
        """Return the uploads and next states from the trained models w [..., d + k].

        `loss_sum` [C] adds up each client's steps. The hooks of the algorithm see the d parameters that travel.
        """
        travelling = local.start.shape[-1]
        kept = w[..., travelling:]
        w = w[..., :travelling]
        steps = loss_sum.new_tensor([len(batch) for batch in cohort.batches])
        algorithm = self.solver.algorithm
        uploads = upload(algorithm, w, local, minimal=self.solver.training.minimal_uploads)
        state = algorithm.remember(w, local)
        # kept beside the algorithm's states, and no hook sees it
        if LAST_MODEL in local.state:
            state = {**state, LAST_MODEL: w}
        if OWN_PARAMETERS in local.state:
            state = {**state, OWN_PARAMETERS: kept}
        return Trained(uploads, state, statistics, loss_sum / steps)


def first_models(start: Tensor, state: Mapping[str, Tensor]) -> Tensor:
    """Return the models [..., d + k] that training begins with, in memory of their own.

    They are the received parameters `start` [..., d], and behind them those that devices keep in their `state`.
    """
    # copies, as the solver works in place and the received model is shared by many clients
    if OWN_PARAMETERS not in state:
        return start.clone()
    return torch.cat([start, state[OWN_PARAMETERS]], dim=-1)


def select_clients(local: LocalContext, which: int | slice | Tensor) -> LocalContext:
    """Return the context of one client (without the client axis), or of several."""
    return local.each(lambda value: value[which])


def shortened(cohort: Cohort, steps: int) -> Cohort:
    """Return the same clients with exactly that many steps, repeating their batches if they have fewer."""
    batches = [np.resize(batch, (steps, batch.shape[1])) for batch in cohort.batches]
    draws = None
    if cohort.draws is not None:
        draws = [np.resize(draw, (steps, *draw.shape[1:])) for draw in cohort.draws]
    return replace(cohort, batches=batches, draws=draws)
