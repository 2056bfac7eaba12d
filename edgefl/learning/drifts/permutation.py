"""Numbers of a sample in another order."""

import numpy as np

from edgefl.learning.datasets.base import Array, Data
from edgefl.learning.drifts.base import Drift


class Permutation(Drift):
    """Pixels or features in another order, drawn once for all samples (permuted MNIST: Goodfellow et al., 2013)."""

    def refusal(self, data: Data) -> str | None:
        """Return that samples are token ids, or have labels by place; None if neither is so."""
        if data.tokens:
            return "needs samples of numbers, and these are token ids: set it to labels, or leave it out"
        if data.several_labels:
            return "would move numbers, but not the labels at their places: leave it out"
        return None

    def inputs(self, x: Array, rng: np.random.Generator) -> Array:
        """Return samples in the drawn order, which is the same in each channel of an image."""
        channels = x.shape[1] if x.ndim == 4 else 1
        flat = x.reshape(len(x), channels, -1)
        return flat[..., rng.permutation(flat.shape[-1])].reshape(x.shape)
