"""Calls of an algorithm's hooks before anything is learned, on vectors of zeros: what they return can be counted.

The shipped algorithms are arithmetic that NumPy arrays understand as well as torch tensors, so that a world without
learning never loads torch. Any other algorithm may use every function of torch, and gets tensors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from edgefl.learning.algorithms.base import Algorithm, LocalContext, RunInfo
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor

NUMPY_SERVES = {"edgefl", "pydantic", "builtins"}  # packages of the shipped algorithms' classes and their bases


def uses_torch(algorithm: Algorithm) -> bool:
    """Return whether a hook of an algorithm may call functions of torch: one that comes from outside the package."""
    if isinstance(algorithm, Wrapper) and uses_torch(algorithm.base):
        return True
    packages = {cls.__module__.partition(".")[0] for cls in type(algorithm).__mro__}
    return not packages <= NUMPY_SERVES


def zeros(algorithm: Algorithm, d: int) -> Tensor:
    """Return zeros [d], float32, as an array or tensor that the algorithm's hooks can compute with."""
    if uses_torch(algorithm):
        import torch

        return torch.zeros(d)
    return cast("Tensor", np.zeros(d, dtype=np.float32))


def first_round(algorithm: Algorithm, w: Tensor, lr: float = 1.0) -> LocalContext:
    """Return what a device knows in its first round, if the initial model is w [d], an array or tensor."""
    received = algorithm.downlink(algorithm.server_state(w))
    context = LocalContext(w, lr, received, algorithm.client_state(w), run=RunInfo(lr=lr))
    if not hasattr(w, "new_ones"):
        return context
    # Tensors, as the engine has them: a hook may call their methods.
    one = w.new_ones(1)
    return replace(context, steps=one, weight=one, index=0 * one, gradient=0 * w)
