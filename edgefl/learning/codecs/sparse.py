"""Sparsification: a few values, and their places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from edgefl.learning.codecs.base import BITS_PER_FLOAT, Codec

if TYPE_CHECKING:
    from torch import Tensor

BITS_PER_SEED = 64  # instead of the places: the server draws them, too

KeptFraction = Annotated[float, Field(gt=0, le=1)]


class TopK(Codec):
    """The largest values and their places; with error feedback (Stich et al., NeurIPS 2018)."""

    # Whether what was lost is added to the next update, as the largest values are a biased choice.
    error_feedback: bool = True

    part: KeptFraction = 0.01  # Share of the values that is sent.

    def bits(self, d: int) -> float:
        """Return the bits of a float and a place for each value that is sent."""
        bits_per_place = math.ceil(math.log2(max(d, 2)))
        return _sent(self.part, d) * (BITS_PER_FLOAT + bits_per_place)

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the vector with all other values 0."""
        places = x.abs().topk(_sent(self.part, x.numel())).indices
        return x.new_zeros(x.shape).index_copy_(0, places, x[places])


class RandomK(Codec):
    """Random values (Wangni et al., NeurIPS 2018), unbiased; with error feedback (Stich et al., NeurIPS 2018).

    Without error feedback they are scaled to be unbiased. The server draws the same places from a seed.
    """

    part: KeptFraction = 0.01  # Share of the values that is sent.

    def bits(self, d: int) -> float:
        """Return the bits of a float for each value that is sent, and of a seed."""
        return _sent(self.part, d) * BITS_PER_FLOAT + BITS_PER_SEED

    def decoded(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        """Return the vector with all other values 0."""
        import torch

        d = x.numel()
        count = _sent(self.part, d)
        places = torch.from_numpy(rng.choice(d, count, replace=False)).to(x.device)
        # error feedback sends later what is missing now: scaling it up would send it twice
        scale = 1.0 if self.error_feedback else d / count
        return x.new_zeros(x.shape).index_copy_(0, places, scale * x[places])


def _sent(part: float, d: int) -> int:
    return max(1, round(part * d))
