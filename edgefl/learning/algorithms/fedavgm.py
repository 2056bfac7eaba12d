"""FedAvgM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveFloat

from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedAvgM(Averaging):
    """FedAvgM: momentum at the server (Hsu et al., arXiv 1909.06335, 2019), a moving mean or the paper's heavy ball."""

    server_lr: PositiveFloat = 1.0  # Factor of the server's step.
    server_momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9  # Momentum of the server, beta.
    # Moving mean of moves (ema), or their sum with decay as in the paper (heavy_ball).
    rule: Literal["ema", "heavy_ball"] = "ema"

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the momentum, `m = 0`."""
        return {"w": w, "m": 0 * w}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + server_lr m+`; `m+` is `beta m + (1 - beta) mean(delta)` (ema) or `beta m + mean(delta)`."""
        beta = self.server_momentum
        share = 1 - beta if self.rule == "ema" else 1.0
        m = beta * server["m"] + share * self.mean_delta(updates)
        return {**server, "w": server["w"] + self.server_lr * m, "m": m}
