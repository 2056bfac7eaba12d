"""One step of the local solver on flat vectors, for one client [d] or a batch of clients [C, d]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefl.algorithms import Algorithm, Local
from edgefl.scenario import Training

if TYPE_CHECKING:
    from torch import Tensor


class Solver:
    """SGD in the order that matters: correction, clipping, all weight decay, momentum (algorithm cards, section 0.2).

    Args:
        algorithm: corrects gradients.
        training: the scenario's section.
        cut: parameters before the cut of a model whose two parts are clipped by their own norms; None: by that of all.
    """

    def __init__(self, algorithm: Algorithm, training: Training, cut: int | None = None) -> None:
        self.algorithm, self.training = algorithm, training
        self._clipped = [slice(None)] if cut is None else [slice(cut), slice(cut, None)]

    def velocity(self, w: Tensor) -> Tensor | None:
        """A fresh momentum buffer, as every round begins with one."""
        return w.new_zeros(w.shape) if self.training.momentum else None

    def step(self, w: Tensor, gradient: Tensor, velocity: Tensor | None, local: Local) -> None:
        """Advance w in place; `gradient` may be overwritten."""
        training = self.training
        gradient = self.algorithm.correct(gradient, w, local)
        if training.clip_norm is not None:
            for part in (gradient[..., each] for each in self._clipped):
                norm = part.norm(dim=-1, keepdim=True)
                part.mul_((training.clip_norm / (norm + 1e-6)).clamp(max=1.0))  # PyTorch's factor
        decay = training.weight_decay + self.algorithm.decay(local)
        if not isinstance(decay, float):
            gradient = gradient.addcmul_(w, decay)
        elif decay:
            gradient = gradient.add_(w, alpha=decay)
        if velocity is not None:
            gradient = velocity.mul_(training.momentum).add_(gradient)
        if isinstance(local.lr, float):
            w.add_(gradient, alpha=-local.lr)
        else:
            w.addcmul_(gradient, local.lr, value=-1.0)
