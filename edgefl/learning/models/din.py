"""Deep interest network (Zhou et al., KDD 2018), with the sizes of the FedEve paper's program.

part         layers                        input
embeddings   15, 2, 3, 5, 15, 15           user, gender, age, occupation, zip code, item
attention    60, 15, 1, once an item of    target item, item of the history, their difference and product
the history
head         70, 32, 16, 1                 all embeddings of the profile and the attended history
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgefl.core.arrays import Ints
from edgefl.learning.models.base import Model, total_cost
from edgefl.learning.models.dense import dense, dense_costs

if TYPE_CHECKING:
    from torch import Tensor, nn

EMBEDDINGS = ((6041, 15), (3, 2), (8, 3), (22, 5), (3440, 15), (3953, 15))  # ids and size, in the order of a row
ITEM_SIZE = EMBEDDINGS[-1][1]
PROFILE_IDS = len(EMBEDDINGS)  # of a row; the history follows
ATTENTION = (4 * ITEM_SIZE, 15, 1)  # target, history item, their difference and product -> score
HEAD = (sum(size for _, size in EMBEDDINGS) + ITEM_SIZE, 32, 16, 1)  # profile and attended history -> logit


class Din(Model):
    """Deep interest network for clicks: 205,398 parameters on MovieLens-1M (FedEve paper, authors' sizes).

    A sample is a row of ids: user, gender, age, occupation, zip code, target item, and the items of the user's history;
    0 fills the history up and counts for nothing.
    """

    tokens: ClassVar[bool] = True

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the data are not rows of users and films; None if they are."""
        if len(shape) != 1 or shape[0] <= PROFILE_IDS:
            return f"needs rows of {PROFILE_IDS} ids and a history, got samples of shape {list(shape)}"
        if classes != 2:
            return f"needs data with 2 classes, got {classes}"
        return None

    def token_limits(self, length: int) -> Ints:
        """Return the number of ids for each place of a row [length]; a history is one of items."""
        limits = [ids for ids, _ in EMBEDDINGS]
        items = limits[-1]
        return np.array(limits + [items] * (length - PROFILE_IDS))

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, L] ids, output [B] logits of label 1; an empty history has the embedding 0."""
        import torch
        from torch import nn

        class Network(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.tables = nn.ModuleList(nn.Embedding(ids, size) for ids, size in EMBEDDINGS)
                self.attention = nn.Sequential(*dense(ATTENTION))
                self.head = nn.Sequential(*dense(HEAD))

            def forward(self, rows: Tensor) -> Tensor:
                profile = [table(rows[..., place]) for place, table in enumerate(self.tables)]
                history_ids = rows[..., PROFILE_IDS:]
                history = self.tables[-1](history_ids)
                is_item = history_ids != 0
                target = profile[-1].unsqueeze(-2).expand_as(history)
                pairs = torch.cat([target, history, target - history, target * history], -1)
                scores = self.attention(pairs).squeeze(-1)
                # the least finite number, not minus infinity: an empty history would be NaN after the softmax
                scores = scores.masked_fill(~is_item, torch.finfo(scores.dtype).min)
                # the softmax of an empty history would give each filling place the same weight
                weights = (scores.softmax(-1) * is_item).unsqueeze(-1)
                attended = (weights * history).sum(-2)
                logits: Tensor = self.head(torch.cat([*profile, attended], -1))
                return logits.squeeze(-1)

        return Network()

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of embeddings' components, weights and biases."""
        embeddings = sum(ids * size for ids, size in EMBEDDINGS)
        attention = total_cost(dense_costs(ATTENTION)).parameters
        head = total_cost(dense_costs(HEAD)).parameters
        return embeddings + attention + head

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """Return one for each weight, for each history item in the attention; the weighted mean is not counted."""
        items = shape[0] - PROFILE_IDS
        attention = total_cost(dense_costs(ATTENTION)).multiplications
        head = total_cost(dense_costs(HEAD)).multiplications
        return items * attention + head

    def sample_losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the binary cross-entropy of each sample [...] from logits [...] and labels [...] 0 or 1."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        return binary_cross_entropy_with_logits(outputs, targets.to(outputs.dtype), reduction="none")

    def predicted(self, outputs: Tensor) -> Tensor:
        """Return the label [...] from logits [...]."""
        return (outputs > 0).long()

    def scores(self, outputs: Tensor) -> Tensor:
        """Return the logits [...] themselves."""
        return outputs
