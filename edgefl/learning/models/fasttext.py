"""Bags of word embeddings (dynamic-devices paper, Table I).

layer         size             parameters on AG News
embedding     30,522 x 300     9,156,600
linear        300 -> 4         1,204
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgefl.core.arrays import Ints
from edgefl.core.section import Count
from edgefl.learning.models.base import Model

if TYPE_CHECKING:
    from torch import Tensor, nn


class FastText(Model):
    """Mean of word embeddings, one linear layer: 9,157,804 parameters on AG News (dynamic-devices paper, Table I).

    A sample is a row of token ids of fixed length; 0 fills it up and counts for nothing.
    """

    vocabulary: Count = 30_522  # Number of token ids, 0 included.
    dimension: Count = 300  # Dimension of a word's embedding.

    tokens: ClassVar[bool] = True

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the data are not rows with classes; None if they are."""
        if len(shape) != 1:
            return f"needs rows of token ids, got samples of shape {list(shape)}"
        return super().check(shape, classes)

    def token_limits(self, length: int) -> Ints:
        """Return the size of the vocabulary for each place of a row [length]."""
        return np.full(length, self.vocabulary)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, L] token ids, output [B, classes]; an empty row has the embedding 0."""
        from torch import nn

        class Bag(nn.Module):
            def __init__(self, vocabulary: int, dimension: int) -> None:
                super().__init__()
                self.embedding = nn.Embedding(vocabulary, dimension)
                self.linear = nn.Linear(dimension, classes)

            def forward(self, ids: Tensor) -> Tensor:
                words = (ids != 0).unsqueeze(-1)
                total = (self.embedding(ids) * words).sum(-2)
                count = words.sum(-2).clamp(min=1)  # an empty row has the sum 0, which any divisor leaves
                logits: Tensor = self.linear(total / count)
                return logits

        return Bag(self.vocabulary, self.dimension)

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of embeddings' components, weights and biases."""
        return self.vocabulary * self.dimension + (self.dimension + 1) * classes

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """Return one for each weight of the linear layer; looking up and adding multiply nothing."""
        return self.dimension * classes
