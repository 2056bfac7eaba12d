"""What a device's round weighs: the floats that the algorithm really sends, and the operations that training takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from edgefl.algorithms import Algorithm, Local
from edgefl.datasets import Data
from edgefl.device import local_samples, local_steps
from edgefl.errors import InputError
from edgefl.models import Model
from edgefl.scenario import Training

if TYPE_CHECKING:
    from torch import Tensor

BITS_PER_FLOAT = 32


@dataclass(frozen=True)
class Payload:
    """Bits down and up for each participant, and each device's operations in a round."""

    down_bits: float
    up_bits: float
    flops: npt.NDArray[np.float64]  # [devices]


def measure(
    model: Model,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    sizes: npt.NDArray[np.int64],
    cost: Literal["full", "paper"] = "full",
) -> Payload:
    """Weigh one round's work.

    The hooks `downlink` and `finish` are run on vectors of one and of two zeros, and what they return is counted: an
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
    if cost == "paper":
        flops = samples * model.flops_per_sample(data.shape, data.classes)
        return Payload(float(BITS_PER_FLOAT * d), float(training.codec.bits(d)), flops)
    one, two = _floats_sent(algorithm, 1), _floats_sent(algorithm, 2)
    down, up = ((b - a, 2 * a - b) for a, b in zip(one, two, strict=True))  # linear in d: vectors and scalars
    compared = len(algorithm.references(_first_round(algorithm, np.zeros(1, dtype=np.float32))))
    passes = samples * (1 + compared / 3) + (sizes if algorithm.needs_gradient() else 0)  # over samples, 3 F each
    vectors = 0.0 if model.cost else steps * _step_flops(algorithm, training) * d
    return Payload(
        down_bits=float(BITS_PER_FLOAT * (down[0] * d + down[1])),
        up_bits=float(up[0] * training.codec.bits(d) + BITS_PER_FLOAT * up[1]),
        flops=passes * model.flops_per_sample(data.shape, data.classes) + vectors,
    )


def _floats_sent(algorithm: Algorithm, d: int) -> tuple[int, int]:
    """Floats down and up for a model of d parameters."""
    local = _first_round(algorithm, np.zeros(d, dtype=np.float32))
    return d + _floats(local.received), _floats(algorithm.finish(local.start, local))


def _step_flops(algorithm: Algorithm, training: Training) -> float:
    """Operations of one local step on vectors, for each parameter: the algorithm's correction, and the solver's."""
    one, two = _corrections(algorithm, 1), _corrections(algorithm, 2)
    solver = 2 + 2 * bool(training.weight_decay) + 2 * bool(training.momentum) + 3 * bool(training.clip_norm)
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


def _first_round(algorithm: Algorithm, zeros: npt.NDArray[np.float32]) -> Local:
    """What a device knows in its first round; hooks are arithmetic, so NumPy serves, and torch is not needed."""
    w = cast("Tensor", zeros)
    return Local(w, 1.0, algorithm.downlink(algorithm.server_state(w)), algorithm.client_state(w))


def _floats(vectors: Mapping[str, Any]) -> int:
    return sum(int(np.size(vector)) for vector in vectors.values())
