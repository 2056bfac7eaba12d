"""Sparsification: a few values, and where they stand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from edgefl.learning.codecs.base import BITS_PER_FLOAT, Codec

if TYPE_CHECKING:
    from torch import Tensor

KeptFraction = Annotated[float, Field(gt=0, le=1)]


class TopK(Codec):
    """The largest values and their places; with error feedback (Stich et al., NeurIPS 2018)."""

    error_feedback: bool = True

    part: KeptFraction = 0.01  # of the values

    def bits(self, d: int) -> float:
        """A float and a place each."""
        return _kept(self.part, d) * (BITS_PER_FLOAT + math.ceil(math.log2(max(d, 2))))

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """All others are 0."""
        places = x.abs().topk(_kept(self.part, x.numel())).indices
        return x.new_zeros(x.shape).index_copy_(0, places, x[places])


class RandomK(Codec):
    """Random values (Wangni et al., NeurIPS 2018), unbiased; with error feedback (Stich et al., NeurIPS 2018).

    Without error feedback they are scaled to be unbiased. The server draws the same places from a seed.
    """

    part: KeptFraction = 0.01

    def bits(self, d: int) -> float:
        """A float each, and a seed."""
        return _kept(self.part, d) * BITS_PER_FLOAT + 64

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """All others are 0."""
        import torch

        d, kept = x.numel(), _kept(self.part, x.numel())
        places = torch.from_numpy(rng.choice(d, kept, replace=False)).to(x.device)
        scale = 1.0 if self.error_feedback else d / kept
        return x.new_zeros(x.shape).index_copy_(0, places, scale * x[places])


def _kept(part: float, d: int) -> int:
    return max(1, round(part * d))
