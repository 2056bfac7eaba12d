"""Images that turn."""

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.learning.datasets.base import Array, Data
from edgefl.learning.drifts.base import Drift


class Rotation(Drift):
    """Images turn by quarters (rotated MNIST: Lopez-Paz & Ranzato, NeurIPS 2017, there by any angle)."""

    quarter_turns: Annotated[int, Field(ge=1, le=3)] = 1  # Number of quarter turns, counter-clockwise.

    def refusal(self, data: Data) -> str | None:
        """Return that samples are not images, or could not turn; None if neither is so."""
        if len(data.shape) not in {2, 3} or data.tokens:
            return f"needs images, got samples of shape {list(data.shape)}: set it to labels, or leave it out"
        if data.several_labels:
            return "would turn images, but not the labels of their pixels: leave it out"
        if self.quarter_turns != 2 and data.shape[-1] != data.shape[-2]:
            return f"would change the shape of samples, {list(data.shape)}: set data.drift.quarter_turns to 2"
        return None

    def inputs(self, x: Array, rng: np.random.Generator) -> Array:
        """Return the turned images."""
        return np.rot90(x, self.quarter_turns, axes=(-2, -1))
