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

    Updates do not count from an age of g(t) rounds on: linear is t_0 + t / b with b > 2, for strongly convex losses
    (theorem 1); root is (1/4) sqrt(L / ((L^2 + beta lambda N) K N)) max(sqrt t, sqrt t_0), for others (theorem 2),
    often below 1, so that fresh updates alone count; constant is t_0. The paper gives no numbers for any of them.
    """

    rho: Annotated[float, Field(ge=0, le=1)] = 0.1
    psi_max: Annotated[float, Field(ge=1)] = 2.0
    cutoff_rule: Literal["linear", "root", "constant"] = "linear"
    cutoff: PositiveFloat = 50.0  # rounds, t_0
    cutoff_slope: Annotated[float, Field(ge=0, lt=0.5)] = 0.4  # rounds a round, 1 / b; of linear
    smoothness: PositiveFloat = 1.0  # L of gradients, as what follows of root
    dissimilarity: NonNegativeFloat = 1.0  # beta: |grad F_i|^2 <= alpha |grad F|^2 + beta on average
    hessian_lipschitz: NonNegativeFloat = 1.0  # lambda

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model."""
        return {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """A device's last update, G_i = 0, and its age tau_i in rounds, infinite before there is one."""
        return {"G": 0 * w, "age": 0 * w[:1] + inf}

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """G_i = (start - w) / lr."""
        return {"G": (local.start - w) / local.lr}

    def cutoff_rounds(self, index: int, run: RunInfo) -> float:
        """G(t) in round t = index + 1; N and K are the run's."""
        t, n = index + 1, run.population
        if self.cutoff_rule == "root":
            l_2 = self.smoothness**2 + self.dissimilarity * self.hessian_lipschitz * n
            return sqrt(self.smoothness / (l_2 * run.steps * n) * max(t, self.cutoff)) / 4
        return self.cutoff + (self.cutoff_slope * t if self.cutoff_rule == "linear" else 0.0)

    def weights(self, age: Tensor, index: int, run: RunInfo) -> Tensor:
        """psi_i [N, 1] for the ages tau_i: 0 from the cut-off on, else min((tau_i + 1)^rho, psi_max)."""
        return ((age + 1) ** self.rho).clamp(max=self.psi_max) * (age < self.cutoff_rounds(index, run))

    def replays(self) -> bool:
        """The table is there, and grows older (algorithm cards, 1.12.5)."""
        return True

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W - lr sum over all of psi_i G_i / N_t with N_t the number of devices whose psi_i is not 0; w without any."""
        last, age = server["G"].clone(), server["age"] + 1
        last[updates.ids], age[updates.ids] = updates.vectors["G"], 0.0
        psi = self.weights(age, updates.index, updates.run)[:, 0]
        step = updates.lr * (psi @ last) / (psi > 0).sum().clamp(min=1)
        return {**server, "w": server["w"] - step, "G": last, "age": age}

    def counting(self, server: Mapping[str, Tensor], updates: Updates) -> Ids:
        """Those with psi_i > 0."""
        psi = self.weights(server["age"], updates.index, updates.run)[:, 0]
        return np.flatnonzero((psi > 0).cpu().numpy())

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """How many updates count, and their mean weight, if any do."""
        psi = self.weights(server["age"], updates.index, updates.run)
        counting = psi[psi > 0]
        mean = {"staleness_weight": float(counting.mean())} if len(counting) else {}
        return {"contributing": float(len(counting)), **mean}
