"""FedEve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat

from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedEve(Averaging):
    """FedEve: a Kalman filter weighs the predicted against the observed move (the FedEve paper, eq. 12 and 13)."""

    server_lr: PositiveFloat = 1.0
    q: Literal["paper", "code"] = "paper"  # variances: eq. 13, or as the authors' program has them

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model, its predicted descent M = 0, the variance of that, sigma^2 = 0, and the round's Kalman gain."""
        return {"w": w, "m": 0 * w, "variance": 0 * w[:1], "gain": 0 * w[:1]}

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        """The prediction w - server_lr M."""
        return server["w"] - self.server_lr * server["m"]

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """M+ = M + kappa (D - M) with kappa = s / (s + sigma_R^2), s = sigma^2 + sigma_Q^2; w - server_lr M+."""
        observed = -self.mean_delta(updates)
        drift, noise = self.variances(server["m"], observed, updates)
        predicted = server["variance"] + drift
        total = predicted + noise
        gain = (predicted / total).where(total > 0, 1)
        m = server["m"] + gain * (observed - server["m"])
        w, variance = server["w"] - self.server_lr * m, (1 - gain) * predicted
        return {**server, "w": w, "m": m, "variance": variance, "gain": gain}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """The Kalman gain kappa: how much the observed move counts against the predicted one."""
        return {"kalman_gain": float(server["gain"])}

    def variances(self, m: Tensor, observed: Tensor, updates: Updates) -> tuple[Tensor, Tensor]:
        """Of the prediction sigma_Q^2 and of the observation sigma_R^2.

        By paper |M - D|^2 / (m d) and sum |D_k - D|^2 / (m^2 d); by code |D|^2 / (m d), and around the uniform mean.
        """
        descents = -updates.vectors["delta"]
        count, d = descents.shape
        centre = observed if self.q == "paper" else descents.mean(dim=0)
        drift = m - observed if self.q == "paper" else observed
        return (drift**2).sum() / (count * d), ((descents - centre) ** 2).sum() / (count**2 * d)
