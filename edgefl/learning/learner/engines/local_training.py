"""The vectors of clients that train together, and one step of their training."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from edgefl.core.arrays import Ints
from edgefl.learning.algorithms import LocalContext
from edgefl.learning.algorithms.properties import has_own_labels
from edgefl.learning.learner.engines.engine import first_models, select_clients
from edgefl.learning.learner.engines.phases import Phase, Phases
from edgefl.learning.learner.engines.solver import Solver
from edgefl.learning.learner.engines.stacked_batches import MiniBatch
from edgefl.learning.learner.kernels.gradients import GradientKernel, References, Step
from edgefl.learning.learner.networks.flat_vectors import Layout, unchanged


def labels_of(solver: Solver, local: LocalContext) -> Callable[[Tensor, slice], Tensor]:
    """Return the function that gives a group of the clients in `local` the labels on which they train."""
    algorithm = solver.algorithm
    if not has_own_labels(algorithm):
        return lambda y, _group: y
    return lambda y, group: algorithm.labels(y, select_clients(local, group))


class ClientGradients:
    """The gradients of C clients at their models w [C, d], computed into one tensor.

    Models may change from step to step; the statistics [C, b] of batch normalisation are updated. `labels` returns the
    labels [G, B, ...] on which a group of clients trains, given those of their samples.
    """

    def __init__(
        self,
        kernel: GradientKernel,
        w: Tensor,
        statistics: Tensor,
        references: References | None,
        labels: Callable[[Tensor, slice], Tensor],
    ) -> None:
        self.value = torch.empty_like(w)  # [C, d]
        self._kernel = kernel
        self._w = w
        self._statistics = statistics
        self._references = references
        self._labels = labels
        # Views of each layer's parameters are made once for all steps; groups of clients change only with batch sizes.
        self._bound: dict[tuple[int, int], Step] = {}

    def compute(self, batches: Iterable[MiniBatch], losses: Tensor) -> None:
        """Compute the gradients of the clients of some mini-batches, and write their losses into `losses` [C]."""
        for batch in batches:
            step = self._step(batch.group)
            losses[batch.group] = step(batch.x, self._labels(batch.y, batch.group), batch.weight, batch.keys)

    def _step(self, group: slice) -> Step:
        key = (group.start, group.stop)
        if key not in self._bound:
            compared = None
            if self._references is not None:
                compared = self._references.rows(group)
            views = (self._w[group], self._statistics[group], self.value[group])
            self._bound[key] = self._kernel.bind(*views, compared)
        return self._bound[key]


class LocalTraining:
    """The local training of C clients, from the models in `local` and the received statistics [C, b]."""

    def __init__(
        self,
        *,
        solver: Solver,
        kernel: GradientKernel,
        layout: Layout,
        local: LocalContext,
        references: References | None,
        statistics: Tensor,
        phases: Phases,
        first_steps: Ints,
    ) -> None:
        self.w = first_models(local.start, local.state)
        self.statistics = statistics.clone()  # updated in place, too
        self.loss_sum = self.w.new_zeros(len(self.w))  # on the device, so that no step waits for a number to be read
        self._solver = solver
        self._local = local
        self._moments = solver.moments(self.w)
        self._kernel = kernel
        self._layout = layout
        self._phases = phases
        self._first_steps = first_steps
        self._gradients = ClientGradients(kernel, self.w, self.statistics, references, labels_of(solver, local))
        self._losses = torch.empty_like(self.loss_sum)

    def begin(self, local: LocalContext, statistics: Tensor) -> None:
        """Begin again in the same memory, from the models in `local` and received statistics [C, b]."""
        self.w.copy_(first_models(local.start, local.state))
        self.statistics.copy_(statistics)
        for tensor in (self.loss_sum, *self._moments):
            tensor.zero_()

    def step(self, batches: Iterable[MiniBatch], active: int, number: int) -> None:
        """Take a step, the `number`th from 1, with the first `active` clients."""
        losses = self._losses[:active]
        self._gradients.compute(batches, losses)
        self.loss_sum[:active] += losses
        # Clients with more steps come first, so that those that go on are the first rows: views, no copies.
        local = self._local
        if active < len(self.w):
            local = select_clients(local, slice(active))
        moments = [moment[:active] for moment in self._moments]
        w = self.w[:active]
        # As torch's optimisers have it: a parameter without a gradient is not even decayed.
        with unchanged(self._layout.places(self._kernel.unused), (w, *moments)):
            for phase, rows in self._phases.of_devices(number, self._first_steps[:active]):
                if rows is None:
                    self._solver.step(w, self._gradients.value[:active], moments, local, number, phase)
                else:
                    self._step_of(torch.from_numpy(rows).to(w.device), moments, local, number, phase)

    def _step_of(self, rows: Tensor, moments: Sequence[Tensor], local: LocalContext, number: int, phase: Phase) -> None:
        w = self.w[rows]
        own = [moment[rows] for moment in moments]
        self._solver.step(w, self._gradients.value[rows], own, select_clients(local, rows), number, phase)
        self.w[rows] = w
        for moment, changed in zip(moments, own, strict=True):
            moment[rows] = changed
