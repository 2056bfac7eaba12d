"""FedVRA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeFloat, PositiveFloat, model_validator

from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates
from edgefl.learning.algorithms.variants import become_variant

if TYPE_CHECKING:
    from torch import Tensor

PROGRAM = "edgefl.learning.algorithms.as_published.fedssg_program:FedVRAInFedSSG"


class FedVRA(Algorithm):
    """FedVRA: augmented Lagrangian, a dual variable that each device keeps (Wang et al., AAAI 2023; FedSSG, eq. 14).

    With `a = 1` and `d = gamma` it is FedDyn with `alpha = gamma` if all devices have equally many samples.
    """

    alpha: NonNegativeFloat = 0.01  # Alpha of the variant ssg_code, which is FedDyn.
    # Whose FedVRA it is, the paper's (general) or that of FedSSG's program.
    variant: Literal["general", "ssg_code"] = "general"
    gamma: NonNegativeFloat = 0.1  # Weight of the penalty.
    a: NonNegativeFloat = 7.0  # Dual step.
    d: PositiveFloat = 10.0  # Divisor of the duals in the server's mean.

    @model_validator(mode="after")
    def _choose_variant(self) -> FedVRA:
        if self.variant == "ssg_code":
            return become_variant(self, PROGRAM)
        return self

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the mean dual of all devices, `lambda = 0`."""
        return {"w": w, "dual": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's dual, `lambda_i = 0`."""
        return {"dual": 0 * w}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + <lambda_i, w - start> + (gamma/2) |w - start|^2`."""
        return gradient + local.state["dual"] + self.gamma * (w - local.start)

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `lambda_i+ = lambda_i + a gamma (w - start)`."""
        return {"dual": local.state["dual"] + self.a * self.gamma * (w - local.start)}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `mean(w_i) + lambda+ / d` with `lambda+ = lambda + a gamma sum(delta) / N`."""
        delta = updates.vectors["delta"]
        dual = server["dual"] + self.a * self.gamma * delta.sum(dim=0) / updates.population
        return {**server, "w": server["w"] + updates.mean() + dual / self.d, "dual": dual}

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `lambda_i`: lambda is their mean."""
        return {"dual": state["dual"]}
