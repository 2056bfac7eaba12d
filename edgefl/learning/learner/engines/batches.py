"""The samples of each local step of a device: a function of (seed, device, round)."""

from collections.abc import Callable, Sequence

import numpy as np

from edgefl.core.arrays import Floats, Indices, Ints
from edgefl.learning.training_section import Training
from edgefl.learning.workload import local_steps

PAD = -1


def mini_batches(
    samples: Indices, training: Training, rng: Callable[[], np.random.Generator], steps: int | None = None
) -> Indices:
    """Return the mini-batches [K, B] of one device in one round; a short last batch of an epoch is filled up with PAD.

    Every epoch is shuffled again. With `local_steps` another epoch follows; without `wrap` training ends after the
    first.

    Args:
        samples: [n] numbers of the device's samples.
        training: the scenario's section.
        rng: makes the device's generator for this round, if one is needed.
        steps: of a straggler; None: all local work.
    """
    count = len(samples)
    size = _batch_size(count, training)
    batches_per_epoch = -(-count // size)
    if steps is None:
        steps = int(local_steps(np.array([count]), *training.work)[0])
    if batches_per_epoch == 1:  # not shuffled: a full batch has no order, and one gather then serves all steps
        return np.repeat(samples[None], steps, axis=0)
    epochs = -(-steps // batches_per_epoch)
    generator = rng()  # only now: full batches draw nothing
    order = np.full((epochs, batches_per_epoch * size), PAD, dtype=np.int64)
    for epoch in order:
        epoch[:count] = generator.permutation(samples)
    return order.reshape(-1, size)[:steps]


def one_pass(samples: Indices, training: Training) -> Indices:
    """Return all samples of a device once, in order, in mini-batches [k, B]; the last one is filled up with PAD."""
    size = _batch_size(len(samples), training)
    order = np.full(-(-len(samples) // size) * size, PAD, dtype=np.int64)
    order[: len(samples)] = samples
    return order.reshape(-1, size)


def _batch_size(count: int, training: Training) -> int:
    if training.batch_size == "full":
        return count
    return min(training.batch_size, count)


def paired(batches: Indices) -> Indices:
    """Return the same mini-batches [K, B], without batches of a single sample, which torch refuses to normalise.

    The first sample of all joins a single sample, such as the last one of an epoch; a device's only sample is doubled.
    """
    if batches.shape[1] == 1:
        return np.repeat(batches, 2, axis=1)
    is_single = (batches != PAD).sum(axis=1) == 1
    second = np.where(is_single, batches[0, 0], batches[:, 1])
    return np.concatenate([batches[:, :1], second[:, None], batches[:, 2:]], axis=1)


def sample_weights(batches: Indices, weight: Floats | Ints | None) -> Floats | Ints:
    """Return the weights of the samples of mini-batches [..., B]: 0 for padding, else 1 or `weight` [n].

    A sample's weight in the loss of its mini-batch is its part of their sum.
    """
    is_sample = batches != PAD
    weights: Floats | Ints = is_sample.astype(np.int64)
    if weight is not None:
        weights = weights * weight[batches]
    return weights


def shares(batches: Indices, weight: Floats | Ints | None) -> Floats:
    """Return the share [C, K] of each mini-batch [C, K, B] in its client's weights, see `sample_weights`."""
    sums = sample_weights(batches, weight).sum(axis=2)
    totals = sums.sum(axis=1, keepdims=True)
    return np.asarray(sums / np.where(totals > 0, totals, 1))


def stack(batches: Sequence[Indices]) -> Indices:
    """Return batches [K_i, B_i, ...] of several devices as one array [C, K, B, ...], padded to the largest K and B."""
    steps, size = np.max([batch.shape[:2] for batch in batches], axis=0)
    stacked = np.full((len(batches), steps, size, *batches[0].shape[2:]), PAD, dtype=np.int64)
    for row, batch in zip(stacked, batches, strict=True):
        row[: batch.shape[0], : batch.shape[1]] = batch
    return stacked
