"""The local work of each device in a round: all of it, or part if the device is a straggler."""

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats, Ids, Ints
from edgefl.core.streams import Streams
from edgefl.learning.training_section import LocalWork, Training


@dataclass(frozen=True)
class PlannedWork:
    """Optimiser steps of devices that do all their work."""

    training: Training
    sizes: Ints  # [devices] samples that each device holds
    _: KW_ONLY
    same_steps: bool = False  # whether all take the steps of a device with the mean number of samples

    @cached_property
    def work(self) -> LocalWork:
        """The local work of a device without variations."""
        return local_work(self.training, self.sizes, same_steps=self.same_steps)

    def planned_steps(self, ids: Ids, index: npt.ArrayLike, sizes: Ints | None = None) -> Floats:
        """Return the steps [n] of the whole work of the devices `ids` [n] in round `index`, or in a round for each [n].

        They have `sizes` [n] samples in this round; None: all that they hold. Rounds count from 0.
        """
        sizes = self._held(ids, sizes)
        if not self.training.variations:
            return local_steps(sizes, *self.work)
        steps = np.empty(len(ids))
        for training, rows in self.training.by_setting(ids, index):
            steps[rows] = local_steps(sizes[rows], *local_work(training, self.sizes, same_steps=self.same_steps))
        return steps

    def samples(self, ids: Ids, index: npt.ArrayLike, steps: Floats, sizes: Ints | None = None) -> Floats:
        """Return the samples [n] that the devices process in `steps` [n]; other arguments as in `planned_steps`."""
        sizes = self._held(ids, sizes)
        samples = np.empty(len(ids))
        for training, rows in self.training.by_setting(ids, index):
            samples[rows] = samples_in(steps[rows], sizes[rows], training.work.batch_size)
        return samples

    def batches(self, ids: Ids, index: npt.ArrayLike, sizes: Ints | None = None) -> Ints:
        """Return the samples [n] of the devices' full mini-batches; arguments as in `planned_steps`."""
        sizes = self._held(ids, sizes)
        full = np.empty(len(ids), dtype=np.int64)
        for training, rows in self.training.by_setting(ids, index):
            full[rows] = full_batch(sizes[rows], training.work.batch_size)
        return full

    def largest_batches(self) -> Ints:
        """Return the samples [devices] of each device's largest full mini-batch in any round."""
        ids = np.arange(len(self.sizes))
        first_rounds = {1, *(variation.from_round for variation in self.training.variations)}
        return np.asarray(np.max([self.batches(ids, number - 1) for number in first_rounds], axis=0), dtype=np.int64)

    def _held(self, ids: Ids, sizes: Ints | None) -> Ints:
        if sizes is None:
            return self.sizes[ids]
        return sizes


@dataclass(frozen=True)
class Workload(PlannedWork):
    """Optimiser steps of devices; with stragglers a function of (seed, device, round) (FedProx, section 5.2).

    Li et al., MLSys 2020, draw a fixed number of stragglers among a round's selected devices, and for each of them a
    uniform number of epochs. Here each device is a straggler with some probability, so that its work does not depend on
    the other participants.
    """

    streams: Streams

    def steps(self, ids: Ids, index: npt.ArrayLike, sizes: Ints | None = None) -> Floats:
        """Return the steps [n] that the devices take; arguments as in `planned_steps`."""
        all_steps = self.planned_steps(ids, index, sizes)
        if self.training.stragglers is None:
            return all_steps
        is_straggler, part = self._draw(ids, index)
        # If the scenario counts epochs, a straggler does a whole number of them, and at least one unit.
        unit: Ints | int = 1
        if self.training.local_steps is None:
            unit = -(-self._held(ids, sizes) // self.batches(ids, index, sizes))
        units = 1 + np.floor(part * (all_steps / unit))
        return np.where(is_straggler, np.minimum(unit * units, all_steps), all_steps)

    @cached_property
    def first_work(self) -> LocalWork | None:
        """The local work where only the part of `training.parts.first` trains; None without it."""
        return first_work(self.training, self.sizes, same_steps=self.same_steps)

    def first_steps(self, sizes: Ints, steps: Floats) -> Floats:
        """Return how many of the `steps` [n] that devices with `sizes` [n] samples take train only the first part."""
        return first_steps(self.first_work, sizes, steps)

    def dropped(self, device: int, index: int) -> bool:
        """Return whether the server ignores a device's update in round `index`, as the device is a straggler."""
        stragglers = self.training.stragglers
        if stragglers is None or stragglers.keep:
            return False
        is_straggler, _ = self._draw(np.array([device]), index)
        return bool(is_straggler[0])

    def _draw(self, ids: Ids, index: npt.ArrayLike) -> tuple[Bools, Floats]:
        """Return whether devices [n] are stragglers, and the part of its work that a straggler does, in (0, 1)."""
        rounds = np.broadcast_to(np.asarray(index), ids.shape)
        drawn = np.empty((len(ids), 2))
        # Asynchronous devices are in different rounds: one call draws for all devices of a round.
        for number in np.unique(rounds):
            in_round = rounds == number
            drawn[in_round] = self.streams.uniform("straggler", ids[in_round], int(number), 2)
        share = 0.0
        if self.training.stragglers is not None:
            share = self.training.stragglers.share
        return drawn[:, 0] < share, drawn[:, 1]


def local_work(training: Training, sizes: Ints, *, same_steps: bool) -> LocalWork:
    """Return the local work of devices with `sizes` [n] samples.

    With `same_steps` all take the steps of a device with the mean number of samples, rounded up.
    """
    return _of_mean_device(training.work, sizes, same_steps=same_steps)


def first_work(training: Training, sizes: Ints, *, same_steps: bool) -> LocalWork | None:
    """Return the part of `local_work` where only the part of `training.parts.first` trains; None without it."""
    if training.parts is None or training.parts.first is None:
        return None
    first = training.parts.first
    work = LocalWork(first.epochs, first.steps, training.work.batch_size)
    return _of_mean_device(work, sizes, same_steps=same_steps)


def first_steps(first: LocalWork | None, sizes: Ints, steps: Floats) -> Floats:
    """Return how many of the `steps` [n] are in the `first_work` of devices with `sizes` [n] samples."""
    if first is None:
        return np.zeros(len(sizes))
    return np.minimum(local_steps(sizes, *first), steps)


def _of_mean_device(work: LocalWork, sizes: Ints, *, same_steps: bool) -> LocalWork:
    if not same_steps:
        return work
    mean_size = -(-sizes.sum() // len(sizes))
    (steps,) = local_steps(np.array([mean_size]), *work)
    return LocalWork(None, int(steps), work.batch_size)


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

    They take some `epochs` over their data, or `steps` of mini-batches: after the last batch of a pass, which may be
    short, the next pass begins. A `batch` of None has all local data.
    """
    return samples_in(local_steps(sizes, epochs, steps, batch), sizes, batch)


def samples_in(steps: Floats, sizes: Ints, batch: int | None) -> Floats:
    """Return the samples [n] that devices with `sizes` [n] samples process in `steps` [n], pass after pass."""
    per_epoch = epoch_steps(sizes, batch)
    # Only a complete pass reaches the short batch at its end: all batches of the last, incomplete one are full.
    return np.asarray((steps // per_epoch) * sizes + (steps % per_epoch) * full_batch(sizes, batch))


def batch_sizes(size: int, epochs: int | None, steps: int | None, batch: int | None) -> Ints:
    """Return the numbers [K] of samples in one device's mini-batches of a round; arguments as in `local_samples`."""
    of_device = np.array([size])
    (batch_size,) = full_batch(of_device, batch)
    (per_epoch,) = epoch_steps(of_device, batch)
    epoch = np.full(per_epoch, batch_size, dtype=np.int64)
    epoch[-1] = size - batch_size * (per_epoch - 1)  # the last batch has what is left
    (count,) = local_steps(of_device, epochs, steps, batch)
    return np.resize(epoch, int(count))


def epoch_steps(sizes: Ints, batch: int | None) -> Ints:
    """Return the number of mini-batches [n] in an epoch; the last one may be short."""
    return -(-sizes // full_batch(sizes, batch))


def full_batch(sizes: Ints, batch: int | None) -> Ints:
    """Return the number of samples [n] in a full mini-batch: `batch`, but no more than a device's `sizes` [n]."""
    if batch is None:
        return sizes
    return np.minimum(sizes, batch)
