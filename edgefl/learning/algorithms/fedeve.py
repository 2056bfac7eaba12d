"""FedEve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat, model_validator

from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Updates
from edgefl.learning.algorithms.variants import become_variant

if TYPE_CHECKING:
    from torch import Tensor

PROGRAM = "edgefl.learning.algorithms.as_published.fedeve_program:FedEveProgram"


class FedEve(Averaging):
    """FedEve: a Kalman filter weighs the predicted against the observed move (the FedEve paper, eq. 12 and 13)."""

    server_lr: PositiveFloat = 1.0  # Factor of the server's step, eta_g.
    q: Literal["paper", "code"] = "paper"  # Whether variances are as in eq. 13, or as in the authors' program.

    @model_validator(mode="after")
    def _choose_variant(self) -> FedEve:
        if self.q == "code":
            return become_variant(self, PROGRAM)
        return self

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model, the predicted descent `M = 0` with its variance `sigma^2 = 0`, and what is traced."""
        zero = 0 * w[:1]
        traced = {"gain": zero, "period_variance": zero, "client_variance": zero}
        return {"w": w, "m": 0 * w, "variance": zero, **traced}

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        """Return the prediction, `w - eta_g M`."""
        return server["w"] - self.server_lr * server["m"]

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `M+ = M + kappa (D - M)` and `w - eta_g M+`, D the observed descent (eq. 12).

        The gain is `kappa = s / (s + sigma_R^2)` with `s = sigma^2 + sigma_Q^2`, and `sigma^2+ = (1 - kappa) s`.
        """
        observed = -self.mean_delta(updates)
        drift, noise = self.variances(server["m"], observed, updates)
        predicted = server["variance"] + drift
        total = predicted + noise
        # A single device that moves as predicted has no variance: 0 / 0 counts as 1.
        gain = (predicted / total).where(total > 0, 1)
        m = server["m"] + gain * (observed - server["m"])
        w = server["w"] - self.server_lr * m  # from w, not from the prediction that devices started from
        traced = {"gain": gain, "period_variance": drift.reshape(1), "client_variance": noise.reshape(1)}
        return {**server, "w": w, "m": m, "variance": (1 - gain) * predicted, **traced}

    def variances(self, m: Tensor, observed: Tensor, updates: Updates) -> tuple[Tensor, Tensor]:
        """Return `sigma_Q^2 = |M - D|^2 / (m d)` and `sigma_R^2 = sum_k |D_k - D|^2 / (m^2 d)` (eq. 13)."""
        return self.spread(m - observed, -updates.vectors["delta"], observed)

    @staticmethod
    def spread(drift: Tensor, descents: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
        """Return `|drift|^2 / (m d)`, and `sum_k |D_k - centre|^2 / (m^2 d)` for the descents D_k [m, d].

        Here m counts the participants and d the parameters.
        """
        count, d = descents.shape
        return (drift**2).sum() / (count * d), ((descents - centre) ** 2).sum() / (count**2 * d)

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the Kalman gain kappa, and the variances `sigma_Q^2` and `sigma_R^2` that it follows from."""
        return {
            "kalman_gain": float(server["gain"]),
            "period_variance": float(server["period_variance"]),
            "client_variance": float(server["client_variance"]),
        }
