"""No compression."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from edgefl.learning.codecs.base import BITS_PER_FLOAT, Codec

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class NoCodec(Codec):
    """Every float in 32 bits, as it is."""

    compresses: ClassVar[bool] = False

    error_feedback: Literal[False] = False  # Always off, as nothing is lost that could be fed back.

    def bits(self, d: int) -> float:
        """Return 32 d."""
        return BITS_PER_FLOAT * d

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the vector as it is."""
        return x
