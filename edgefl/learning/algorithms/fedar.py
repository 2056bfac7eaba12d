"""FedAR."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat

from edgefl.learning.algorithms.base import Algorithm, LocalContext, RunInfo, Updates

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.core.arrays import Ids


class FedAR(Algorithm):
    """FedAR: last updates of all devices, rectified by their age (FedAR paper, algorithm 1 and eq. 7, ECML PKDD 2024).

    Updates that are g(t) rounds old or older do not count. The paper has one rule of g(t) for strongly convex losses
    (linear) and another for all other losses (root), and gives no numbers for either.
    """

    rho: Annotated[float, Field(ge=0, le=1)] = 0.1  # Exponent of an update's age in its weight.
    psi_max: Annotated[float, Field(ge=1)] = 2.0  # Greatest weight of an old update.
    # Of g(t): linear: t_0 + t / b; root: of theorem 2; constant: t_0.
    cutoff_rule: Literal["linear", "root", "constant"] = "linear"
    cutoff: PositiveFloat = 50.0  # Age in rounds up to which updates count, t_0.
    # How many rounds a linear cut-off grows each round, 1 / b.
    cutoff_slope: Annotated[float, Field(ge=0, lt=0.5)] = 0.4
    smoothness: PositiveFloat = 1.0  # Lipschitz constant of the gradients, L, for a cut-off by the root.
    # Dissimilarity beta in |grad F_i|^2 <= alpha |grad F|^2 + beta on average, for a cut-off by the root.
    dissimilarity: NonNegativeFloat = 1.0
    hessian_lipschitz: NonNegativeFloat = 1.0  # Lipschitz constant of the Hessians, lambda, for a cut-off by the root.

    @property
    def replays(self) -> bool:
        """True: every round uses the table of last updates, which grow older (algorithm 1)."""
        return True

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's last update, `G_i = 0`, and its age tau_i in rounds, infinite before the first update."""
        return {"G": 0 * w, "age": 0 * w[:1] + inf}

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return `G_i = (start - w) / lr`."""
        return {"G": (local.start - w) / local.lr}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w - lr sum_i psi_i G_i / N_t`, where N_t devices have `psi_i > 0`; w if none has (eq. 7)."""
        last = server["G"].clone()
        last[updates.ids] = updates.vectors["G"]
        age = server["age"] + 1
        age[updates.ids] = 0.0
        psi = self.weights(age, updates.index, updates.run)[:, 0]
        # N_t as in the text at eq. 7. Algorithm 1 also subtracts devices that were never seen, and can fall below 0.
        n_t = (psi > 0).sum()
        step = updates.lr * (psi @ last) / n_t.clamp(min=1)
        return {**server, "w": server["w"] - step, "G": last, "age": age}

    def weights(self, age: Tensor, index: int, run: RunInfo) -> Tensor:
        """Return psi_i [N, 1] for the ages tau_i: `min((tau_i + 1)^rho, psi_max)`, or 0 from the cut-off on."""
        counts = age < self.cutoff_rounds(index, run)
        # The limit comes before the product: an infinite age would make it inf * 0, which is NaN.
        return ((age + 1) ** self.rho).clamp(max=self.psi_max) * counts

    def cutoff_rounds(self, index: int, run: RunInfo) -> float:
        """Return g(t) in round `t = index + 1`; N are the run's devices, K the local steps of a mean device.

        Linear is `t_0 + t / b` (theorem 1), constant is `t_0`, and root is
        `(1/4) sqrt(L / ((L^2 + beta lambda N) K N)) max(sqrt t, sqrt t_0)` (theorem 2).
        """
        t = index + 1
        n = run.population
        if self.cutoff_rule == "linear":
            return self.cutoff + self.cutoff_slope * t
        if self.cutoff_rule == "constant":
            return self.cutoff
        # With many devices this is often below 1, so that only fresh updates count.
        l_2 = self.smoothness**2 + self.dissimilarity * self.hessian_lipschitz * n
        return sqrt(self.smoothness / (l_2 * run.steps * n) * max(t, self.cutoff)) / 4

    def contributors(self, server: Mapping[str, Tensor], updates: Updates) -> Ids:
        """Return the devices with `psi_i > 0`."""
        psi = self.weights(server["age"], updates.index, updates.run)[:, 0]
        return np.flatnonzero((psi > 0).cpu().numpy())

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """Return how many updates count, and their mean weight if any do."""
        psi = self.weights(server["age"], updates.index, updates.run)
        counting = psi[psi > 0]
        if not len(counting):
            return {"contributing": 0.0}
        return {"contributing": float(len(counting)), "staleness_weight": float(counting.mean())}
