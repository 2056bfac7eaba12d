"""FedVRA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeFloat, PositiveFloat

from edgefl.learning.algorithms.base import LocalContext, Updates
from edgefl.learning.algorithms.feddyn import FedDyn

if TYPE_CHECKING:
    from torch import Tensor


class FedVRA(FedDyn):
    """FedVRA: augmented Lagrangian, a dual variable that each device keeps (Wang et al., AAAI 2023; FedSSG, eq. 14).

    With a = 1 and d = gamma it is FedDyn with alpha = gamma where all devices have as many samples. Variant ssg_code is
    what the FedSSG paper's program runs under this name: FedDyn with its `alpha`, as the dual's gradient is zero there.
    """

    variant: Literal["general", "ssg_code"] = "general"
    gamma: NonNegativeFloat = 0.1  # of the penalty
    a: NonNegativeFloat = 7.0  # dual step
    d: PositiveFloat = 10.0  # divisor of the duals in the server's mean

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model and the mean dual of all devices, lambda = 0."""
        return super().server_state(w) if self.variant == "ssg_code" else {"w": w, "dual": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """A device's dual, lambda_i = 0."""
        return super().client_state(w) if self.variant == "ssg_code" else {"dual": 0 * w}

    def held(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Lambda is the mean of lambda_i."""
        return super().held(state, weight) if self.variant == "ssg_code" else {"dual": state["dual"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Gradient of the loss + <lambda_i, w - start> + (gamma/2) |w - start|^2."""
        if self.variant == "ssg_code":
            return super().correct(gradient, w, local)
        return gradient + local.state["dual"] + self.gamma * (w - local.start)

    def decay(self, local: LocalContext) -> Tensor | float:
        """None; FedDyn's in its program."""
        return super().decay(local) if self.variant == "ssg_code" else 0.0

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """lambda_i+ = lambda_i + a gamma (w - start)."""
        if self.variant == "ssg_code":
            return super().remember(w, local)
        return {"dual": local.state["dual"] + self.a * self.gamma * (w - local.start)}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """mean(w_i) + lambda / d with lambda + a gamma sum(delta) / N."""
        if self.variant == "ssg_code":
            return super().aggregate(server, updates)
        delta = updates.vectors["delta"]
        dual = server["dual"] + self.a * self.gamma * delta.sum(dim=0) / updates.population
        return {**server, "w": server["w"] + updates.mean() + dual / self.d, "dual": dual}
