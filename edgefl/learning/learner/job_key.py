"""The key of one device's training in one round, as it travels to a worker."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.core.arrays import Indices


@dataclass(frozen=True)
class JobKey:
    """One device's training in one round: its draws depend on nothing else."""

    device: int
    index: int  # of the round, from 0
    samples: Indices | None = None  # its training samples in this round; None: all that the device holds
