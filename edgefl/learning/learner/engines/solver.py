"""One step of the local solver on flat vectors, for one client [d] or a batch of clients [C, d]."""

from collections.abc import Mapping, Sequence
from math import sqrt

import torch
from torch import Tensor

from edgefl.learning.algorithms import Algorithm, LocalContext
from edgefl.learning.learner.engines.phases import Phase
from edgefl.learning.learner.networks.flat_vectors import Layout, unchanged
from edgefl.learning.parameter_groups import values_of
from edgefl.learning.training_section import Training

CLIP_EPS = 1e-6  # of torch.nn.utils.clip_grad_norm_

Own = Mapping[str, Tensor]
"""What differs between parameters [d]: `lr`, a factor of the learning rate, and `weight_decay`."""
ALIKE: Own = {}


class Solver:
    """Takes steps of an optimiser: correction, clipping, all decay, moments, in this order.

    The order matters: the correction is clipped with the gradient, and weight decay is not, as in PyTorch programs that
    clip before the optimiser's step. The parameters before and after a `cut` are clipped by separate norms.
    Parameters may have their `own` rates and decay, see `own_values`.
    """

    def __init__(self, algorithm: Algorithm, training: Training, cut: int | None = None, own: Own = ALIKE) -> None:
        self.algorithm = algorithm
        self.training = training
        self.own = own
        self._clipped_together = [slice(None)]
        if cut is not None:  # split learning: no machine knows the norm of the whole gradient
            self._clipped_together = [slice(cut), slice(cut, None)]

    @property
    def counts_steps(self) -> bool:
        """True if a step depends on its number in the round."""
        parts = self.training.parts
        has_phases = parts is not None and parts.first is not None
        rate_changes = self.training.epoch_lr_decay != 1.0 or self.training.warmup_steps is not None
        return self.training.has_adams_moments or rate_changes or has_phases

    def moments(self, w: Tensor) -> list[Tensor]:
        """Return as many zero vectors as the optimiser has moments of the gradients: a round begins with these."""
        return [w.new_zeros(w.shape) for _ in range(self.training.moments)]

    def step(
        self,
        w: Tensor,
        gradient: Tensor,
        moments: Sequence[Tensor],
        local: LocalContext,
        number: int,
        phase: Phase,
    ) -> None:
        """Advance w in place, for the `number`th time in the round, from 1; `gradient` may be overwritten.

        The algorithm corrects the gradients of the parameters that travel; those that devices keep come behind them.
        What is frozen in the `phase` keeps its values and moments, and does not count in the norm of a gradient.
        """
        training = self.training
        with unchanged(phase.frozen, (w, *moments)):
            gradient = self._corrected(gradient, w, local, phase)
            if training.clip_norm is not None:
                self._clip(gradient, training.clip_norm)
            # after clipping, so that neither the scenario's decay nor the algorithm's is clipped
            decay = self.algorithm.decay(local)
            lr = self._rate(local, number)
            if "lr" in self.own:
                lr = lr * self.own["lr"]
            weight_decay = self.own.get("weight_decay", training.weight_decay)
            if training.optimizer == "adamw":
                w.mul_(1 - lr * weight_decay)
            else:
                decay = weight_decay + decay
            if isinstance(decay, float) and isinstance(lr, float) and not moments and _fits_one_pass(w, gradient):
                _descend(w, gradient, lr, decay)
                return
            if not isinstance(decay, float):  # one number for each client
                gradient = gradient.addcmul_(w, decay)
            elif decay:
                gradient = gradient.add_(w, alpha=decay)
            gradient = self._direction(gradient, moments, number - phase.before)
            # a plain number when all clients have the same rate: one operation without a broadcast
            if isinstance(lr, float):
                w.add_(gradient, alpha=-lr)
            else:
                w.addcmul_(gradient, lr, value=-1.0)

    def _corrected(self, gradient: Tensor, w: Tensor, local: LocalContext, phase: Phase) -> Tensor:
        travelling = local.start.shape[-1]
        if w.shape[-1] == travelling:
            gradient = self.algorithm.correct(gradient, w, local)
        else:
            corrected = self.algorithm.correct(gradient[..., :travelling], w[..., :travelling], local)
            gradient[..., :travelling] = corrected
        for place in phase.frozen:
            gradient[..., place] = 0.0
        return gradient

    def _rate(self, local: LocalContext, number: int) -> Tensor | float:
        """Return the learning rate of a round's `number`th step, from 1: it may rise at first, and fall by epochs."""
        lr = local.lr
        if self.training.warmup_steps is not None:
            lr = lr * min(1.0, number / self.training.warmup_steps)
        decay = self.training.epoch_lr_decay
        if decay == 1.0:
            return lr
        ended_epochs = (number - 1) // local.epoch_steps
        return lr * decay**ended_epochs

    def _clip(self, gradient: Tensor, limit: float) -> None:
        """Shorten gradients in place, as PyTorch does: by min(1, limit / (norm + 1e-6))."""
        for part in self._clipped_together:
            view = gradient[..., part]
            norm = view.norm(dim=-1, keepdim=True)
            view.mul_((limit / (norm + CLIP_EPS)).clamp(max=1.0))

    def _direction(self, gradient: Tensor, moments: Sequence[Tensor], number: int) -> Tensor:
        """Return the direction of an optimiser's `number`th step, from 1, which may take the gradient's memory."""
        training = self.training
        match training.optimizer:
            case "adam" | "adamw":
                return self._adam(gradient, moments, number)
            case "adagrad":
                squares = moments[0].addcmul_(gradient, gradient)
                return gradient.div_(squares.sqrt().add_(training.adagrad_eps))
            case "rmsprop":
                alpha = training.rmsprop_alpha
                squares = moments[0].mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
                return gradient.div_(squares.sqrt().add_(training.rmsprop_eps))
        if not moments:
            return gradient
        velocity = moments[0].mul_(training.momentum).add_(gradient)
        if training.nesterov:
            return gradient.add_(velocity, alpha=training.momentum)
        return velocity

    def _adam(self, gradient: Tensor, moments: Sequence[Tensor], number: int) -> Tensor:
        """Return m' / (sqrt(v') + eps) with m' = m / (1 - beta1^t) and v' alike (Kingma and Ba, ICLR 2015)."""
        m, v = moments
        beta1, beta2 = self.training.adam_betas
        m.mul_(beta1).add_(gradient, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        # the gradient is of no more use: its memory takes the denominator, and then the direction
        denominator = torch.sqrt(v, out=gradient).div_(sqrt(1 - beta2**number)).add_(self.training.adam_eps)
        return torch.div(m, denominator, out=denominator).div_(1 - beta1**number)


def own_values(training: Training, layout: Layout, like: Tensor) -> Own:
    """Return what differs between parameters that lie in a vector by a layout, of the type and device of `like`."""
    own = {}
    for key, usual, unit in (("lr", training.lr, training.lr), ("weight_decay", training.weight_decay, 1.0)):
        values = values_of(training.parameter_groups, layout.names, key, usual).values()
        if set(values) != {usual}:
            of_tensors = like.new_tensor(list(values)) / unit
            own[key] = of_tensors.repeat_interleave(torch.tensor(layout.sizes, device=like.device))
    return own


def _fits_one_pass(w: Tensor, gradient: Tensor) -> bool:
    """Return whether `_descend` takes these vectors: plain ones in the CPU's memory."""
    plain = type(w) is Tensor and w.device.type == "cpu" and w.dtype == gradient.dtype
    return plain and w.shape == gradient.shape and w.is_contiguous() and gradient.is_contiguous()


def _descend(w: Tensor, gradient: Tensor, lr: float, decay: float) -> None:
    """Subtract lr (gradient + decay w) from w in one pass over the memory instead of two; the bits are the same."""
    torch._fused_sgd_(  # the program behind torch.optim.SGD(fused=True)
        [w],
        [gradient],
        [],
        weight_decay=decay,
        momentum=0.0,
        lr=lr,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,
    )
