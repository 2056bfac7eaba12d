"""FedAvg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgefl.algorithms.base import Algorithm, Updates

if TYPE_CHECKING:
    from torch import Tensor


class FedAvg(Algorithm):
    """FedAvg: the mean of the local models, by samples or uniform (McMahan et al., AISTATS 2017, algorithm 1)."""

    weighting: Literal["samples", "uniform"] = "samples"

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """W + sum_i a_i delta_i with a_i = n_i / sum n (samples) or 1 / m (uniform)."""
        delta = updates.vectors["delta"]
        n = updates.samples if self.weighting == "samples" else np.ones(len(updates.ids))
        a = delta.new_tensor(n / n.sum())
        return {**server, "w": server["w"] + a @ delta}
