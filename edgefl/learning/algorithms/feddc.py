"""FedDC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedDC(Algorithm):
    """FedDC: a drift h_i and a gradient correction g_i that each device keeps (Gao et al., CVPR 2022, algorithm 1)."""

    alpha: NonNegativeFloat = 0.01  # Weight of the penalty on a device's drift.
    # Learning rate in g_i; the authors' program takes the initial one.
    cv_lr: Literal["initial", "current"] = "initial"

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model, the mean drift of all devices, `h = 0`, and their mean correction, `g = 0`."""
        return {"w": w, "h": 0 * w, "g": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's drift and correction, `h_i = g_i = 0`."""
        return {"h": 0 * w, "g": 0 * w}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send the mean correction with the model."""
        return {"g": server["g"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient + alpha_i (w - start + h_i) + g / omega_i - g_i` with `alpha_i = alpha / omega_i`."""
        pull = self.alpha * (w - local.start + local.state["h"])
        return gradient + (pull + local.received["g"]) / local.weight - local.state["g"]

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, and omega_i times the change of the correction."""
        change = self.remember(w, local)["g"] - local.state["g"]
        return {"delta": w - local.start, "delta_g": local.weight * change}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return omega_i times the change of the correction, `-g - omega_i delta / (K_ref lr)`."""
        change = local.weight * upload["delta"] / (local.run.steps * local.rate(self.cv_lr))
        return {"delta_g": -local.received["g"] - change}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `h_i+ = h_i + delta` and `g_i+ = g_i - g / omega_i - delta / (K_ref lr)`."""
        delta = w - local.start
        slope = delta / (local.run.steps * local.rate(self.cv_lr))
        g = local.state["g"] - local.received["g"] / local.weight - slope
        return {"h": local.state["h"] + delta, "g": g}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `mean(w_i) + h+` with `h+ = h + sum(delta) / N`, and `g + sum(omega_i change of g_i) / N`."""
        n = updates.population
        h = server["h"] + updates.vectors["delta"].sum(dim=0) / n
        g = server["g"] + updates.vectors["delta_g"].sum(dim=0) / n
        return {**server, "w": server["w"] + updates.mean() + h, "h": h, "g": g}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `h_i` and `omega_i g_i`: h and g are their means."""
        return {"h": state["h"], "g": weight * state["g"]}
