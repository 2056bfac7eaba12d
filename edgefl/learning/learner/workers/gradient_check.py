"""Whether the gradient of a kernel is that of torch's autograd, within rounding.

A compiler or a card may be newer than all on which our kernels for GPUs were tested, and a wrong gradient still trains.
"""

from dataclasses import replace

import torch
from torch import Tensor

from edgefl.learning.learner.engines.batched import BatchedEngine
from edgefl.learning.learner.engines.engine import Cohort
from edgefl.learning.learner.plans.plan import CannotBatchError

# Of the length of a whole gradient, by precision: about four times what was measured for ResNet-18.
USUAL = {"float32": 1e-3, "tf32": 0.05, "bfloat16": 0.2}
ROUNDING = {"float32": 2.0**-22, "tf32": 2.0**-10, "bfloat16": 2.0**-8}  # of one number
CHAOS = 10  # times what such rounding of the model does to the gradient, which is much in deep networks with batch norm
SMALLEST = 1e-9  # length of a gradient that is 0


def check_gradient(kernel: BatchedEngine, autograd: BatchedEngine, cohort: Cohort, precision: str) -> None:
    """Raise a `CannotBatchError` if the gradients of a cohort's first step by two engines are not the same."""
    right = autograd.gradients(cohort)
    signs = 1 - 2 * (torch.arange(cohort.start.shape[1], device=cohort.start.device) % 2)
    rounded = replace(cohort, start=cohort.start * (1 + ROUNDING[precision] * signs))
    allowed = max(USUAL[precision], CHAOS * _distance(autograd.gradients(rounded), right))
    found = _distance(kernel.gradients(cohort), right)
    if not found <= allowed:  # NaN fails this, too
        raise CannotBatchError(f"their gradient differs from torch's by {found:.2g} of its length")


def _distance(gradient: Tensor, right: Tensor) -> float:
    return float((gradient - right).double().norm()) / max(SMALLEST, float(right.double().norm()))
