"""FedAsync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat

from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedAsync(Algorithm):
    """FedAsync: the server mixes in one local model after another, old ones less (Xie et al., arXiv 1903.03934)."""

    mixing: Annotated[float, Field(gt=0, le=1)] = 0.6  # alpha
    staleness: Literal["constant", "polynomial", "hinge"] = "polynomial"  # s(tau), tau the aggregations since
    exponent: NonNegativeFloat = 0.5  # a of the polynomial
    hinge_slope: NonNegativeFloat = 10.0  # a of the hinge
    hinge_start: NonNegativeFloat = 4.0  # b of the hinge, aggregations
    mu: NonNegativeFloat = 0.0  # rho, the pull toward the received model

    def discount(self, age: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """S(tau): 1, (1 + tau)^-a, or 1 up to tau = b and 1 / (a (tau - b) + 1) from there."""
        if self.staleness == "polynomial":
            return (1.0 + age) ** -self.exponent
        late = np.maximum(age - self.hinge_start, 0.0)
        return 1.0 / (1.0 + self.hinge_slope * late * (self.staleness == "hinge"))

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model."""
        return {"w": w}

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Gradient of the loss + (mu/2) |w - start|^2."""
        return gradient + self.mu * (w - local.start)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W <- (1 - alpha s(tau_i)) w + alpha s(tau_i) w_i, one after another in the order of ids.

        w_i is the model that device i had got, which the server knows, and the move that it has sent.
        """
        w, age = server["w"], np.zeros(len(updates.ids))
        if updates.staleness is not None:
            age += updates.staleness
        shares, starts = (self.mixing * self.discount(age)).tolist(), updates.starts or (w,) * len(age)
        for share, start, delta in zip(shares, starts, updates.vectors["delta"], strict=True):
            w = (1.0 - share) * w + share * (start + delta)
        return {**server, "w": w}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """The mean age of the updates, in aggregations, and of their weights s(tau)."""
        age = updates.staleness
        if age is None:
            return {}
        return {"staleness": float(age.mean()), "staleness_weight": float(self.discount(age.astype(float)).mean())}
