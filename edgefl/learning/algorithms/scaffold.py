"""SCAFFOLD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat, model_validator

from edgefl.core.section import fault_at
from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates
from edgefl.learning.algorithms.variants import become_variant

if TYPE_CHECKING:
    from torch import Tensor

VARIANTS = {  # by the key `variant`: what the programs of other papers run under the name SCAFFOLD
    "ssg_code": "edgefl.learning.algorithms.as_published.fedssg_program:ScaffoldInFedSSG",
    "dyn": "edgefl.learning.algorithms.as_published.dynamic_devices_program:ScaffoldInDynamicDevices",
    "eve_code": "edgefl.learning.algorithms.as_published.fedeve_program:ScaffoldInFedEve",
}


class Scaffold(Algorithm):
    """SCAFFOLD: control variates against client drift (Karimireddy et al., ICML 2020, algorithm 1)."""

    server_lr: PositiveFloat = 1.0  # Factor of the server's step, eta_g.
    option: Literal["I", "II"] = "II"  # Control variates from gradients at the received model (I), or from moves (II).
    # Learning rate in option II; FedDyn's program takes the initial one.
    cv_lr: Literal["initial", "current"] = "current"
    # Whose SCAFFOLD it is, algorithm 1 of the paper, or the programs of FedSSG, dynamic devices and FedEve.
    variant: Literal["paper", "ssg_code", "dyn", "eve_code"] = "paper"

    @model_validator(mode="after")
    def _choose_variant(self) -> Scaffold:
        if self.variant == "paper":
            return self
        if self.variant == "dyn" and self.option == "I":
            raise fault_at(("option",), "the variant dyn knows only II: leave it out, or take another variant")
        return become_variant(self, VARIANTS[self.variant])

    @property
    def needs_gradient(self) -> bool:
        """True in option I, whose control variates are gradients at the received model."""
        return self.option == "I"

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the server's control variate, `c = 0`."""
        return {"w": w, "c": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's control variate, `c_i = 0`."""
        return {"c": 0 * w}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send the server's control variate with the model."""
        return {"c": server["c"]}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return `gradient - c_i + c` (eq. 3)."""
        return gradient - local.state["c"] + local.received["c"]

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move and the change of the control variate."""
        return {"delta": w - local.start, "delta_c": self.remember(w, local)["c"] - local.state["c"]}

    def derived(self, upload: Mapping[str, Tensor], local: LocalContext) -> dict[str, Tensor]:
        """Return the change of the control variate, `-c - delta / (K lr)`; in option I only the device knows it."""
        if self.option == "I":
            return {}
        return {"delta_c": -local.received["c"] - upload["delta"] / self.divisor(local)}

    def remember(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `c_i+`: the gradient of all samples at start (I), or `c_i - c + (start - w) / (K lr)` (II; eq. 4)."""
        if self.option == "I":
            return {"c": 0 * w + local.gradient}
        return {"c": local.state["c"] - local.received["c"] + (local.start - w) / self.divisor(local)}

    def divisor(self, local: LocalContext) -> Tensor | float:
        """Return `K lr`: a move divided by it is minus the mean gradient (option II)."""
        return local.steps * local.rate(self.cv_lr)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + eta_g mean(delta)`, and `c + sum(delta_c) / N` (eq. 5)."""
        w = server["w"] + self.server_lr * self.move(updates)
        return {**server, "w": w, "c": server["c"] + self.variate_move(updates)}

    def move(self, updates: Updates) -> Tensor:
        """Return `mean(delta)`, over participants."""
        return updates.mean()

    def variate_move(self, updates: Updates) -> Tensor:
        """Return `sum(delta_c) / N`, a mean over the population."""
        return updates.vectors["delta_c"].sum(dim=0) / updates.population

    def share_in_means(self, state: Mapping[str, Tensor], weight: float) -> dict[str, Tensor]:
        """Return `c_i`: c is their mean."""
        return {"c": state["c"]}
