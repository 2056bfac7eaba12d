"""How much each device trains in a round: all its local work, or as a straggler a part of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats, Ids, Ints
from edgefl.core.streams import Streams
from edgefl.learning.training_section import Training


@dataclass(frozen=True)
class Workload:
    """Optimiser steps of devices; with stragglers a function of (seed, device, round) (FedProx, section 5.2).

    Li et al., MLSys 2020, draw a fixed number of stragglers among the selected devices of a round, which do a uniform
    number of epochs. Here each device is one with some probability, so that its work does not depend on who else takes
    part.
    """

    training: Training
    sizes: Ints  # [devices] samples that each holds
    streams: Streams

    def steps(self, ids: Ids, index: npt.ArrayLike) -> Floats:
        """Return the steps [n] of devices [n] in the round `index` from 0, one for all devices or [n]."""
        work = self.training.work
        full = local_steps(self.sizes[ids], *work)
        if self.training.stragglers is None:
            return full
        is_straggler, part = self._draw(ids, index)
        # A straggler does whole epochs where the scenario counts epochs, and at least one.
        counts_epochs = self.training.local_steps is None
        unit = epoch_steps(self.sizes[ids], work.batch_size) if counts_epochs else 1
        units = 1 + np.floor(part * (full / unit))
        return np.where(is_straggler, np.minimum(unit * units, full), full)

    def samples(self, ids: Ids, steps: Floats) -> Floats:
        """Return the samples [n] in the given `steps` [n] of devices [n]."""
        return samples_in(steps, self.sizes[ids], self.training.work.batch_size)

    def dropped(self, device: int, index: int) -> bool:
        """Return whether the server ignores what a device has done in the round `index`, because it is a straggler."""
        stragglers = self.training.stragglers
        if stragglers is None or stragglers.keep:
            return False
        is_straggler, _ = self._draw(np.array([device]), index)
        return bool(is_straggler[0])

    def _draw(self, ids: Ids, index: npt.ArrayLike) -> tuple[Bools, Floats]:
        """Return whether devices [n] are stragglers, and which part of their work they then do [n], in (0, 1)."""
        rounds = np.broadcast_to(np.asarray(index), ids.shape)
        drawn = np.empty((len(ids), 2))
        for one in np.unique(rounds):
            drawn[rounds == one] = self.streams.uniform("straggler", ids[rounds == one], int(one), 2)
        stragglers = self.training.stragglers
        share = stragglers.share if stragglers else 0.0
        return drawn[:, 0] < share, drawn[:, 1]


def local_steps(sizes: Ints, epochs: int | None, steps: int | None, batch: int | None) -> Floats:
    """Return the optimiser steps [n] of one round of local training; arguments as in `local_samples`."""
    if epochs is None and steps is None:
        raise ValueError("either epochs or steps must be given")
    most = np.full(len(sizes), np.inf)
    if steps is not None:
        most = np.full(len(sizes), float(steps))
    if epochs is not None:
        most = np.minimum(most, epochs * epoch_steps(sizes, batch))
    return most


def local_samples(sizes: Ints, epochs: int | None, steps: int | None, batch: int | None) -> Floats:
    """Return the samples [n] that devices with `sizes` [n] samples process in one round of local training.

    Args:
        sizes: samples that each device holds.
        epochs: passes over the local data, or None.
        steps: mini-batches, wrapping over the local data whose last batch may be short, or None. Where both are given,
            what ends first.
        batch: mini-batch size; None for all local data.
    """
    return samples_in(local_steps(sizes, epochs, steps, batch), sizes, batch)


def samples_in(steps: Floats, sizes: Ints, batch: int | None) -> Floats:
    """Return the samples [n] in the given `steps` [n] of devices with `sizes` [n] samples, pass after pass."""
    per_epoch = epoch_steps(sizes, batch)
    # Only whole passes reach the short batch at their end.
    return np.asarray((steps // per_epoch) * sizes + (steps % per_epoch) * full_batch(sizes, batch))


def batch_sizes(size: int, epochs: int | None, steps: int | None, batch: int | None) -> Ints:
    """Return the samples [K] of each of a device's mini-batches in one round; arguments as in `local_samples`."""
    of_device = np.array([size])
    (full,) = full_batch(of_device, batch)
    (per_epoch,) = epoch_steps(of_device, batch)
    epoch = np.full(per_epoch, full, dtype=np.int64)
    epoch[-1] = size - full * (per_epoch - 1)  # the rest
    (count,) = local_steps(of_device, epochs, steps, batch)
    return np.resize(epoch, int(count))


def epoch_steps(sizes: Ints, batch: int | None) -> Ints:
    """Return the mini-batches [n] of an epoch; the last one may be short."""
    return -(-sizes // full_batch(sizes, batch))


def full_batch(sizes: Ints, batch: int | None) -> Ints:
    """Return the samples [n] of a full mini-batch: at most all that a device with `sizes` [n] samples holds."""
    if batch is None:
        return sizes
    return np.minimum(sizes, batch)
