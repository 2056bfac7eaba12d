"""FedVARP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import PositiveFloat

from edgefl.learning.algorithms.base import Algorithm, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedVarp(Algorithm):
    """FedVARP: the last moves of absent devices stand in for them (Jhunjhunwala et al., UAI 2022, algorithm 1)."""

    server_lr: PositiveFloat = 1.0

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """The model."""
        return {"w": w}

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """A device's last move, y_i = 0."""
        return {"y": 0 * w}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + server_lr v, v = mean of y_i over all + mean of delta_i - y_i over participants; then y_i = delta_i."""
        delta, y = updates.vectors["delta"], server["y"].clone()
        v = y.mean(dim=0)
        if len(delta):  # nobody is new in a coalition of stored updates alone
            v = v + (delta - y[updates.ids]).mean(dim=0)
        y[updates.ids] = delta
        return {**server, "w": server["w"] + self.server_lr * v, "y": y}
