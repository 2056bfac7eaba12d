"""The inputs of local training, as they travel to a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Floats
from edgefl.learning.algorithms import RunInfo
from edgefl.learning.learner.task import LearningTask


@dataclass(frozen=True)
class ClientInputs:
    """The inputs of C clients' training; a tensor of a single row serves all of them.

    In a synchronous round all clients receive the same model: one row then crosses the pipe to a worker, not C.
    """

    start: Tensor  # [C or 1, d] the model that each client received
    received: Mapping[str, Tensor]  # [C or 1, ...] the other vectors that came with it, by name
    state: Mapping[str, Tensor]  # [C, ...] the vectors that each client kept from earlier rounds, by name
    statistics: Tensor  # [C or 1, b] statistics of batch normalisation
    lr: Floats  # [C] learning rates, on the host, which compares them
    run: RunInfo  # what all rounds have in common

    def to(self, device: torch.device) -> ClientInputs:
        """Return the same inputs on another torch device."""
        return self._each(lambda value: value.to(device))

    def rows(self, begin: int, end: int) -> ClientInputs:
        """Return the inputs of the clients [begin, end)."""

        def cut(value: Tensor) -> Tensor:
            if len(value) == 1:
                return value
            return value[begin:end]

        return replace(self._each(cut), lr=self.lr[begin:end])

    def _each(self, change: Callable[[Tensor], Tensor]) -> ClientInputs:
        return ClientInputs(
            start=change(self.start),
            received={name: change(value) for name, value in self.received.items()},
            state={name: change(value) for name, value in self.state.items()},
            statistics=change(self.statistics),
            lr=self.lr,
            run=self.run,
        )


def rounded_rates(rates: Sequence[float], dtype: torch.dtype) -> Floats:
    """Return learning rates [C] in the precision of the models."""
    return np.array(rates, dtype=str(dtype).removeprefix("torch."))


def first_inputs(
    task: LearningTask, initial: Tensor, state: Mapping[str, Tensor], statistics: Tensor, run: RunInfo
) -> ClientInputs:
    """Return the inputs of a client in its first round: initial model [d], `state` by name, and `statistics` [b]."""
    received = task.algorithm.downlink(task.algorithm.server_state(initial))
    return ClientInputs(
        start=initial[None],
        received={name: value[None] for name, value in received.items()},
        state={name: value[None] for name, value in state.items()},
        statistics=statistics[None],
        lr=rounded_rates([task.training.lr], initial.dtype),
        run=run,
    )
