"""FedProx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms.base import LocalContext
from edgefl.learning.algorithms.fedavg import FedAvg

if TYPE_CHECKING:
    from torch import Tensor


class FedProx(FedAvg):
    """FedProx: a proximal pull toward the received model (Li et al., MLSys 2020, eq. 2); mu = 0 is FedAvg."""

    mu: NonNegativeFloat = 0.01  # Weight of the proximal term, mu / 2 |w - w_received|^2.

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + (mu/2) |w - start|^2` (eq. 2)."""
        return gradient + self.mu * (w - local.start)
