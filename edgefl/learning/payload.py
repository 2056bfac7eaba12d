"""The price of a device's round: the floats that the algorithm really sends, and the operations that training takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.steps import upload
from edgefl.learning.algorithms.trial import first_round, zeros
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.datasets import Data
from edgefl.learning.models import Model
from edgefl.learning.models.base import LayerCost
from edgefl.learning.operations import correction_operations
from edgefl.learning.training_section import LocalWork, Training
from edgefl.learning.workload import Workload, batch_sizes, local_samples, local_steps

BITS_PER_LABEL = 8  # algorithm cards, section 8.4


@dataclass(frozen=True)
class Payload:
    """Bits down and up for each participant, each device's operations in a round, and bits of the model alone."""

    down_bits: float
    up_bits: float
    flops: Floats  # [devices]
    model_bits: float
    samples: Ints  # [devices] that each holds
    loss_flops: float  # operations of a sample's forward pass
    once_bits: float = 0.0  # down, beside the others, for each device that has not received them in the session
    sample_flops: float = 0.0  # operations of a sample in a step, of which `flops` consist
    step_flops: float = 0.0  # operations of a step that do not depend on the number of samples

    def flops_in(self, ids: Ids, index: int, workload: Workload) -> Floats:
        """Return the operations [n] of devices [n] in the round `index`: less than `flops` for stragglers."""
        if workload.training.stragglers is None:
            return self.flops[ids]
        full = local_steps(self.samples[ids], *workload.training.work)
        done = workload.steps(ids, index)
        left_out = workload.samples(ids, full) - workload.samples(ids, done)
        return np.asarray(self.flops[ids] - left_out * self.sample_flops - (full - done) * self.step_flops)


def measure(
    model: Model,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    sizes: Ints,
    cost: Literal["full", "paper"] = "full",
) -> Payload:
    """Return what one round of an algorithm costs.

    The hooks of the way down and up are run on vectors of one and of two zeros, and what they return is counted: an
    algorithm that sends two vectors pays for two without having to say so. Likewise `references`: a model that the
    loss compares with costs a forward pass, a third of training, on every sample. The hook `correct` is run, too, and
    its operations are counted. A shipped algorithm's hooks get NumPy arrays, so that torch stays out of worlds without
    learning; any other algorithm's get torch tensors and may call all that torch has. As they run on zeros, an `if` in
    a hook is priced the way that zeros take.

    Args:
        model: its size and its operations a sample.
        algorithm: the hooks.
        training: how much a device trains.
        data: the shape of a sample.
        sizes: [devices] samples that each holds.
        cost: full, or as the dynamic-devices paper prices every algorithm: a model each way and one pass forward and
            backward, whatever else is sent and computed.

    Raises:
        InputError: the algorithm cannot work with so many devices.
    """
    if reason := algorithm.check(len(sizes)):
        raise InputError(f"algorithm: {reason}")
    d = model.payload_parameters(data.shape, data.classes)
    sample_flops = model.flops_per_sample(data.shape, data.classes)
    samples = local_samples(sizes, *training.work)
    model_bits = float(BITS_PER_FLOAT * d)
    if cost == "paper":
        return Payload(
            down_bits=model_bits,
            up_bits=float(training.codec.bits(d)),
            flops=samples * sample_flops,
            model_bits=model_bits,
            samples=sizes,
            loss_flops=sample_flops / 3,
            sample_flops=sample_flops,
        )
    down, once, up = _traffic(algorithm, minimal=training.minimal_uploads)
    references = len(algorithm.references(first_round(algorithm, zeros(algorithm, 1))))
    # Training takes three times a forward pass; so does the pass over all samples that some algorithms need.
    more_passes = sizes if algorithm.needs_gradient else 0
    passes = samples * (1 + references / 3) + more_passes
    step_flops = 0.0 if model.cost else _step_flops(algorithm, training) * d
    return Payload(
        down_bits=float(BITS_PER_FLOAT * (down.vectors * d + down.scalars)),
        up_bits=float(up.vectors * training.codec.bits(d) + BITS_PER_FLOAT * up.scalars),
        flops=passes * sample_flops + local_steps(sizes, *training.work) * step_flops,
        model_bits=model_bits,
        samples=sizes,
        loss_flops=sample_flops / 3,
        once_bits=float(BITS_PER_FLOAT * (once.vectors * d + once.scalars)),
        sample_flops=(1 + references / 3) * sample_flops,
        step_flops=step_flops,
    )


@dataclass(frozen=True)
class HalfCost:
    """Operations of one of the two parts of a model."""

    forward: float  # of a sample; backward takes twice as many
    step: float  # of the solver, whatever the number of samples


@dataclass(frozen=True)
class SplitPayload:
    """The price of local training where a device computes a model's front and the server its back."""

    front_bits: float  # parameters, each way
    up_bits: float  # of a sample in a step: activations at the cut, and the label
    down_bits: float  # their gradients
    front: HalfCost
    back: HalfCost
    sizes: Ints  # [devices] samples that each holds
    work: LocalWork

    def batches(self, device: int, steps: int | None = None) -> Ints:
        """Return the samples [K] of each of a device's local steps, or of its first `steps`."""
        return batch_sizes(int(self.sizes[device]), *self.work)[:steps]


def measure_split(
    model: Model,
    front: LayerCost,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    sizes: Ints,
    cost: Literal["full", "paper"] = "full",
) -> SplitPayload:
    """Return what one round of split learning costs (algorithm cards, 1.19 and 8.4).

    Args:
        model: cut in two.
        front: the part that devices compute.
        algorithm: for its correction.
        training: how much a device trains.
        data: the shape of a sample.
        sizes: [devices] samples that each holds.
        cost: full, or no operations of the solver.
    """
    step = _step_flops(algorithm, training) if cost == "full" else 0.0
    d = model.parameters(data.shape, data.classes)
    products = model.multiplications(data.shape, data.classes)
    return SplitPayload(
        front_bits=float(BITS_PER_FLOAT * front.parameters),
        up_bits=float(BITS_PER_FLOAT * front.outputs + BITS_PER_LABEL),
        down_bits=float(BITS_PER_FLOAT * front.outputs),
        front=HalfCost(2.0 * front.multiplications, step * front.parameters),
        back=HalfCost(2.0 * (products - front.multiplications), step * (d - front.parameters)),
        sizes=sizes,
        work=training.work,
    )


class Traffic(NamedTuple):
    """Floats sent in one direction, for a model of any size."""

    vectors: int  # of the model's size
    scalars: int


def _traffic(algorithm: Algorithm, *, minimal: bool) -> tuple[Traffic, Traffic, Traffic]:
    """Return what goes down in every round, down once a session, and up."""
    # Floats are linear in the size d of the model, so two sizes tell vectors from scalars.
    of_1 = _floats_sent(algorithm, 1, minimal=minimal)
    of_2 = _floats_sent(algorithm, 2, minimal=minimal)
    down, once, up = (Traffic(two - one, 2 * one - two) for one, two in zip(of_1, of_2, strict=True))
    return down, once, up


def _floats_sent(algorithm: Algorithm, d: int, *, minimal: bool) -> tuple[int, int, int]:
    """Return the floats down in every round, down once a session, and up, for a model of d parameters."""
    local = first_round(algorithm, zeros(algorithm, d))
    once = _floats({name: local.received[name] for name in algorithm.sent_once()})
    up = _floats(upload(algorithm, local.start, local, minimal=minimal))
    return d + _floats(local.received) - once, once, up


def _floats(vectors: Mapping[str, Any]) -> int:
    return sum(math.prod(vector.shape) for vector in vectors.values())


def _step_flops(algorithm: Algorithm, training: Training) -> float:
    """Return the operations of one local step on vectors, for each parameter: the correction's and the solver's."""
    # Operations on scalars are the same for both sizes, and are left out.
    correction = correction_operations(algorithm, 2) - correction_operations(algorithm, 1)
    solver = 2  # w - lr gradient
    if training.weight_decay + algorithm.decay(first_round(algorithm, zeros(algorithm, 1))):
        solver += 2
    if training.optimizer == "adam":
        solver += 12  # 3 for m, 4 for v, its root, two corrections of their bias, eps, the quotient
    elif training.momentum:
        solver += 2
    if training.clip_norm:
        solver += 3
    return float(correction + solver)
