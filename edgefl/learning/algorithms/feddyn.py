"""FedDyn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedDyn(Algorithm):
    """FedDyn: dynamic regularisation by a drift h_i that each device keeps (Acar et al., ICLR 2021, algorithm 1)."""

    alpha: NonNegativeFloat = 0.01

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model and the mean drift of all devices, h = 0."""
        return {"w": w, "h": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """A device's drift in units of parameters, h_i = 0."""
        return {"h": 0 * w}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """H is the mean of h_i."""
        return {"h": state["h"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Gradient + alpha_i (h_i - start), alpha_i = alpha / omega_i; `decay` adds alpha_i w."""
        return gradient + (self.alpha / local.weight) * (local.state["h"] - local.start)

    def decay(self, local: LocalContext) -> Tensor | float:
        """alpha_i: the quadratic term is weight decay in the authors' program."""
        return self.alpha / local.weight

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """h_i+ = h_i + w - start."""
        return {"h": local.state["h"] + w - local.start}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """mean(w_i) + h with h + sum(delta) / N: a mean over participants, and over the population."""
        delta = updates.vectors["delta"]
        h = server["h"] + delta.sum(dim=0) / updates.population
        return {**server, "w": server["w"] + updates.mean() + h, "h": h}
