"""Uniform quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from edgefl.learning.codecs.base import BITS_PER_FLOAT, Codec

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class UniformQuantiser(Codec):
    """Uniform quantisation between a vector's ends, to the nearest level (Konecny et al., 2016, section 4)."""

    # Whether what was lost is added to the next update, as rounding to the nearest is biased.
    error_feedback: bool = True

    bits_each: Annotated[int, Field(ge=1, le=16)] = 8  # Bits of each value, which has 2^bits_each levels.

    def bits(self, d: int) -> float:
        """Return the bits of each value's level, and of the two ends."""
        return self.bits_each * d + 2 * BITS_PER_FLOAT

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the nearest of 2^bits_each levels for each value."""
        low = x.min()
        # Both ends are levels, so 2^b levels have 2^b - 1 steps between them.
        step = (x.max() - x.min()) / (2**self.bits_each - 1)
        if step == 0:  # all values are equal
            return x.clone()
        nearest: Tensor = low + ((x - low) / step).round() * step
        return nearest
