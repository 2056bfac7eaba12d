"""Base of the codecs: lossy ways to send a vector in fewer bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from edgefl.core.catalogue import Member

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

BITS_PER_FLOAT = 32  # models are sent in single precision


class Codec(Member):
    """Base of all codecs.

    With `error_feedback` a device adds to each upload what earlier ones have lost (Karimireddy et al., ICML 2019): what
    a biased codec leaves out arrives later, and the model still converges.
    """

    compresses: ClassVar[bool] = True  # False if uploads are plain 32-bit floats

    # Whether what a codec lost is added to the next update; unbiased codecs lose nothing on average.
    error_feedback: bool = False

    def bits(self, d: int) -> float:
        """Return the bits of an encoded vector of d floats."""
        raise NotImplementedError

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the vector that the server decodes from an encoded x [d]; `rng` is the device's, for this round."""
        raise NotImplementedError
