"""The training plan by rule: a function of the model, the kind of processor and the number of participants.

Plans differ from each other by rounding, so a choice by measured times would give other results on another day. The
rule knows no clock, no cache and no free memory; docs/benchmarks.md has the times that it was made from.
"""

import math
from dataclasses import dataclass

from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.training_engines import AUTO, ENGINES, without_auto

CACHED_PARAMETERS = 2**20  # of a cohort's models, 8 MB with their gradients: more clients at once no longer pay
WIDEST_ON_CPU = 32
COHORTS = 2  # of a round at least, so that a second core has work, too
WIDEST_ON_GPU = 64
GPU_SHARE = 1 / 2  # of a GPU's memory, for the clients that are trained together
MODEL_VECTORS = 6  # of a client in training: model, gradient, start, and what algorithm and optimizer keep
ACTIVATION_COPIES = 3  # outputs of layers, their gradients, and what is on its way between layers


@dataclass(frozen=True)
class Work:
    """The properties of the model and the round that decide the rule's answer."""

    by_hand: bool  # the model's layers have gradients by hand
    images: bool  # some of them are convolutions
    by_triton: bool  # our kernels for GPUs know them
    parameters: int  # of the model
    activations: int  # numbers that the layers put out for one sample; only asked for on GPUs
    batch_size: int
    participants: float | None  # expected in a round; None: not known


def plan_by_rule(engine: str, work: Work, gpu_bytes: int | None = None) -> Plan:
    """Return the plan for `training.engine: auto`, or for an engine that trains clients together.

    The GPU that trains has a memory of `gpu_bytes`; None: the CPU trains.
    """
    name, _, kernels = ENGINES[without_auto(engine)]
    by_hand = "layers" in kernels and work.by_hand
    if gpu_bytes is not None:
        width = _width_on_gpu(work, gpu_bytes)
        if "triton" in kernels and work.by_triton:
            return Plan(name, "triton", width)
        # Torch's grouped convolutions of several clients are slower than what vmap makes of them.
        if by_hand and not work.images:
            return Plan(name, "layers", width)
        return Plan(name, "vmap", width)
    if by_hand:
        return Plan(name, "layers", _width_on_cpu(work))
    if engine == AUTO:
        return SERIAL
    return Plan(name, "vmap", _width_on_cpu(work))


def _width_on_cpu(work: Work) -> int:
    # The convolutions of several clients together are slower than one after another.
    if work.images:
        return 1
    width = min(WIDEST_ON_CPU, _power_of_two(CACHED_PARAMETERS / work.parameters))
    if work.participants is None:
        return width
    return max(1, min(width, math.ceil(work.participants / COHORTS)))


def _width_on_gpu(work: Work, gpu_bytes: int) -> int:
    """Return how many clients are trained together on a GPU.

    Cards of one kind differ by some megabytes in what they report: the rule takes the power of two below.
    """
    numbers = MODEL_VECTORS * work.parameters + ACTIVATION_COPIES * work.batch_size * work.activations
    float_bytes = 4
    cohort_bytes = GPU_SHARE * _power_of_two(gpu_bytes)
    return min(WIDEST_ON_GPU, _power_of_two(cohort_bytes / (float_bytes * numbers)))


def _power_of_two(most: float) -> int:
    exponent: int = max(0, math.floor(math.log2(most)))
    return 1 << exponent
