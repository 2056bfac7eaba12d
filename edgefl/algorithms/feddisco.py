"""FedDisco."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeFloat

from edgefl.algorithms.base import Algorithm, Updates
from edgefl.errors import RunError

if TYPE_CHECKING:
    from torch import Tensor

Floats = npt.NDArray[np.float64]


class FedDisco(Algorithm):
    """FedDisco: less weight for devices whose labels are far from uniform (Ye et al., ICML 2023, eq. 6); KL."""

    a: NonNegativeFloat = 0.5  # how much the distance counts
    b: NonNegativeFloat = 0.1  # what everybody gets besides

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + sum_k a_k delta_k with a_k as `disco_weights` has them."""
        if updates.labels is None:
            raise RunError("FedDisco needs to know how many samples of each class devices have")
        delta = updates.vectors["delta"]
        weights = disco_weights(updates.samples, divergence(updates.labels), self.a, self.b)
        return {**server, "w": server["w"] + delta.new_tensor(weights) @ delta}


def disco_weights(samples: npt.ArrayLike, distance: Floats, a: float, b: float) -> Floats:
    """Proportional to max(0, n_k / sum n - a d_k / sum d + b) [C], with a sum of 1; n_k / sum n where all are 0."""
    shares = np.asarray(samples) / np.sum(samples)
    raw = np.maximum(shares - a * distance / (distance.sum() or 1.0) + b, 0)
    return np.asarray(raw / raw.sum() if raw.any() else shares)


def divergence(labels: npt.NDArray[np.int64]) -> Floats:
    """Kullback-Leibler divergence [C] of label distributions from the uniform one; labels [C, classes] are counts."""
    p = labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    return np.asarray((p * np.log(np.where(p > 0, p * labels.shape[1], 1))).sum(axis=1))
