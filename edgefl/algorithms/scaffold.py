"""SCAFFOLD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveFloat

from edgefl.algorithms.base import Algorithm, Local, Updates

if TYPE_CHECKING:
    from torch import Tensor


class Scaffold(Algorithm):
    """SCAFFOLD: control variates against client drift (Karimireddy et al., ICML 2020, algorithm 1)."""

    server_lr: PositiveFloat = 1.0
    option: Literal["I", "II"] = "II"  # control variates: the gradient at the received model, or from the move
    cv_lr: Literal["initial", "current"] = "current"  # in option II; initial as in FedDyn's and FedSSG's programs

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model and the server's control variate, c = 0."""
        return {"w": w, "c": 0 * w}

    def client_state(self, w: Tensor) -> dict[str, Tensor]:
        """A device's control variate, c_i = 0."""
        return {"c": 0 * w}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The server's control variate goes with the model."""
        return {"c": server["c"]}

    def needs_gradient(self) -> bool:
        """In option I."""
        return self.option == "I"

    def correct(self, gradient: Tensor, w: Tensor, local: Local) -> Tensor:
        """Gradient - c_i + c."""
        return gradient - local.state["c"] + local.received["c"]

    def remember(self, w: Tensor, local: Local) -> dict[str, Tensor]:
        """c_i+ = gradient of all samples at start (I), or c_i - c + (start - w) / (K lr) (II)."""
        if self.option == "I":
            return {"c": 0 * w + local.gradient}
        lr = local.run.lr if self.cv_lr == "initial" else local.lr
        return {"c": local.state["c"] - local.received["c"] + (local.start - w) / (local.steps * lr)}

    def finish(self, w: Tensor, local: Local) -> dict[str, Tensor]:
        """The move, and the change of the control variate."""
        return {"delta": w - local.start, "delta_c": self.remember(w, local)["c"] - local.state["c"]}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + server_lr mean(delta), and c + sum(delta_c) / N: a mean over participants, and over the population."""
        w = server["w"] + self.server_lr * updates.vectors["delta"].mean(dim=0)
        return {**server, "w": w, "c": server["c"] + updates.vectors["delta_c"].sum(dim=0) / updates.population}
