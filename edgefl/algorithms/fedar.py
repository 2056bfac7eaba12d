"""FedAR."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, PositiveFloat

from edgefl.algorithms.base import Algorithm, Local, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedAR(Algorithm):
    """FedAR: last updates of all devices, rectified by their age (FedAR paper, algorithm 1 and eq. 7, ECML PKDD 2024).

    The paper gives no numbers for its cut-off of t_0 + t / b rounds with b > 2, nor for its learning rates.
    """

    rho: Annotated[float, Field(ge=0, le=1)] = 0.1
    psi_max: Annotated[float, Field(ge=1)] = 2.0
    cutoff: PositiveFloat = 50.0  # rounds, t_0; older updates do not count
    cutoff_slope: Annotated[float, Field(ge=0, lt=0.5)] = 0.4  # rounds a round, 1 / b

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model."""
        return {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """A device's last update, G_i = 0, and its age tau_i in rounds, infinite before there is one."""
        return {"G": 0 * w, "age": 0 * w[:1] + inf}

    def finish(self, w: Tensor, local: Local) -> dict[str, Tensor]:
        """G_i = (start - w) / lr."""
        return {"G": (local.start - w) / local.lr}

    def weights(self, age: Tensor, index: int) -> Tensor:
        """psi_i [N, 1] for the ages tau_i: 0 from the cut-off on, else min((tau_i + 1)^rho, psi_max)."""
        cutoff = self.cutoff + self.cutoff_slope * (index + 1)
        return ((age + 1) ** self.rho).clamp(max=self.psi_max) * (age < cutoff)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W - lr sum over all of psi_i G_i / N_t with N_t the number of devices whose psi_i is not 0."""
        last, age = server["G"].clone(), server["age"] + 1
        last[updates.ids], age[updates.ids] = updates.vectors["G"], 0.0
        psi = self.weights(age, updates.index)[:, 0]
        step = updates.lr * (psi @ last) / (psi > 0).sum()
        return {**server, "w": server["w"] - step, "G": last, "age": age}

    def trace(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, float]:
        """How many updates count, and their mean weight."""
        psi = self.weights(server["age"], updates.index)
        counting = psi[psi > 0]
        return {"contributing": float(len(counting)), "staleness_weight": float(counting.mean())}
