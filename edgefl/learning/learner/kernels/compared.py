"""Outputs of a network compared with labels: one label of each sample, or one for each of its tokens or pixels."""

from typing import NamedTuple

import torch
from torch import Tensor

from edgefl.learning.datasets.base import IGNORED
from edgefl.learning.models import Model


def sample_losses(model: Model, outputs: Tensor, y: Tensor, leading: int = 1) -> Tensor:
    """Return the loss of each sample [...] from outputs [..., n] and labels [...] or numbers [..., k].

    Of several labels it is the mean over those that count, from outputs [..., n, T] and labels [..., T], or those of
    [..., n, H, W]; 0 if none counts.
    """
    if not _has_several(y, leading):
        return model.sample_losses(outputs, y)
    if model.loss.of_all_labels:
        return _of_all_labels(model, outputs, y, leading)
    counts = y != IGNORED
    losses = _of_labels(model, outputs, y, leading)
    return losses.flatten(leading).sum(-1) / counts.flatten(leading).sum(-1).clamp(min=1)


class Compared(NamedTuple):
    """Sums over the labels of each sample that count: one, or those of its tokens or pixels."""

    losses: Tensor  # [n] in double precision
    hits: Tensor  # [n] labels that are predicted right; 0 where samples have no classes
    labels: Tensor  # [n] labels that count


def compared(model: Model, outputs: Tensor, y: Tensor, *, classes: bool) -> Compared:
    """Return outputs [n, ...] of some samples compared with their labels y [n, ...], which may be `classes`."""
    if not _has_several(y, 1):
        losses = model.sample_losses(outputs, y).double()  # their sum over a large test set needs the digits
        right = torch.zeros_like(losses, dtype=torch.bool)
        if classes:
            right = model.predicted(outputs) == y
        return Compared(losses, right, torch.ones_like(right, dtype=torch.int64))
    right = model.predicted(classes_last(outputs, 1)) == y
    hits, labels = ((values.flatten(1)).sum(1) for values in (right, y != IGNORED))
    if model.loss.of_all_labels:
        return Compared(_of_all_labels(model, outputs, y, 1).double() * labels, hits, labels)
    return Compared(_of_labels(model, outputs, y, 1).double().flatten(1).sum(1), hits, labels)


def classes_last(outputs: Tensor, leading: int) -> Tensor:
    """Return outputs [..., n, T] or [..., n, H, W] with the classes as the last axis."""
    return outputs.movedim(leading, -1)


def _of_labels(model: Model, outputs: Tensor, y: Tensor, leading: int) -> Tensor:
    # Any class stands in for labels that do not count, as a loss of the user's may not know them.
    losses = model.sample_losses(classes_last(outputs, leading), y.clamp(min=0))
    return torch.where(y != IGNORED, losses, 0.0)


def _of_all_labels(model: Model, outputs: Tensor, y: Tensor, leading: int) -> Tensor:
    return model.sample_losses(classes_last(outputs, leading).flatten(leading, -2), y.flatten(leading))


def _has_several(y: Tensor, leading: int) -> bool:
    """Return whether samples have several labels; several numbers of a regression are not labels."""
    return y.ndim > leading and not y.is_floating_point()
