"""FedOpt: adaptive optimisers at the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, NonNegativeFloat, PositiveFloat

from edgefl.learning.algorithms.averaging import Averaging
from edgefl.learning.algorithms.base import Updates

if TYPE_CHECKING:
    from torch import Tensor

Decay = Annotated[float, Field(ge=0, lt=1)]


class FedOpt(Averaging):
    """Base: the mean move takes the place of a gradient (Reddi et al., ICLR 2021, algorithm 2); no bias correction."""

    # Learning rate of the server. A value that suits one model makes another diverge, so tune it.
    server_lr: PositiveFloat = 0.01
    beta1: Decay = 0.9  # Decay of the mean of moves.
    tau: PositiveFloat = 1e-3  # Adaptivity, added to the root of v.
    v0: NonNegativeFloat | None = None  # Initial v; by default tau^2.

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the model and the moments of its moves, `m = 0` and `v = v0`."""
        v0 = self.v0
        if v0 is None:
            v0 = self.tau**2
        return {"w": w, "m": 0 * w, "v": 0 * w + v0}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `m+ = beta1 m + (1 - beta1) mean(delta)`, v+ and `w + server_lr m+ / (sqrt(v+) + tau)`."""
        delta = self.mean_delta(updates)
        m = self.beta1 * server["m"] + (1 - self.beta1) * delta
        v = self.second_moment(server["v"], delta**2)
        return {**server, "w": server["w"] + self.server_lr * m / (v.sqrt() + self.tau), "m": m, "v": v}

    def second_moment(self, v: Tensor, square: Tensor) -> Tensor:
        """Return the next v [d], from the last one and the square of the mean move."""
        raise NotImplementedError


class FedAdagrad(FedOpt):
    """FedAdagrad: steps shrink with the sum of squared moves (Reddi et al., ICLR 2021, algorithm 2)."""

    beta1: Decay = 0.0  # Decay of the mean of moves; 0 is only the last move.

    def second_moment(self, v: Tensor, square: Tensor) -> Tensor:
        """Return `v + delta^2`."""
        return v + square


class FedAdam(FedOpt):
    """FedAdam: Adam at the server, without bias correction (Reddi et al., ICLR 2021, algorithm 2)."""

    beta2: Decay = 0.99  # Decay of the mean of squared moves.

    def second_moment(self, v: Tensor, square: Tensor) -> Tensor:
        """Return `beta2 v + (1 - beta2) delta^2`."""
        return self.beta2 * v + (1 - self.beta2) * square


class FedYogi(FedOpt):
    """FedYogi: Adam whose v moves by a bounded step (Reddi et al., ICLR 2021, algorithm 2)."""

    beta2: Decay = 0.99  # Decay of the mean of squared moves.

    def second_moment(self, v: Tensor, square: Tensor) -> Tensor:
        """Return `v - (1 - beta2) delta^2 sign(v - delta^2)`."""
        return v - (1 - self.beta2) * square * (v - square).sign()
