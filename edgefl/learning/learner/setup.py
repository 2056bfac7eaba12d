"""What a learner is set up from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from edgefl.learning.algorithms import RunInfo
from edgefl.learning.datasets import Data
from edgefl.learning.training_section import Training
from edgefl.learning.workload import local_steps


def in_common(training: Training, data: Data, parts: Sequence[npt.NDArray[np.int64]]) -> RunInfo:
    """What all rounds have in common, as far as local training and data say; `parts` [devices] are their samples."""
    sizes = np.array([len(part) for part in parts])
    (steps,) = local_steps(np.array([-(-sizes.sum() // len(parts))]), *training.work)  # of the mean size
    labels, test_labels = (_counts(y, data.classes) for y in (data.train_y[np.concatenate(parts)], data.test_y))
    return RunInfo(
        population=len(parts),
        participants=len(parts),
        lr=training.lr,
        steps=float(steps),
        momentum=training.momentum,
        labels=labels,
        test_labels=test_labels,
        samples=float(sizes.mean()),
        work=training.work,
    )


def _counts(y: npt.NDArray[np.int64], classes: int) -> tuple[int, ...]:
    """How many samples there are of each class."""
    return tuple(np.bincount(y, minlength=classes)[:classes].tolist())


def places_of(device: str) -> list[str]:
    """The torch devices behind cpu, cuda (all GPUs of this machine) or cuda:i."""
    return [f"cuda:{index}" for index in range(torch.cuda.device_count())] if device == "cuda" else [device]


def exact_products(*, exact: bool) -> None:
    """Whether GPUs multiply float32 as IEEE 754 says, or round factors to TF32; cuDNN's own default is to round."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not exact
