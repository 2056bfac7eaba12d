"""What a device's round weighs: the floats that the algorithm really sends, and the operations that training takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.learning.algorithms import Algorithm, LocalContext
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.datasets import Data
from edgefl.learning.models import Model
from edgefl.learning.models.base import LayerCost
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload, batch_sizes, local_samples, local_steps

if TYPE_CHECKING:
    from torch import Tensor

BITS_PER_LABEL = 8  # algorithm cards, section 8.4


@dataclass(frozen=True)
class Payload:
    """Bits down and up for each participant, each device's operations in a round, and bits of the model alone."""

    down_bits: float
    up_bits: float
    flops: npt.NDArray[np.float64]  # [devices]
    model_bits: float
    samples: npt.NDArray[np.int64]  # [devices] held
    loss_flops: float  # operations of a sample's forward pass
    once_bits: float = 0.0  # down, beside the others, for each that has not had them in the session
    sample_flops: float = 0.0  # operations of a sample in a step, of which `flops` are made
    step_flops: float = 0.0  # of a step besides

    def flops_in(self, ids: npt.NDArray[np.int64], index: int, workload: Workload) -> npt.NDArray[np.float64]:
        """Operations [n] of devices [n] in the round `index`; fewer than `flops` where they do a part of their work."""
        if workload.training.stragglers is None:
            return self.flops[ids]
        full, done = local_steps(self.samples[ids], *workload.training.work), workload.steps(ids, index)
        left_out = workload.samples(ids, full) - workload.samples(ids, done)
        return np.asarray(self.flops[ids] - left_out * self.sample_flops - (full - done) * self.step_flops)


def measure(
    model: Model,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    sizes: npt.NDArray[np.int64],
    cost: Literal["full", "paper"] = "full",
) -> Payload:
    """Weigh one round's work.

    The hooks `downlink` and `upload` are run on vectors of one and of two zeros, and what they return is counted: an
    algorithm that sends two vectors pays for two without having to say so. Likewise `references`: a model that the
    loss compares with costs a forward pass, a third of training, on every sample.

    Args:
        model: its size and its operations a sample.
        algorithm: what it sends.
        training: how much a device trains.
        data: the shape of a sample.
        sizes: [devices] samples held.
        cost: all of this, or as the dynamic-devices paper prices every algorithm: a model each way and one pass forward
            and backward, whatever else is sent and computed.

    Raises:
        InputError: the algorithm cannot work with so many devices.
    """
    if reason := algorithm.check(len(sizes)):
        raise InputError(f"algorithm: {reason}")
    d = model.payload_parameters(data.shape, data.classes)
    samples, steps = local_samples(sizes, *training.work), local_steps(sizes, *training.work)
    sample_flops, model_bits = model.flops_per_sample(data.shape, data.classes), float(BITS_PER_FLOAT * d)
    if cost == "paper":
        up_bits, flops = float(training.codec.bits(d)), samples * sample_flops
        return Payload(model_bits, up_bits, flops, model_bits, sizes, sample_flops / 3, sample_flops=sample_flops)
    one, two = (_floats_sent(algorithm, size, minimal=training.minimal_uploads) for size in (1, 2))
    down, once, up = ((b - a, 2 * a - b) for a, b in zip(one, two, strict=True))  # linear in d: vectors and scalars
    compared = len(algorithm.references(_first_round(algorithm, np.zeros(1, dtype=np.float32))))
    passes = samples * (1 + compared / 3) + (sizes if algorithm.needs_gradient() else 0)  # over samples, 3 F each
    step_flops = 0.0 if model.cost else _step_flops(algorithm, training) * d
    return Payload(
        down_bits=float(BITS_PER_FLOAT * (down[0] * d + down[1])),
        up_bits=float(up[0] * training.codec.bits(d) + BITS_PER_FLOAT * up[1]),
        flops=passes * sample_flops + steps * step_flops,
        model_bits=model_bits,
        samples=sizes,
        loss_flops=sample_flops / 3,
        once_bits=float(BITS_PER_FLOAT * (once[0] * d + once[1])),
        sample_flops=(1 + compared / 3) * sample_flops,
        step_flops=step_flops,
    )


@dataclass(frozen=True)
class Share:
    """Operations of one of the two parts of a model."""

    forward: float  # of a sample; backward takes twice as many
    step: float  # of the solver, whatever the number of samples


@dataclass(frozen=True)
class SplitPayload:
    """What local training weighs where a device computes a model's front and the server its back."""

    front_bits: float  # parameters, each way
    up_bits: float  # of a sample in a step: activations at the cut, and the label
    down_bits: float  # their gradients
    front: Share
    back: Share
    sizes: npt.NDArray[np.int64]  # [devices] samples held
    work: tuple[int | None, int | None, int | None]  # as `device.local_steps` takes it

    def batches(self, device: int, steps: int | None = None) -> npt.NDArray[np.int64]:
        """Samples [K] of each of a device's local steps, or of so many `steps`."""
        return batch_sizes(int(self.sizes[device]), *self.work)[:steps]


def measure_split(
    model: Model,
    front: LayerCost,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    sizes: npt.NDArray[np.int64],
    cost: Literal["full", "paper"] = "full",
) -> SplitPayload:
    """Weigh one round's work of split learning (algorithm cards, 1.19 and 8.4).

    Args:
        model: what is cut in two.
        front: the part that devices compute.
        algorithm: for its correction.
        training: how much a device trains.
        data: the shape of a sample.
        sizes: [devices] samples held.
        cost: all of this, or no operations of the solver.
    """
    shape = data.shape, data.classes
    step = _step_flops(algorithm, training) if cost == "full" else 0.0
    d, products = model.parameters(*shape), model.multiplications(*shape)
    return SplitPayload(
        front_bits=float(BITS_PER_FLOAT * front.parameters),
        up_bits=float(BITS_PER_FLOAT * front.outputs + BITS_PER_LABEL),
        down_bits=float(BITS_PER_FLOAT * front.outputs),
        front=Share(2.0 * front.multiplications, step * front.parameters),
        back=Share(2.0 * (products - front.multiplications), step * (d - front.parameters)),
        sizes=sizes,
        work=training.work,
    )


def _floats_sent(algorithm: Algorithm, d: int, *, minimal: bool) -> tuple[int, int, int]:
    """Floats down, down once and up for a model of d parameters."""
    local = _first_round(algorithm, np.zeros(d, dtype=np.float32))
    once = _floats({name: local.received[name] for name in algorithm.lasting()})
    up = _floats(algorithm.upload(local.start, local, minimal=minimal))
    return d + _floats(local.received) - once, once, up


def _step_flops(algorithm: Algorithm, training: Training) -> float:
    """Operations of one local step on vectors, for each parameter: the algorithm's correction, and the solver's."""
    one, two = _corrections(algorithm, 1), _corrections(algorithm, 2)
    decay = training.weight_decay + algorithm.decay(_first_round(algorithm, np.zeros(1, dtype=np.float32)))
    # Adam: 3 for m, 4 for v, its root, two corrections of their bias, eps, the quotient
    moments = 12 if training.optimizer == "adam" else 2 * bool(training.momentum)
    solver = 2 + 2 * bool(decay) + moments + 3 * bool(training.clip_norm)
    return float(two - one + solver)


def _corrections(algorithm: Algorithm, d: int) -> int:
    """Operations of the hook `correct` on d parameters, counted while it runs."""
    sizes: list[int] = []

    class Counted(np.ndarray[Any, Any]):
        """An array that notes the size of each element-wise result."""

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
            result = np.asarray(getattr(ufunc, method)(*map(np.asarray, inputs), **options))
            sizes.append(result.size)
            return result.view(Counted)

    local = _first_round(algorithm, np.zeros(d, dtype=np.float32).view(Counted))
    sizes.clear()
    algorithm.correct(local.start, local.start, local)
    return sum(sizes)


def _first_round(algorithm: Algorithm, zeros: npt.NDArray[np.float32]) -> LocalContext:
    """What a device knows in its first round; hooks are arithmetic, so NumPy serves, and torch is not needed."""
    w = cast("Tensor", zeros)
    return LocalContext(w, 1.0, algorithm.downlink(algorithm.server_state(w)), algorithm.client_state(w))


def _floats(vectors: Mapping[str, Any]) -> int:
    return sum(int(np.size(vector)) for vector in vectors.values())
