"""Trial calls of an algorithm's hooks on vectors of zeros, before anything is learned: what they return is counted.

Shipped algorithms use arithmetic that NumPy arrays and torch tensors share, so that a run without learning never loads
torch. Other algorithms may call every function of torch, and get tensors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from edgefl.learning.algorithms.base import Algorithm, LocalContext, RunInfo
from edgefl.learning.algorithms.watched import Watched
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor

NUMPY_SERVES = {"edgefl", "pydantic", "builtins"}  # packages of the shipped algorithms' classes and their bases


def uses_torch(algorithm: Algorithm) -> bool:
    """Return whether an algorithm's hooks may call functions of torch, as part of it comes from outside edgefl."""
    if isinstance(algorithm, Wrapper) and uses_torch(algorithm.base):
        return True
    return from_outside(type(algorithm))


def from_outside(cls: type[Algorithm]) -> bool:
    """Return whether a class or one of its bases comes from outside edgefl."""
    packages = {base.__module__.partition(".")[0] for base in cls.__mro__}
    return not packages <= NUMPY_SERVES


def watched_outside(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm from outside edgefl with its hooks watched, and any other as it is."""
    if uses_torch(algorithm) and not isinstance(algorithm, Watched):
        return Watched(base=algorithm)
    return algorithm


def zeros(algorithm: Algorithm, d: int) -> Tensor:
    """Return zeros [d] in float32: an array or a tensor, whichever the algorithm's hooks compute with."""
    if uses_torch(algorithm):
        import torch

        return torch.zeros(d)
    return cast("Tensor", np.zeros(d, dtype=np.float32))


def first_round(algorithm: Algorithm, w: Tensor, lr: float = 1.0) -> LocalContext:
    """Return what a device knows in its first round, given the initial model w [d], an array or a tensor."""
    received = algorithm.downlink(algorithm.server_state(w))
    context = LocalContext(w, lr, received, algorithm.client_state(w), run=RunInfo(lr=lr))
    if not hasattr(w, "new_ones"):
        return context
    # In the engine these numbers are tensors as well, and a hook may call their methods.
    one = w.new_ones(1)
    return replace(context, steps=one, weight=one, index=0 * one, gradient=0 * w, device_id=0 * one)
