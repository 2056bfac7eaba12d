"""Losses of the overlap between a mask and what a network predicts for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import PositiveFloat

from edgefl.learning.losses.base import Loss

if TYPE_CHECKING:
    from torch import Tensor


class Overlap(Loss):
    """Base: 1 less a score of the overlap, for each sample's mask; the mean over classes.

    Masks are classes of pixels, whose probabilities are the softmax of the outputs, or numbers from 0 to 1, whose
    probabilities are their sigmoid. Pixels that do not count are left out.
    """

    of_all_labels: ClassVar[bool] = True

    smooth: PositiveFloat = 1e-5  # Added above and below the fraction, so that an empty mask has a score.

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each sample [...]; outputs [..., L, n] and classes [..., L], or both numbers [..., k]."""
        import torch

        if labels.is_floating_point():
            chances = outputs.sigmoid().unsqueeze(-1)
            mask = labels.unsqueeze(-1)
        else:
            counts = (labels >= 0).unsqueeze(-1)
            chances = outputs.softmax(-1) * counts
            mask = torch.nn.functional.one_hot(labels.clamp(min=0), outputs.shape[-1]) * counts
        scores = self.score((chances * mask).sum(-2), chances.sum(-2), mask.sum(-2))
        return 1 - scores.mean(-1)

    def score(self, both: Tensor, chances: Tensor, mask: Tensor) -> Tensor:
        """Return the score, up to 1, from the sums over pixels of the products, the probabilities and the mask."""
        raise NotImplementedError


class Dice(Overlap):
    """Dice loss of each sample's mask (Milletari et al., 3DV 2016), with the softmax or sigmoid of the outputs."""

    def score(self, both: Tensor, chances: Tensor, mask: Tensor) -> Tensor:
        """Return `(2 sum(p g) + s) / (sum(p) + sum(g) + s)`."""
        return (2 * both + self.smooth) / (chances + mask + self.smooth)


class SoftIou(Overlap):
    """Soft intersection over union, the Jaccard loss of each sample's mask (Rahman and Wang, ISVC 2016)."""

    def score(self, both: Tensor, chances: Tensor, mask: Tensor) -> Tensor:
        """Return `(sum(p g) + s) / (sum(p) + sum(g) - sum(p g) + s)`."""
        return (both + self.smooth) / (chances + mask - both + self.smooth)
