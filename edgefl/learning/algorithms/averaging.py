"""The mean of the participants' moves, which several algorithms share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgefl.learning.algorithms.base import Algorithm, Updates

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.core.arrays import Floats, Ints


class Averaging(Algorithm):
    """Base of algorithms whose server sees a mean over participants (McMahan et al., AISTATS 2017, algorithm 1)."""

    # Weights of updates, in proportion to samples, or equal (uniform).
    weighting: Literal["samples", "uniform"] = "samples"

    def weights(self, updates: Updates) -> Tensor:
        """Return each participant's weight [C]: `updates.weights` if given, else n_i / sum n (samples) or 1 / m."""
        if updates.weights is not None:
            return updates.vectors["delta"].new_tensor(updates.weights)
        n = self.counts(updates)
        return updates.vectors["delta"].new_tensor(n / n.sum())

    def counts(self, updates: Updates) -> Floats | Ints:
        """Return the weight of each participant [C]: its number of samples, or 1."""
        return updates.samples if self.weighting == "samples" else np.ones(len(updates.ids))

    def mean_delta(self, updates: Updates) -> Tensor:
        """Return the mean move of the participants [d]."""
        return self.weights(updates) @ updates.vectors["delta"]
