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

    server_lr: PositiveFloat = 1.0  # Factor of the server's step.

    def device_rows(self, w: Tensor) -> dict[str, Tensor]:
        """Return a device's last move, `y_i = 0`."""
        return {"y": 0 * w}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + server_lr v` with `v = mean(y_i) + mean(delta_i - y_i)`, and `y_i = delta_i`.

        The first mean is over all devices, the second one over the participants.
        """
        delta = updates.vectors["delta"]
        y = server["y"].clone()
        v = y.mean(dim=0)
        # A coalition, whose value is part of Shapley values, may consist only of stored updates; their mean is NaN.
        if len(delta):
            v = v + (delta - y[updates.ids]).mean(dim=0)
        y[updates.ids] = delta
        return {**server, "w": server["w"] + self.server_lr * v, "y": y}
