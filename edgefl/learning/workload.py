"""How much each device trains in a round: all that is asked of it, or as a straggler a part (FedProx, section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats, Ids
from edgefl.core.streams import Streams
from edgefl.learning.training_section import Training


@dataclass(frozen=True)
class Workload:
    """Optimiser steps of devices, a function of (seed, device, round) where there are stragglers.

    Li et al., MLSys 2020, draw a fixed number of stragglers among the selected devices of a round, which do a uniform
    number of epochs. Here each device is one with some probability, so that its work does not depend on who else takes
    part.
    """

    training: Training
    sizes: npt.NDArray[np.int64]  # [devices] samples held
    streams: Streams

    def steps(self, ids: Ids, index: npt.ArrayLike) -> Floats:
        """Steps [n] of devices [n] in the round `index` from 0, of all or [n] of each."""
        full = local_steps(self.sizes[ids], *self.training.work)
        if self.training.stragglers is None:
            return full
        is_straggler, part = self._drawn(ids, index)
        unit = epoch_steps(self.sizes[ids], self.training.work[2]) if self.training.local_steps is None else 1
        return np.where(is_straggler, np.minimum(unit * (1 + np.floor(part * (full / unit))), full), full)

    def samples(self, ids: Ids, steps: Floats) -> Floats:
        """Samples [n] in so many steps [n] of devices [n]."""
        return samples_in(steps, self.sizes[ids], self.training.work[2])

    def dropped(self, device: int, index: int) -> bool:
        """Whether the server does without what a device has done in the round `index`, as it is a straggler."""
        stragglers = self.training.stragglers
        return stragglers is not None and not stragglers.keep and bool(self._drawn(np.array([device]), index)[0][0])

    def _drawn(self, ids: Ids, index: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Whether devices [n] are stragglers, and which part of their work they do [n], in (0, 1)."""
        each, drawn = np.broadcast_to(np.asarray(index), ids.shape), np.empty((len(ids), 2))
        for one in np.unique(each):
            drawn[each == one] = self.streams.uniform("straggler", ids[each == one], int(one), 2)
        share = self.training.stragglers.share if self.training.stragglers else 0.0
        return drawn[:, 0] < share, drawn[:, 1]


def local_steps(sizes: npt.NDArray[np.int64], epochs: int | None, steps: int | None, batch: int | None) -> Floats:
    """Optimiser steps [n] of one round of local training; arguments as in `local_samples`."""
    if epochs is None and steps is None:
        raise ValueError("either epochs or steps must be given")
    passes = np.inf if epochs is None else epochs * epoch_steps(sizes, batch)
    return np.asarray(np.minimum(np.full(len(sizes), np.inf if steps is None else float(steps)), passes))


def local_samples(sizes: npt.NDArray[np.int64], epochs: int | None, steps: int | None, batch: int | None) -> Floats:
    """Samples [n] that devices with `sizes` [n] samples process in one round of local training.

    Args:
        sizes: samples held.
        epochs: passes over the local data, or None.
        steps: mini-batches, wrapping over the local data whose last batch may be short, or None. Where both are given,
            what ends first.
        batch: mini-batch size; None for all local data.
    """
    return samples_in(local_steps(sizes, epochs, steps, batch), sizes, batch)


def samples_in(steps: Floats, sizes: npt.NDArray[np.int64], batch: int | None) -> Floats:
    """Samples [n] of so many `steps` [n] of devices with `sizes` [n] samples, pass after pass."""
    size, per_epoch = np.minimum(sizes, batch) if batch else sizes, epoch_steps(sizes, batch)
    return np.asarray((steps // per_epoch) * sizes + (steps % per_epoch) * size)


def batch_sizes(size: int, epochs: int | None, steps: int | None, batch: int | None) -> npt.NDArray[np.int64]:
    """Samples [K] of each of a device's mini-batches in one round; arguments as in `local_samples`, for one device."""
    full = min(size, batch) if batch else size
    epoch = np.full(-(-size // full), full, dtype=np.int64)
    epoch[-1] = size - full * (len(epoch) - 1)
    return np.resize(epoch, int(local_steps(np.array([size]), epochs, steps, batch)[0]))


def epoch_steps(sizes: npt.NDArray[np.int64], batch: int | None) -> npt.NDArray[np.int64]:
    """Mini-batches [n] of an epoch."""
    return -(-sizes // (np.minimum(sizes, batch) if batch else sizes))
