"""Stochastic quantisation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from edgefl.learning.codecs.base import BITS_PER_FLOAT, Codec

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Qsgd(Codec):
    """QSGD: unbiased random rounding to levels of the norm (Alistarh et al., NeurIPS 2017, section 3.1)."""

    # Levels above 0, s; with 255, 0 and the sign a value has 9 bits.
    levels: Annotated[int, Field(ge=1, le=2**15)] = 255

    def bits(self, d: int) -> float:
        """Return the bits of each value's sign and level, in words of one length (no Elias code), and of the norm."""
        word = 1 + math.ceil(math.log2(self.levels + 1))
        return word * d + BITS_PER_FLOAT

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return `|x| sign(x_i) l / s`; `l` is `s |x_i| / |x|`, rounded up with the probability of its fraction."""
        norm = float(x.norm())
        if norm == 0:  # nothing to divide by
            return x.clone()
        # floor(level + uniform) rounds up with the probability of the fraction: the mean is the value itself
        uniforms = x.new_tensor(rng.random(x.numel()))
        level = (x.abs() / norm * self.levels + uniforms).floor()
        return x.sign() * level * (norm / self.levels)
