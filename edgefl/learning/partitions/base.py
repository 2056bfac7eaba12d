"""What a partition is: which device holds which training samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from edgefl.core.arrays import Bools, Floats, Indices
from edgefl.core.catalogue import Member
from edgefl.core.errors import InputError

T = TypeVar("T")

DRAWS = 2000  # before a draw that has to meet a condition is given up


class Marks(NamedTuple):
    """What partitions know of samples [n]."""

    labels: Indices  # [n] class of each
    owner: Indices | None = None  # [n] whose it is, from 0; None where samples have no owners


class Partition(Member):
    """Base of all partitions."""

    groups: ClassVar[int] = 1  # of devices of consecutive ids, which take turns where there are sessions

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Sample numbers of each of `count` devices, none empty, disjoint unless the partition says otherwise.

        Args:
            labels: [n] class of each training sample.
            count: number of devices.
            rng: a generator of the partition's own.

        Raises:
            InputError: the samples cannot be divided so.
        """
        raise NotImplementedError

    def assign(self, labels: Indices, owner: Indices | None, count: int, rng: np.random.Generator) -> list[Indices]:
        """As `split`, for samples that may have owners: `owner` [n] from 0, or None."""
        return self.split(labels, count, rng)

    def assign_test(self, train: Marks, parts: list[Indices], test: Marks, rng: np.random.Generator) -> list[Indices]:
        """Test samples of each device, like the training samples `parts` that it has; some may get none."""
        return like(train.labels, parts, test.labels, rng)


def like(labels: Indices, parts: list[Indices], others: Indices, rng: np.random.Generator) -> list[Indices]:
    """Other samples divided as some are: a device gets of each class the part that it has of that class already.

    A class's samples are shuffled and cut at the devices' shares, added up and rounded: everybody has what is due to
    one sample. What nobody has of a class stays unused; what several devices have in full they get in full (the cuts
    go on from the class's beginning).

    Args:
        labels: [n] class of each sample that is divided already.
        parts: [devices] their numbers.
        others: [m] class of each sample that is to be divided.
        rng: for the shuffles.
    """
    sizes = [len(part) for part in parts]
    device, label = np.repeat(np.arange(len(parts)), sizes), labels[np.concatenate(parts)]
    given: list[list[Indices]] = [[] for _ in parts]
    for value, pool in zip(np.unique(others), by_class(others, rng), strict=True):
        held, total = np.bincount(device[label == value], minlength=len(parts)), int((labels == value).sum())
        ends = (2 * np.cumsum(held) * len(pool) + total) // max(2 * total, 1)
        for part, cut in zip(given, np.split(np.resize(pool, ends[-1]), ends[:-1]), strict=True):
            part.append(cut)
    return [np.concatenate(part) for part in given]


def keep(parts: list[Indices], shares: Floats, rng: Callable[[int], np.random.Generator]) -> list[Indices]:
    """What devices have left if each keeps at random a share of its samples: to the nearest sample, at least one.

    A greater share keeps what a smaller one does, too. The samples stay in their order.

    Args:
        parts: [devices] their samples.
        shares: [devices] in (0, 1].
        rng: a generator of each device's own.

    Raises:
        InputError: shares below 1 leave everybody all they have.
    """
    sizes = np.array([len(part) for part in parts])
    left = np.maximum(np.floor(shares * sizes + 0.5).astype(np.int64), 1)
    if (shares < 1).any() and (left == sizes).all():
        raise InputError("devices.data_share: devices have so few samples that none would do without one: leave it out")
    fewer = np.flatnonzero(left < sizes).tolist()
    kept = {device: np.sort(rng(device).permutation(sizes[device])[: left[device]]) for device in fewer}
    return [part[kept[device]] if device in kept else part for device, part in enumerate(parts)]


def quotas(samples: int, count: int) -> Indices:
    """Equal sizes [count] that add up to `samples`; the first devices get one more where it does not divide.

    Raises:
        InputError: more devices than samples.
    """
    if count > samples:
        raise InputError(f"devices.count: {count} devices cannot share {samples} training samples: one each at least")
    return evenly(samples, count)


def evenly(samples: int, count: int) -> Indices:
    """As `quotas`, where some may get nothing."""
    sizes = np.full(count, samples // count, dtype=np.int64)
    sizes[: samples % count] += 1
    return sizes


def apportion(weights: Floats, samples: int) -> Indices:
    """Sizes [count] that add up to `samples`: one each, the rest by weight, the largest remainders rounded up.

    Raises:
        InputError: more devices than samples.
    """
    rest = samples - len(quotas(samples, len(weights)))
    ideal = rest * (weights / weights.sum())
    sizes: Indices = np.floor(ideal).astype(np.int64)
    sizes[np.argsort(sizes - ideal, kind="stable")[: rest - sizes.sum()]] += 1
    sizes += 1
    return sizes


def shares(alpha: float, among: Bools, rng: np.random.Generator) -> Floats:
    """Dirichlet(alpha) shares [count], only those of `among` [count] kept; equal ones where nothing is left."""
    drawn = rng.dirichlet(np.full(len(among), alpha)) * among
    weights = drawn if drawn.sum() > 0 else among.astype(np.float64)
    return np.asarray(weights / weights.sum())


def by_class(labels: Indices, rng: np.random.Generator | None = None) -> list[Indices]:
    """Sample numbers of each class that occurs, in the order of the labels; shuffled inside a class by `rng`."""
    classes, inverse = np.unique(labels, return_inverse=True)
    pools = [np.flatnonzero(inverse == place) for place in range(len(classes))]
    return pools if rng is None else [rng.permutation(pool) for pool in pools]


def deal(pools: list[Indices], table: Indices) -> list[Indices]:
    """The parts of each device by a table [class, device] of how many samples it gets; from each class in turn.

    Args:
        pools: sample numbers of each class; what the table does not ask for stays unused.
        table: each row adds up to at most the size of its pool.

    Raises:
        InputError: a device would get nothing.
    """
    empty = np.flatnonzero(table.sum(axis=0) == 0)
    if empty.size:
        raise InputError(
            f"devices.count: {table.shape[1]} devices are too many for this: {empty.size} would get nothing"
        )
    cuts = [np.split(pool, np.cumsum(row))[:-1] for pool, row in zip(pools, table, strict=True)]
    return [np.concatenate(part) for part in zip(*cuts, strict=True)]


def whole(value: float) -> int:
    """The integer part, of 0.29 * 100 too."""
    return int(value + 1e-9)


def first_success(draw: Callable[[], T | None], complaint: str, most: int = DRAWS) -> T:
    """The first of at most `most` draws that is not None.

    Raises:
        InputError: none was.
    """
    for _ in range(most):
        if (drawn := draw()) is not None:
            return drawn
    raise InputError(f"{complaint} ({most} draws)")


def holdings(labels: Indices, parts: list[Indices]) -> dict[str, list[int]]:
    """How many samples of each label each device holds, as columns device, label, samples; without zeros."""
    device = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    span = int(labels.max()) + 1
    pairs, samples = np.unique(device * span + labels[np.concatenate(parts)], return_counts=True)
    return {"device": (pairs // span).tolist(), "label": (pairs % span).tolist(), "samples": samples.tolist()}
