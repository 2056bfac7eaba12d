"""Bags of word embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from edgefl.core.section import Count
from edgefl.learning.models.base import Model

if TYPE_CHECKING:
    from torch import Tensor, nn


class FastText(Model):
    """Mean of word embeddings, one linear layer: 9,157,804 parameters on AG News (dynamic-devices paper, Table I).

    A sample is a row of token ids of fixed length; 0 fills it up and counts for nothing.
    """

    vocabulary: Count = 30_522  # token ids, 0 included
    dimension: Count = 300

    tokens: ClassVar[bool] = True

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Rows, and classes."""
        if len(shape) != 1:
            return f"needs rows of token ids, got samples of shape {list(shape)}"
        return super().check(shape, classes)

    def token_limits(self, length: int) -> npt.NDArray[np.int64]:
        """The vocabulary."""
        return np.full(length, self.vocabulary)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Input [B, L] token ids, output [B, classes]; an empty row has the embedding 0."""
        from torch import nn

        class Bag(nn.Module):
            def __init__(self, vocabulary: int, dimension: int) -> None:
                super().__init__()
                self.embedding = nn.Embedding(vocabulary, dimension)
                self.linear = nn.Linear(dimension, classes)

            def forward(self, ids: Tensor) -> Tensor:
                words = (ids != 0).unsqueeze(-1)
                total = (self.embedding(ids) * words).sum(-2)
                logits: Tensor = self.linear(total / words.sum(-2).clamp(min=1))
                return logits

        return Bag(self.vocabulary, self.dimension)

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Embeddings, weights and biases."""
        return self.vocabulary * self.dimension + (self.dimension + 1) * classes

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """One a weight of the linear layer; looking up and adding multiply nothing."""
        return self.dimension * classes
