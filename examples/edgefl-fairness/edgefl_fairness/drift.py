"""Sensors that age."""

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.learning.datasets import Data
from edgefl.learning.drifts import Drift


class DeadPixels(Drift):
    """Pixels die: at each change a part of them is 0 from then on, the same ones in all sensors that change."""

    dead: Annotated[float, Field(gt=0, le=1)] = 0.1  # Part of the pixels that die at a change.

    def refusal(self, data: Data) -> str | None:
        """Return that samples are not images; None if they are."""
        if len(data.shape) in {2, 3} and not data.tokens:
            return None
        return f"needs images, got samples of shape {list(data.shape)}: set it to labels, or leave it out"

    def inputs(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return images [n, ..., height, width] with the dead pixels of all channels at 0."""
        alive = np.ones(x.shape[-2:], dtype=x.dtype)
        alive.flat[rng.permutation(alive.size)[: round(self.dead * alive.size)]] = 0
        return x * alive
