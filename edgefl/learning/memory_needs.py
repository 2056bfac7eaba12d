"""The least memory that learning needs, counted part by part before anything of that size is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.core.errors import InputError
from edgefl.core.machine import tightest_limit
from edgefl.core.units import BYTES, quantity
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.trial import first_round, zeros
from edgefl.learning.datasets import Data
from edgefl.learning.models import Model
from edgefl.learning.models.base import LayerCost
from edgefl.learning.torch_device import gpu_bytes
from edgefl.learning.training_section import Training

BYTES_OF = {"float32": 4, "float64": 8}
MODEL_COPIES = 4  # the module, a copy of it for training and one for testing, and the global model as a flat vector
TESTED_TOGETHER = 250  # samples, on a CPU
SAMPLES = "the samples"
MODEL = "the model"
NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")  # the driver has a folder for each
PROBE = 3  # parameters of a model to count the algorithm's vectors on


class Need(NamedTuple):
    """A part that needs memory, its bytes, and a remedy that reduces it."""

    what: str
    bytes: float
    remedy: str


@dataclass(frozen=True)
class MemoryNeeds:
    """All parts of learning that need memory."""

    needs: tuple[Need, ...]

    @property
    def total_bytes(self) -> float:
        """The sum."""
        return sum(need.bytes for need in self.needs)

    @property
    def before_a_gpu(self) -> MemoryNeeds:
        """The host's needs before a GPU gets its part: the samples, and the module once."""
        kept: list[Need] = []
        for need in self.needs:
            if need.what == SAMPLES:
                kept.append(need)
            elif need.what == MODEL:
                kept.append(need._replace(bytes=need.bytes / MODEL_COPIES))
        return MemoryNeeds(tuple(kept))

    @property
    def largest(self) -> Need:
        """The part that needs the most."""
        return max(self.needs, key=lambda need: need.bytes)


def memory_needs(
    model: Model,
    algorithm: Algorithm,
    training: Training,
    data: Data,
    devices: int,
    together: int,
    known: int | None = None,
) -> MemoryNeeds:
    """Return the least memory that learning needs; the algorithm's hooks return the vectors that it keeps and sends.

    So many updates are aggregated `together`; the server keeps rows of `known` devices at a time; None: of all.
    """
    vector_bytes = float(BYTES_OF[data.dtype]) * model.parameters(data.shape, data.outputs)
    frozen_bytes = float(BYTES_OF[data.dtype]) * model.frozen_parameters(data.shape, data.outputs)
    smaller = "use a smaller model"
    kept, rows, states, sent = vectors_of(algorithm)
    own = 3 + states + training.moments  # the client's model, its gradient, and its move
    width = training.width or 1
    sample_arrays = [data.train_x, data.test_x]
    if data.several_labels:  # a label for each pixel is as large as the image
        sample_arrays += [data.train_y, data.test_y]
    needs = [
        Need(SAMPLES, float(sum(array.nbytes for array in sample_arrays)), "use a smaller dataset"),
        Need(MODEL, MODEL_COPIES * (vector_bytes + frozen_bytes), smaller),
        Need("training one client", own * vector_bytes, smaller),
        Need(
            f"the updates of {together} participants",
            together * sent * vector_bytes,
            f"lower server.participants, or {smaller}",
        ),
        Need("testing", TESTED_TOGETHER * _widest(model, data) * BYTES_OF[data.dtype], smaller),
    ]
    if width > 1:
        needs.append(Need(f"{width} clients together", (width - 1) * own * vector_bytes, "lower training.width"))
    if kept:
        needs.append(Need("what the server keeps besides", kept * vector_bytes, smaller))
    kept_bytes = float(BYTES_OF[data.dtype]) * model.kept_parameters(data.shape, data.outputs)
    if kept_bytes and training.state_home in {"host", "device"}:
        remedy = "set training.state_home to auto or disk"
        needs.append(Need(f"what {devices} devices keep of the model", devices * kept_bytes, remedy))
    if rows:
        remedy = f"use fewer devices, another algorithm, or {smaller[4:]}"
        known = known or devices
        needs.append(Need(f"what the server keeps of {known} devices", known * rows * vector_bytes, remedy))
    if states and training.state_home in {"host", "device"}:
        remedy = "set training.state_home to auto or disk"
        needs.append(Need(f"the states of {devices} devices", devices * states * vector_bytes, remedy))
    return MemoryNeeds(tuple(needs))


def check_memory(needs: MemoryNeeds, device: str | None = "cpu") -> None:
    """Check that learning fits into the memory of this machine, of its container, and of this shell's limit.

    The device is cpu, cuda or cuda:i; None: not known yet, and may be a GPU. Raises an InputError if it does not fit.
    """
    limit = tightest_limit()
    if device is None and NVIDIA_GPUS.exists():
        _check(needs.before_a_gpu, *limit)
    elif device in {None, "cpu"}:
        _check(needs, *limit)
    else:
        _check(needs.before_a_gpu, *limit)
        _check(needs, "GPU", gpu_bytes(str(device)))


def _check(needs: MemoryNeeds, name: str, limit_bytes: float) -> None:
    if needs.total_bytes <= limit_bytes:
        return
    largest = needs.largest
    text = f"learning needs at least {quantity(needs.total_bytes, BYTES)} of memory, most of it "
    text += f"({quantity(largest.bytes, BYTES)}) for {largest.what}, and there are {quantity(limit_bytes, BYTES)}"
    raise InputError(f"model: {text} ({name}): {largest.remedy}, or run it with --no-train")


class StepMemory(NamedTuple):
    """The least memory that a device needs for one step of training."""

    vectors_bytes: float  # for vectors of the model's size, and frozen parameters
    sample_bytes: float  # for each sample of the step: its values, and what the backward pass needs of its activations

    def of(self, samples: Ints) -> Floats:
        """Return the bytes [n] that steps of `samples` [n] need."""
        return np.asarray(self.vectors_bytes + self.sample_bytes * samples)


def step_memory(
    model: Model, algorithm: Algorithm, training: Training, data: Data, front: LayerCost | None = None
) -> StepMemory:
    """Return the least memory that a device needs for a step of training; of the model's `front` if it is cut.

    A device holds the received model, its own, its gradient, the optimiser's moments and what the algorithm keeps.
    """
    number_bytes = BYTES_OF[data.dtype]
    vectors = 3 + vectors_of(algorithm).states + training.moments
    sample_bytes = float(number_bytes * math.prod(data.shape))
    if front is not None:
        return StepMemory(float(number_bytes * vectors * front.parameters), sample_bytes + number_bytes * front.outputs)
    shape_and_outputs = (data.shape, data.outputs)
    trained = model.payload_parameters(*shape_and_outputs) + model.kept_parameters(*shape_and_outputs)
    frozen = model.frozen_parameters(*shape_and_outputs)
    return StepMemory(
        float(number_bytes * (vectors * trained + frozen)),
        sample_bytes + model.activation_bytes(*shape_and_outputs, tokens=data.tokens),
    )


class Vectors(NamedTuple):
    """The number of vectors of the model's size that an algorithm holds."""

    kept: int  # by the server, besides the model
    rows: int  # by the server, of each device
    states: int  # by each device
    sent: int  # by each participant


def vectors_of(algorithm: Algorithm) -> Vectors:
    """Return an algorithm's number of vectors of the model's size, from what its hooks return for small ones."""
    w = zeros(algorithm, PROBE)
    local = first_round(algorithm, w)
    groups = (
        algorithm.server_state(w),
        algorithm.device_rows(w),
        algorithm.client_state(w),
        algorithm.finish(w, local),
    )
    kept, rows, states, sent = (
        sum(getattr(vector, "shape", None) == (PROBE,) for vector in group.values()) for group in groups
    )
    return Vectors(kept - 1, rows, states, sent)


def _widest(model: Model, data: Data) -> float:
    """Return how many numbers the widest layer puts out for one sample; the last layer if that is not known."""
    try:
        return float(max(layer.outputs for layer in model.layers(data.shape, data.outputs)))
    except NotImplementedError:
        return float(math.prod(data.output_shape))
