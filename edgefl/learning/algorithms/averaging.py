"""What algorithms share that average the moves of participants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgefl.learning.algorithms.base import Algorithm, Updates

if TYPE_CHECKING:
    from torch import Tensor


class Averaging(Algorithm):
    """Base of algorithms whose server sees a mean over participants (McMahan et al., AISTATS 2017, algorithm 1)."""

    weighting: Literal["samples", "uniform"] = "samples"

    def weights(self, updates: Updates) -> Tensor:
        """What each participant counts [C]: n_i / sum n (samples) or 1 / m (uniform), or what `updates` say."""
        n = updates.samples if self.weighting == "samples" else np.ones(len(updates.ids))
        return updates.vectors["delta"].new_tensor(n / n.sum() if updates.weights is None else updates.weights)

    def mean_delta(self, updates: Updates) -> Tensor:
        """The mean move of the participants [d]."""
        return self.weights(updates) @ updates.vectors["delta"]
