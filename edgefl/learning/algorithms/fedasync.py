"""FedAsync."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat

from edgefl.core.arrays import Floats
from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedAsync(Algorithm):
    """FedAsync: the server mixes in one local model after another, old ones less (Xie et al., arXiv 1903.03934)."""

    mixing: Annotated[float, Field(gt=0, le=1)] = 0.6  # Weight of an arriving model, alpha.
    # Factor s(tau) on the weight of a model that is tau aggregations old.
    staleness: Literal["constant", "polynomial", "hinge"] = "polynomial"
    exponent: NonNegativeFloat = 0.5  # Exponent of the polynomial, a.
    hinge_slope: NonNegativeFloat = 10.0  # Slope of the hinge, a.
    hinge_start: NonNegativeFloat = 4.0  # Age at which the hinge begins in aggregations, b.
    mu: NonNegativeFloat = 0.0  # Weight of the pull toward the received model, rho.

    def correct(self, gradient: Tensor, w: Tensor, local: LocalContext) -> Tensor:
        """Return the gradient of `loss + (mu/2) |w - start|^2`."""
        return gradient + self.mu * (w - local.start)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `(1 - alpha s(tau_i)) w + alpha s(tau_i) w_i`, applied to one device after another by ascending id.

        The server works out w_i: the model that device i received, plus the move that it sent.
        """
        w = server["w"]
        age = np.zeros(len(updates.ids))
        if updates.staleness is not None:
            age += updates.staleness
        shares = (self.mixing * self.discount(age)).tolist()
        starts = updates.starts or (w,) * len(age)
        for share, start, delta in zip(shares, starts, updates.vectors["delta"], strict=True):
            w = (1.0 - share) * w + share * (start + delta)
        return {**server, "w": w}

    def discount(self, age: Floats) -> Floats:
        """Return s(tau): `1`, `(1 + tau)^-a`, or `1` up to `tau = b` and `1 / (a (tau - b) + 1)` beyond."""
        if self.staleness == "constant":
            return np.ones(age.shape)
        if self.staleness == "polynomial":
            return (1.0 + age) ** -self.exponent
        late = np.maximum(age - self.hinge_start, 0.0)
        return 1.0 / (1.0 + self.hinge_slope * late)

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the mean age of the updates in aggregations, and their mean weight s(tau)."""
        age = updates.staleness
        if age is None:
            return {}
        return {"staleness": float(age.mean()), "staleness_weight": float(self.discount(age.astype(float)).mean())}
