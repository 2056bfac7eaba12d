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

    alpha: NonNegativeFloat = 0.01  # Weight of the dynamic regularisation.

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the mean drift of all devices, `h = 0`."""
        return {"w": w, "h": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's drift in units of parameters, `h_i = 0`."""
        return {"h": 0 * w}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient + alpha_i (h_i - start)` with `alpha_i = alpha / omega_i`; `decay` adds `alpha_i w`."""
        return gradient + (self.alpha / local.weight) * (local.state["h"] - local.start)

    def decay(self, local: LocalContext) -> Tensor | float:
        """Return `alpha_i`: in the authors' program the quadratic term is weight decay, which is not clipped."""
        return self.alpha / local.weight

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `h_i+ = h_i + w - start`."""
        return {"h": local.state["h"] + w - local.start}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `mean(w_i) + h+` with `h+ = h + sum(delta) / N`: one mean over participants, one over all devices."""
        h = server["h"] + updates.vectors["delta"].sum(dim=0) / updates.population
        return {**server, "w": server["w"] + updates.mean() + h, "h": h}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `h_i`: h is their mean."""
        return {"h": state["h"]}
