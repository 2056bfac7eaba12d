"""The cost of a device's round: the floats that the algorithm sends, and the operations of its training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.errors import InputError
from edgefl.core.returns import Number, called
from edgefl.learning.algorithms import Algorithm, properties
from edgefl.learning.algorithms.hook_errors import place
from edgefl.learning.algorithms.rehearsal import rehearse_outside
from edgefl.learning.algorithms.steps import upload
from edgefl.learning.algorithms.trial import first_round, uses_torch, zeros
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.datasets import Data
from edgefl.learning.models import Model
from edgefl.learning.models.base import LayerCost
from edgefl.learning.operations import correction_per_parameter
from edgefl.learning.training_section import LocalWork, Training
from edgefl.learning.workload import (
    PlannedWork,
    Workload,
    batch_sizes,
    first_steps,
    first_work,
    local_work,
)

LARGEST_TRIAL = 10**6  # parameters of a vector that is made only to be counted
FIRST = 0  # the first round, by whose variations of `training` devices are compared beforehand
BITS_PER_LABEL = 8  # one byte for each class


@dataclass(frozen=True)
class Payload:
    """The cost of one round: bits and operations of each device."""

    down_bits: float
    up_bits: Floats | float  # of each device [devices] or of all
    flops: Floats  # [devices] operations of a round
    model_bits: float  # only the model
    samples: Ints  # [devices] samples that each device holds
    passes: Floats  # [devices] how often training on one sample goes into `flops`
    loss_flops: Floats | float  # operations of one sample's forward pass, of each device [devices] or of all
    # Besides `down_bits`, for a device that has not received a model before: parameters that never travel again.
    first_bits: float = 0.0
    once_bits: float = 0.0  # besides `down_bits`, for a device that has not received them in this session
    first_part_samples: Floats | float = 0.0  # [devices] trained on in steps of `training.parts.first`
    # Parts of `flops`, of each device [devices] or of all:
    sample_flops: Floats | float = 0.0  # operations for one sample in a step
    step_flops: Floats | float = 0.0  # operations of a step whatever its number of samples
    # Operations for one sample besides `sample_flops`, in a step of `training.parts.first`; may be negative.
    first_part_flops: Floats | float = 0.0
    held_flops: Floats | float = 0.0  # operations for each sample that a device holds, whatever its steps
    # How often training on one sample goes into them:
    sample_passes: float = 1.0  # more than once if the loss compares with other models
    held_passes: float = 0.0

    def flops_in(self, ids: Ids, index: int, workload: Workload, sizes: Ints | None = None) -> Floats:
        """Return the operations [n] of the devices `ids` [n] in round `index`; stragglers take fewer than `flops`.

        They hold `sizes` [n] samples in this round, or all of theirs if None; `workload` says how many steps they take.
        """
        sample_flops = self._of(self.sample_flops, ids)
        step_flops = self._of(self.step_flops, ids)
        first_part_flops = self._of(self.first_part_flops, ids)
        if sizes is None and workload.training.variations:
            sizes = self.samples[ids]
        if sizes is not None:
            steps = workload.steps(ids, index, sizes)
            trained = workload.samples(ids, index, steps, sizes)
            first = workload.samples(ids, index, workload.first_steps(sizes, steps), sizes) * first_part_flops
            held = sizes * self._of(self.held_flops, ids)
            return np.asarray(trained * sample_flops + steps * step_flops + held + first)
        if workload.training.stragglers is None:
            return self.flops[ids]
        all_steps = workload.planned_steps(ids, index)
        done = workload.steps(ids, index)
        left_out = workload.samples(ids, index, all_steps) - workload.samples(ids, index, done)
        first = workload.samples(ids, index, workload.first_steps(self.samples[ids], all_steps))
        first_done = workload.samples(ids, index, workload.first_steps(self.samples[ids], done))
        # Subtracted from `flops`, which also has the pass over all samples that a straggler takes just the same.
        saved_first = (first - first_done) * first_part_flops
        return np.asarray(self.flops[ids] - left_out * sample_flops - (all_steps - done) * step_flops - saved_first)

    def sent_bits(self, ids: Ids) -> Floats:
        """Return the bits of the upload [n] of the devices `ids` [n]."""
        return np.broadcast_to(self._of(self.up_bits, ids), ids.shape)

    def forward_flops(self, ids: Ids, samples: Ints | float) -> Floats:
        """Return the operations [n] of a forward pass over some samples of each of the devices `ids` [n]."""
        return np.asarray(self._of(self.loss_flops, ids) * samples, dtype=np.float64)

    def in_time(
        self,
        *,
        sample_flops: Floats,
        first_part_flops: Floats,
        step_flops: Floats,
        forward_flops: Floats,
        steps: Floats,
    ) -> Payload:
        """Return the same payload with the operations that take as long on each device as measured.

        These are [devices] for training on one sample, what the first part takes besides, for each of the `steps` of a
        round, and for one sample's forward pass.
        """
        return replace(
            self,
            flops=self.passes * sample_flops + steps * step_flops + self.first_part_samples * first_part_flops,
            loss_flops=forward_flops,
            first_part_flops=first_part_flops,
            sample_flops=self.sample_passes * sample_flops,
            step_flops=step_flops,
            held_flops=self.held_passes * sample_flops,
        )

    def _of(self, flops: Floats | float, ids: Ids) -> Floats | float:
        if isinstance(flops, np.ndarray):
            return flops[ids]
        return flops


def measure(
    model: Model,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    sizes: Ints,
    cost: Literal["full", "paper"] = "full",
) -> Payload:
    """Return what one round of an algorithm costs.

    The hooks for the way down and up run on vectors of one and of two zeros, and what they return is counted: an
    algorithm that sends two vectors pays for two. Each model of `references`, which the loss compares with, costs a
    forward pass, a third of training, on every sample. The operations of the hook `correct` are counted while it runs.
    The hooks of shipped algorithms get NumPy arrays, so that runs without learning never load torch; those of other
    algorithms get torch tensors and may call any torch function. As hooks run on zeros, an `if` in a hook costs what
    the branch for zeros costs.

    Args:
        model: gives the number of parameters and the operations for a sample.
        algorithm: gives the hooks.
        training: says how much a device trains.
        data: gives the shape of a sample.
        sizes: [devices] samples that each device holds.
        cost: full, or paper: as the dynamic-devices paper prices every algorithm, with a model each way and one pass
            forward and backward, whatever else is sent and computed.

    Raises:
        InputError: the algorithm cannot work with this number of devices, or a hook from outside edgefl fails or
            returns a wrong value.
    """
    if reason := algorithm.check(len(sizes)):
        raise InputError(f"algorithm: {reason}")
    rehearse_outside(algorithm, len(sizes))
    d = model.payload_parameters(data.shape, data.outputs)
    sample_flops = model.flops_per_sample(data.shape, data.outputs, tokens=data.tokens)
    training_passes = model.training_passes(data.shape, data.outputs, tokens=data.tokens)
    kept = model.kept_parameters(data.shape, data.outputs)
    # What stays at devices begins, as what is frozen, with values that come with the first model.
    frozen_bits = BITS_PER_FLOAT
    if model.bare.adapters is not None:
        frozen_bits = model.bare.adapters.frozen_bits
    first_bits = float(frozen_bits * model.frozen_parameters(data.shape, data.outputs) + BITS_PER_FLOAT * kept)
    same_steps = properties.takes_same_steps(algorithm)
    planned = PlannedWork(training, sizes, same_steps=same_steps)
    ids = np.arange(len(sizes))
    steps = planned.planned_steps(ids, FIRST)
    samples = planned.samples(ids, FIRST, steps)
    first = first_work(training, sizes, same_steps=same_steps)
    first_part_samples = planned.samples(ids, FIRST, first_steps(first, sizes, steps))
    first_passes = model.first_passes(data.shape, data.outputs, tokens=data.tokens)
    first_part_flops = (first_passes - training_passes) * sample_flops / training_passes
    called(training.codec.bits, Number("the bits of a vector, a number from 0", least=0.0), d)
    down = up = Traffic(vectors=1, scalars=0)
    once = Traffic(vectors=0, scalars=0)
    references = 0
    held_passes = 0.0
    step_flops = 0.0
    if cost == "full":
        down, once, up = _traffic(algorithm, minimal=training.minimal_uploads)
        if uses_torch(algorithm):
            counted = model.parameters(data.shape, data.outputs) - kept
            _check_traffic(algorithm, (down, once, up), counted, training)
        references = len(algorithm.references(first_round(algorithm, zeros(algorithm, 1))))
        held_passes = float(algorithm.needs_gradient)  # the pass over all samples costs what training on them does
        if not model.cost:  # a price that the scenario names covers the whole step
            step_flops = _step_flops(algorithm, training, d) * d + _solver_flops(algorithm, training) * kept
    sample_passes = 1 + references / training_passes  # each model that the loss compares with takes a forward pass
    passes = samples * sample_passes + held_passes * sizes
    return Payload(
        down_bits=float(BITS_PER_FLOAT * (down.vectors * d + down.scalars)),
        up_bits=float(up.vectors * training.codec.bits(d) + BITS_PER_FLOAT * up.scalars),
        flops=passes * sample_flops + steps * step_flops + first_part_samples * first_part_flops,
        model_bits=float(BITS_PER_FLOAT * d),
        samples=sizes,
        passes=passes,
        loss_flops=sample_flops / training_passes,
        first_bits=first_bits,
        once_bits=float(BITS_PER_FLOAT * (once.vectors * d + once.scalars)),
        sample_flops=sample_passes * sample_flops,
        step_flops=step_flops,
        first_part_flops=first_part_flops,
        first_part_samples=first_part_samples,
        held_flops=held_passes * sample_flops,
        sample_passes=sample_passes,
        held_passes=held_passes,
    )


@dataclass(frozen=True)
class HalfCost:
    """Operations of one of the two parts of a model."""

    forward: float  # operations of one sample's forward pass; its backward pass takes twice as many
    step: float  # operations of a solver step, whatever its number of samples


@dataclass(frozen=True)
class SplitPayload:
    """The cost of local training in split learning: a device computes a model's front, the server its back."""

    front_bits: float  # the front's parameters, each way
    up_bits: float  # for each sample of a step: the activations at the cut, and the label
    down_bits: float  # for each sample of a step: the gradients of these activations
    front: HalfCost
    back: HalfCost
    sizes: Ints  # [devices] samples that each device holds
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
    """Return what one round of split learning costs, given the cost of the `front` that devices compute.

    With `cost: paper` the operations of the solver do not count.
    """
    step = 0.0
    if cost == "full":
        step = _step_flops(algorithm, training, model.parameters(data.shape, data.outputs))
    label_bits = BITS_PER_LABEL
    if data.regression:
        label_bits = BITS_PER_FLOAT * data.outputs
    d = model.parameters(data.shape, data.outputs)
    products = model.multiplications(data.shape, data.outputs)
    return SplitPayload(
        front_bits=float(BITS_PER_FLOAT * front.parameters),
        up_bits=float(BITS_PER_FLOAT * front.outputs + label_bits),
        down_bits=float(BITS_PER_FLOAT * front.outputs),
        # A multiply-accumulate is two operations.
        front=HalfCost(2.0 * front.multiplications, step * front.parameters),
        back=HalfCost(2.0 * (products - front.multiplications), step * (d - front.parameters)),
        sizes=sizes,
        work=local_work(training, sizes, same_steps=properties.takes_same_steps(algorithm)),
    )


class Traffic(NamedTuple):
    """Floats sent in one direction, for a model of any size."""

    vectors: int  # vectors of the model's size
    scalars: int  # other floats


def _traffic(algorithm: Algorithm, *, minimal: bool) -> tuple[Traffic, Traffic, Traffic]:
    """Return the traffic down in every round, down once a session, and up in every round."""
    # The floats are `vectors d + scalars`, linear in the size d of the model, so the sizes 1 and 2 give both numbers.
    floats_of_1 = _floats_sent(algorithm, 1, minimal=minimal)
    floats_of_2 = _floats_sent(algorithm, 2, minimal=minimal)
    down, once, up = (
        Traffic(vectors=of_2 - of_1, scalars=2 * of_1 - of_2)
        for of_1, of_2 in zip(floats_of_1, floats_of_2, strict=True)
    )
    return down, once, up


def _check_traffic(algorithm: Algorithm, traffic: Sequence[Traffic], d: int, training: Training) -> None:
    """Check that a large vector's traffic is a number of its size and a few more floats, as that of small ones."""
    d = min(d, LARGEST_TRIAL)
    floats = _floats_sent(algorithm, d, minimal=training.minimal_uploads)
    for hook, sent, found in zip(("downlink", "sent_once", "finish"), traffic, floats, strict=True):
        # The model itself is part of what goes down.
        if sent.vectors * d + sent.scalars != found:
            text = f"sends {found} floats with a model of {d} parameters, not a multiple of them and a few more"
            remedy = "send whole vectors, and let training.codec compress them"
            name = f"{type(algorithm).__name__}.{hook}"
            raise InputError(f"{place(algorithm, hook)}: algorithm: {name} {text}: {remedy}")


def _floats_sent(algorithm: Algorithm, d: int, *, minimal: bool) -> tuple[int, int, int]:
    local = first_round(algorithm, zeros(algorithm, d))
    once = _floats({name: local.received[name] for name in algorithm.sent_once()})
    up = _floats(upload(algorithm, local.start, local, minimal=minimal))
    return d + _floats(local.received) - once, once, up


def _floats(vectors: Mapping[str, Any]) -> int:
    return sum(math.prod(vector.shape) for vector in vectors.values())


def _step_flops(algorithm: Algorithm, training: Training, d: int) -> float:
    return float(correction_per_parameter(algorithm, d) + _solver_flops(algorithm, training))


# Operations of a step's scaling, for each parameter: those of the moments, root, eps and quotient.
SCALED = {"adam": 7 + 2 + 3, "adamw": 7 + 2 + 3, "adagrad": 2 + 3, "rmsprop": 4 + 3}  # Adam's 2 are for the bias


def _solver_flops(algorithm: Algorithm, training: Training) -> int:
    solver = 2  # w - lr gradient
    decay = max([training.weight_decay, *(group.weight_decay or 0.0 for group in training.parameter_groups)])
    if training.optimizer == "adamw" and decay:
        solver += 1  # w (1 - lr decay)
        decay = 0.0
    if decay + algorithm.decay(first_round(algorithm, zeros(algorithm, 1))):
        solver += 2
    if training.momentum:
        solver += 2 + 2 * training.nesterov
    solver += SCALED.get(training.optimizer, 0)
    if training.clip_norm:
        solver += 3
    return solver
