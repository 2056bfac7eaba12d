"""What an engine is: local training of several clients, from start models to uploads."""

from __future__ import annotations

from torch import Tensor

from edgefl.learner.batches import Indices
from edgefl.learner.network import Network
from edgefl.learner.solver import Solver
from edgefl.models import Model

Result = tuple[dict[str, Tensor], Tensor]


class Engine:
    """Base of the engines; both give the same result.

    Args:
        network: the module as a function of flat vectors.
        model: for its loss.
        solver: one SGD step.
        x: [n, ...] all training samples, on the training device.
        y: [n] their labels.
    """

    def __init__(self, network: Network, model: Model, solver: Solver, x: Tensor, y: Tensor) -> None:
        self.network, self.model, self.solver, self.x, self.y = network, model, solver, x, y

    def width(self) -> int:
        """How many clients to hand to `train` at once."""
        raise NotImplementedError

    def train(self, start: Tensor, lr: Tensor, received: dict[str, Tensor], batches: list[Indices]) -> Result:
        """Train C clients.

        Args:
            start: [C, d] the models that they received.
            lr: [C, 1] learning rates.
            received: what `downlink` sent besides, [C, d] each.
            batches: per client [K_i, B_i], longest first.

        Returns:
            What `finish` uploads, [C, ...] each, and the mean training loss of each client [C].
        """
        raise NotImplementedError
