"""FedACG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, NonNegativeFloat

from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedACG(Averaging):
    """FedACG: devices start where the momentum leads, and stay near that point (Kim et al., CVPR 2024, algorithm 1)."""

    server_momentum: Annotated[float, Field(ge=0, lt=1)] = 0.85  # Momentum of the server, lambda.
    beta: NonNegativeFloat = 0.002  # Weight of the pull (beta/2) |w - start|^2.
    # Weights of updates, in proportion to samples, or equal (uniform).
    weighting: Literal["samples", "uniform"] = "uniform"

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the momentum, `m = 0`."""
        return {"w": w, "m": 0 * w}

    def broadcast(self, server: Mapping[str, Tensor]) -> Tensor:
        """Return the look-ahead, `w + lambda m`."""
        return server["w"] + self.server_momentum * server["m"]

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + (beta/2) |w - start|^2`."""
        return gradient + self.beta * (w - local.start)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `m+ = lambda m + mean(delta)` and `w + m+`, which is the mean of the local models."""
        # w, not the look-ahead, is what moves: the look-ahead's share lambda m is part of m+.
        m = self.server_momentum * server["m"] + self.mean_delta(updates)
        return {**server, "w": server["w"] + m, "m": m}
