"""Jobs: the training of one device in one round; and their keys, which travel to a worker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from edgefl.core.arrays import Indices


@dataclass(frozen=True)
class JobKey:
    """The training of one device in one round: its draws depend on nothing else."""

    device: int
    index: int  # of the round, from 0
    samples: Indices | None = None  # its training samples in this round; None: all that the device holds


@dataclass(frozen=True)
class Job:
    """The training of one device in one round: its result depends on nothing else."""

    device: int
    index: int  # of the round, from 0
    start: Tensor  # [d] the model that the device received
    received: Mapping[str, Tensor]  # other vectors that it received
    statistics: Tensor  # [b] of batch normalisation, as received
    lr: float  # learning rate of the round
    samples: Indices | None = None  # its training samples in this round; None: all that the device holds
    lr_factor: float = 1.0  # between the device's own learning rate and that of the round

    @property
    def own_lr(self) -> float:
        """The device's own learning rate."""
        return self.lr * self.lr_factor

    def samples_of(self, parts: Sequence[Indices]) -> Indices:
        """Return the training samples [n] of this round, given those that each device holds [devices]."""
        if self.samples is None:
            return parts[self.device]
        return self.samples


def stacked(vectors: Sequence[Tensor]) -> Tensor:
    """Return vectors as [C, d], or as a single row if all are the same object, as in a synchronous round."""
    if all(vector is vectors[0] for vector in vectors):
        return vectors[0][None]
    return torch.stack(list(vectors))
