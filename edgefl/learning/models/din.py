"""Deep interest network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from edgefl.learning.models.base import Model, total
from edgefl.learning.models.dense import dense, dense_layers

if TYPE_CHECKING:
    from torch import Tensor, nn

TABLES = ((6041, 15), (3, 2), (8, 3), (22, 5), (3440, 15), (3953, 15))  # embeddings, in the order of a row's ids
ATTENTION = (4 * 15, 15, 1)  # target, history item, their difference and product -> score
HEAD = (sum(size for _, size in TABLES) + 15, 32, 16, 1)  # all embeddings and the attended history -> logit
PROFILE = len(TABLES)  # where the history begins


class Din(Model):
    """Deep interest network for clicks: 205,398 parameters on MovieLens-1M (FedEve paper, authors' sizes).

    A sample is a row of ids: user, gender, age, occupation, zip code, target item, and the items of the user's history;
    0 fills the history up and counts for nothing.
    """

    tokens: ClassVar[bool] = True

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Rows with a history, labelled 0 or 1."""
        if len(shape) != 1 or shape[0] <= PROFILE:
            return f"needs rows of {PROFILE} ids and a history, got samples of shape {list(shape)}"
        return None if classes == 2 else f"needs data with 2 classes, got {classes}"

    def token_limits(self, length: int) -> npt.NDArray[np.int64]:
        """The tables' rows; a history is one of items."""
        rows = [rows for rows, _ in TABLES]
        return np.array(rows + rows[-1:] * (length - PROFILE))

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Input [B, L] ids, output [B] logits of label 1; an empty history has the embedding 0."""
        import torch
        from torch import nn

        class Network(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.tables = nn.ModuleList(nn.Embedding(*table) for table in TABLES)
                self.attention = nn.Sequential(*dense(ATTENTION))
                self.head = nn.Sequential(*dense(HEAD))

            def forward(self, rows: Tensor) -> Tensor:
                profile = [table(rows[..., i]) for i, table in enumerate(self.tables)]
                seen = rows[..., PROFILE:]
                history, real = self.tables[-1](seen), seen != 0
                target = profile[-1].unsqueeze(-2).expand_as(history)
                pairs = torch.cat([target, history, target - history, target * history], -1)
                scores = self.attention(pairs).squeeze(-1)
                scores = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
                weights = (scores.softmax(-1) * real).unsqueeze(-1)  # an empty history would get equal ones
                logits: Tensor = self.head(torch.cat([*profile, (weights * history).sum(-2)], -1))
                return logits.squeeze(-1)

        return Network()

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Embeddings, weights and biases."""
        embeddings = sum(rows * size for rows, size in TABLES)
        return embeddings + sum(total(dense_layers(widths)).parameters for widths in (ATTENTION, HEAD))

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """One a weight, those of the attention once a history item; the weighted mean is not counted."""
        attention, head = (total(dense_layers(widths)).multiplications for widths in (ATTENTION, HEAD))
        return (shape[0] - PROFILE) * attention + head

    def sample_losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Binary cross-entropy of each sample [...] from logits [...] and labels [...] 0 or 1."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        return binary_cross_entropy_with_logits(outputs, targets.to(outputs.dtype), reduction="none")

    def predicted(self, outputs: Tensor) -> Tensor:
        """Label [...] from logits [...]."""
        return (outputs > 0).long()

    def scores(self, outputs: Tensor) -> Tensor:
        """The logits [...] themselves."""
        return outputs
