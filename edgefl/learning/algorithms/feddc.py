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

    alpha: NonNegativeFloat = 0.01
    cv_lr: Literal["initial", "current"] = "initial"  # in g_i; initial as in the authors' program

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model, the mean drift of all devices, h = 0, and their mean correction, g = 0."""
        return {"w": w, "h": 0 * w, "g": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """A device's drift and correction, h_i = g_i = 0."""
        return {"h": 0 * w, "g": 0 * w}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """H is the mean of h_i, g that of omega_i g_i."""
        return {"h": state["h"], "g": weight * state["g"]}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The mean correction goes with the model."""
        return {"g": server["g"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Gradient + alpha_i (w - start + h_i) + g / omega_i - g_i with alpha_i = alpha / omega_i."""
        pull = self.alpha * (w - local.start + local.state["h"])
        return gradient + (pull + local.received["g"]) / local.weight - local.state["g"]

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """h_i+ = h_i + delta; g_i+ = g_i - g / omega_i - delta / (K_ref lr)."""
        delta, lr = w - local.start, local.run.lr if self.cv_lr == "initial" else local.lr
        g = local.state["g"] - local.received["g"] / local.weight - delta / (local.run.steps * lr)
        return {"h": local.state["h"] + delta, "g": g}

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """The move, and omega_i times the change of the correction."""
        change = self.remember(w, local)["g"] - local.state["g"]
        return {"delta": w - local.start, "delta_g": local.weight * change}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """omega_i times the change of the correction: -g - omega_i delta / (K_ref lr)."""
        lr = local.run.lr if self.cv_lr == "initial" else local.lr
        change = local.weight * upload["delta"] / (local.run.steps * lr)
        return {"delta_g": -local.received["g"] - change}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """mean(w_i) + h with h + sum(delta) / N; g + sum(omega_i change of g_i) / N."""
        delta, n = updates.vectors["delta"], updates.population
        h = server["h"] + delta.sum(dim=0) / n
        g = server["g"] + updates.vectors["delta_g"].sum(dim=0) / n
        return {**server, "w": server["w"] + updates.mean() + h, "h": h, "g": g}
