"""Half precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefl.learning.codecs.base import Codec

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Float16(Codec):
    """Half precision (IEEE 754 binary16), rounded to nearest; values beyond 65504 are cut there."""

    def bits(self, d: int) -> float:
        """Return 16 d."""
        return 16 * d

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the values, rounded."""
        # Beyond 65504 binary16 only has infinity, which would end the run.
        return x.clamp(-65504.0, 65504.0).half().to(x.dtype)
