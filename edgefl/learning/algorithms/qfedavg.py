"""q-FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from pydantic import NonNegativeFloat

from edgefl.core.errors import RunError
from edgefl.learning.algorithms.base import Algorithm, LocalContext, Updates

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST_LOSS = 1e-10  # instead of 0, which has no power q - 1 < 0; the authors' program adds as much to each loss


class QFedAvg(Algorithm):
    """q-FedAvg: devices with a higher loss count more, for fairness (Li et al., ICLR 2020, algorithm 2).

    F_k is the mean training loss of the round instead of the loss at the received model, which would take another
    pass over the data; with a single full batch both are the same.
    """

    q: NonNegativeFloat = 1.0  # Exponent of the loss; 0 is FedAvg, more is fairer.

    def finish(self, w: Tensor, local: LocalContext) -> dict[str, Tensor]:
        """Return the move, and the scalar `L |delta|^2` with `L = 1 / lr`, which gives the server h_k."""
        delta = w - local.start
        return {"delta": delta, "curvature": (delta * delta).sum(-1)[..., None] / local.lr}

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Return `w + sum_k F_k^q delta_k / sum_k h_k` with `h_k = F_k^q + q F_k^(q-1) L |delta_k|^2`.

        This is the paper's step with both sums divided by L.

        Raises:
            ValueError: `updates` have no losses.
            RunError: a loss is negative.
        """
        if updates.losses is None:
            raise ValueError("q-FedAvg needs the participants' losses")
        delta = updates.vectors["delta"]
        curvature = updates.vectors["curvature"][:, 0]
        if (np.asarray(updates.losses) < 0).any():
            text = "q-FedAvg takes powers of the training losses, which must not be negative here"
            raise RunError(f"{text}: take another algorithm")
        loss = delta.new_tensor(updates.losses).clamp(min=SMALLEST_LOSS)
        h = loss**self.q + self.q * loss ** (self.q - 1) * curvature
        return {**server, "w": server["w"] + loss**self.q @ delta / h.sum()}
