"""Distillation of the relations between old and new classes, added to any algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edgefl.learning.algorithms.base import Batch, ForwardPass, Updates
from edgefl.learning.algorithms.distilled import TEACHER, Distilled

if TYPE_CHECKING:
    from torch import Tensor

LEARNED = "learned"  # [classes] 1 for classes that a participant has had so far; empty before the first update
OLD = "old"  # the same at the beginning of the session
TINY = 1e-12


class RelationDistilled(Distilled):
    """Distillation by the loss of GLFC (Dong et al., CVPR 2022), which the dynamic-devices paper cites.

    `base` gets `relation_loss` instead of the task's loss.
    """

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the base's state, the teacher and the learned classes: none."""
        return {**super().server_state(w), LEARNED: w[:0], OLD: w[:0]}

    def carried_over(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the teacher, the base's entries and the classes: learned ones are old in the next session."""
        return {**super().carried_over(server), LEARNED: server[LEARNED], OLD: server[LEARNED]}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send the old classes besides the teacher and what the base sends."""
        return {**super().downlink(server), OLD: server[OLD]}

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """Return the base's loss, with `relation_loss` as the task's."""
        losses = relation_loss(own.outputs, references[TEACHER].outputs, batch, self.weight)
        return self.base.loss(losses, own, references, batch)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Aggregate as the base does, and add the participants' classes to the learned ones."""
        after = super().aggregate(server, updates)
        if updates.labels is None:
            return after
        learned = server[TEACHER].new_tensor(updates.labels.any(axis=0))
        if len(server[LEARNED]):
            learned = learned.maximum(server[LEARNED])
        return {**after, LEARNED: learned, OLD: server[OLD]}


def relation_loss(outputs: Tensor, taught: Tensor, batch: Batch, weight: float) -> Tensor:
    """Return `(L_GC + weight L_RD) / 2` of each sample [..., B], as in GLFC's program; `L_GC` without old classes.

    Both are a binary cross entropy of sigmoids, averaged over classes, of student `outputs` and teacher outputs
    `taught` [..., B, classes]. `L_GC` (gradient compensation) compares with the label; it is multiplied by the error of
    the output for the sample's own class, over the mean of that error in the batch among classes of the same age, old
    or new. `L_RD` (relation distillation) compares with the label, its entries of old classes replaced by the
    teacher's outputs.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits as entropy
    from torch.nn.functional import one_hot

    has_old = batch.received[OLD].shape[-1] > 0
    old = outputs.new_zeros(1)
    if has_old:
        old = batch.received[OLD][..., None, :]
    label = one_hot(batch.y, outputs.shape[-1]).to(outputs)
    # L_GC: samples of old and of new classes are each scaled by the mean error of their own kind. The scale is detached
    # from the graph, as it weighs gradients and is not minimised itself.
    error = 1 - (label * outputs.detach().sigmoid()).sum(dim=-1)
    is_old = (label * old).sum(dim=-1)
    is_new = 1 - is_old
    scale = is_old * _mean(error, is_old * batch.weight) + is_new * _mean(error, is_new * batch.weight)
    compensated = error / scale.clamp(min=TINY) * entropy(outputs, label, reduction="none").mean(dim=-1)
    if not has_old:
        return compensated
    # L_RD: the teacher's outputs replace the label for the old classes.
    target = label + old * (taught.sigmoid() - label)
    relation = entropy(outputs, target, reduction="none").mean(dim=-1)
    return (compensated + weight * relation) / 2


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean over the last axis, which is kept with length 1; 0 if all weights are 0."""
    return (values * weights).sum(dim=-1, keepdim=True) / weights.sum(dim=-1, keepdim=True).clamp(min=TINY)
