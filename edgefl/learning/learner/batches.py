"""Which samples a device trains on in which step: a function of (seed, device, round) and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Indices
from edgefl.learning.training_section import Training
from edgefl.learning.workload import local_steps

PAD = -1


def mini_batches(
    samples: Indices, training: Training, rng: Callable[[], np.random.Generator], steps: int | None = None
) -> Indices:
    """The mini-batches [K, B] of one device in one round; a short last batch of an epoch is filled up with PAD.

    Every epoch is a new shuffle. `local_steps` wraps: after the last batch of an epoch the next epoch begins; or stops
    there, without `wrap` (algorithm cards, section 0.2).

    Args:
        samples: [n] numbers of the device's samples.
        training: the scenario's section.
        rng: makes the device's generator for this round, where one is needed.
        steps: how many of them, where it is not all that is asked of the device.
    """
    size = len(samples) if training.batch_size == "full" else min(training.batch_size, len(samples))
    per_epoch = -(-len(samples) // size)
    if steps is None:
        steps = int(local_steps(np.array([len(samples)]), *training.work)[0])
    epochs = -(-steps // per_epoch)
    if per_epoch == 1:  # all samples at once have no order, so that one gather serves all steps
        return np.repeat(samples[None], steps, axis=0)
    generator, order = rng(), np.full((epochs, per_epoch * size), PAD, dtype=np.int64)
    for row in order:
        row[: len(samples)] = generator.permutation(samples)
    return order.reshape(-1, size)[:steps]


def one_pass(samples: Indices, training: Training) -> Indices:
    """All samples of a device once, in mini-batches [k, B] in order, the last one filled up with PAD."""
    size = len(samples) if training.batch_size == "full" else min(training.batch_size, len(samples))
    order = np.full(-(-len(samples) // size) * size, PAD, dtype=np.int64)
    order[: len(samples)] = samples
    return order.reshape(-1, size)


def paired(batches: Indices) -> Indices:
    """The same mini-batches [K, B], but none has a single sample, as batch normalisation needs two.

    Such a batch, the last of an epoch, gets the first sample of all besides; a device's only sample is there twice.
    """
    if batches.shape[1] == 1:
        return np.repeat(batches, 2, axis=1)
    single = (batches != PAD).sum(axis=1) == 1
    return np.concatenate(
        [batches[:, :1], np.where(single, batches[0, 0], batches[:, 1])[:, None], batches[:, 2:]], axis=1
    )


def shares(batches: Indices) -> npt.NDArray[np.float64]:
    """Of all samples in a client's mini-batches [C, K, B], the share that each holds [C, K]."""
    sizes = (batches != PAD).sum(axis=2)
    return np.asarray(sizes / sizes.sum(axis=1, keepdims=True))


def stack(batches: Sequence[Indices]) -> Indices:
    """Batches [K_i, B_i, ...] of several devices as one array [C, K, B, ...], padded to the largest K and B."""
    steps, size = np.max([batch.shape[:2] for batch in batches], axis=0)
    stacked = np.full((len(batches), steps, size, *batches[0].shape[2:]), PAD, dtype=np.int64)
    for row, batch in zip(stacked, batches, strict=True):
        row[: batch.shape[0], : batch.shape[1]] = batch
    return stacked
