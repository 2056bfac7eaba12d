"""FedBuff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat

from edgefl.core.arrays import Floats, Ints
from edgefl.learning.algorithms.base import Algorithm, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedBuff(Algorithm):
    """FedBuff: the mean of a buffer of moves, old ones less (Nguyen et al., AISTATS 2022, algorithm 1)."""

    server_lr: PositiveFloat = 1.0  # Factor of the server's step.
    exponent: NonNegativeFloat = 0.5  # Exponent of the staleness, a; with 0 old and new moves count alike.

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + server_lr mean_i (1 + tau_i)^-a delta_i`, tau_i the aggregations since i received its model."""
        delta = updates.vectors["delta"]
        age: Floats | Ints = np.zeros(len(updates.ids))
        if updates.staleness is not None:
            age = updates.staleness
        discount = delta.new_tensor(self.discount(age))
        # The mean divides by the number of moves, not by the sum of discounts: a stale buffer takes a shorter step.
        return {**server, "w": server["w"] + self.server_lr * (discount @ delta) / len(delta)}

    def discount(self, age: Floats | Ints) -> Floats:
        """Return `(1 + tau)^-a`."""
        return np.asarray((1.0 + age) ** -self.exponent)

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return the mean age of the updates in aggregations, and their mean weight."""
        age = updates.staleness
        if age is None:
            return {}
        return {"staleness": float(age.mean()), "staleness_weight": float(self.discount(age).mean())}
