"""What a device's round weighs: the floats that the algorithm really sends, and the operations that training takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from edgefl.algorithms import Algorithm, Local
from edgefl.datasets import Data
from edgefl.device import local_samples
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
    model: Model, algorithm: Algorithm, training: Training, data: Data, sizes: npt.NDArray[np.int64]
) -> Payload:
    """Weigh one round's work.

    The hooks `downlink` and `finish` are run on vectors of one and of two zeros, and what they return is counted: an
    algorithm that sends two vectors pays for two without having to say so.

    Args:
        model: its size and its operations a sample.
        algorithm: what it sends.
        training: how much a device trains.
        data: the shape of a sample.
        sizes: [devices] samples held.
    """
    d = model.payload_parameters(data.shape, data.classes)
    one, two = _floats_sent(algorithm, 1), _floats_sent(algorithm, 2)
    down, up = ((b - a) * d + (2 * a - b) for a, b in zip(one, two, strict=True))  # linear in d: vectors and scalars
    batch = None if training.batch_size == "full" else training.batch_size
    samples = local_samples(sizes, training.local_epochs, training.local_steps, batch)
    return Payload(
        down_bits=float(BITS_PER_FLOAT * down),
        up_bits=float(BITS_PER_FLOAT * up),
        flops=samples * model.flops_per_sample(data.shape, data.classes),
    )


def _floats_sent(algorithm: Algorithm, d: int) -> tuple[int, int]:
    """Floats down and up for a model of d parameters."""
    zeros = cast("Tensor", np.zeros(d, dtype=np.float32))  # hooks are arithmetic: NumPy serves, and needs no torch
    received = algorithm.downlink(algorithm.server_state(zeros))
    upload = algorithm.finish(zeros, Local(start=zeros, lr=1.0, received=received))
    return d + _floats(received), _floats(upload)


def _floats(vectors: Mapping[str, Any]) -> int:
    return sum(int(np.size(vector)) for vector in vectors.values())
