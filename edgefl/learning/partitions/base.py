"""The base of partitions, and the arithmetic that they share.

A partition says which device holds which training samples. To write one: a file with a subclass of `Partition` whose
`split` returns the sample numbers of each device, a line in `members.csv`, and a test. The fields of the class are its
keys in the scenario.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple, TypeVar, overload

import numpy as np

from edgefl.core.arrays import Bools, Floats, Indices
from edgefl.core.catalogue import Member
from edgefl.core.errors import InputError
from edgefl.core.returns import Array, Instance, check, is_trusted, wrong

Drawn = TypeVar("Drawn")

MAX_DRAWS = 2000  # a draw that has to meet a condition is given up after so many attempts
NOT_ONE_CLASS = "these samples have numbers or several labels each, not one class"
ROUNDING = 1e-9  # a product this close below an integer counts as that integer


class Labelled(NamedTuple):
    """The labels and owners of samples [n]: all that a partition knows of them."""

    labels: Indices  # [n] the class of each
    owner: Indices | None = None  # [n] the owner of each, from 0; None where samples have no owners

    def some(self, numbers: Indices) -> "Labelled":
        """Return the samples of these numbers [m]."""
        if self.owner is None:
            return Labelled(self.labels[numbers])
        return Labelled(self.labels[numbers], self.owner[numbers])


class Pieces(Sequence[Indices]):
    """Parts that are consecutive pieces of one array, without a million objects for a million devices.

    The `order` [n] has the samples device after device, each once; `ends` [devices] says where each device's piece
    ends.
    """

    def __init__(self, order: Indices, ends: Indices) -> None:
        self.order = order
        self._borders = np.concatenate([[0], ends])

    def __len__(self) -> int:
        return len(self._borders) - 1

    @overload
    def __getitem__(self, device: int) -> Indices: ...

    @overload
    def __getitem__(self, device: slice) -> list[Indices]: ...

    def __getitem__(self, device: int | slice) -> Indices | list[Indices]:
        numbers = range(len(self))[device]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return self.order[self._borders[numbers] : self._borders[numbers + 1]]

    def __iter__(self) -> Iterator[Indices]:
        for begin, end in pairwise(self._borders.tolist()):
            yield self.order[begin:end]

    @property
    def sizes(self) -> Indices:
        """The number of samples [devices] that each device holds."""
        return np.diff(self._borders)


class Partition(Member):
    """Base of all partitions."""

    by_labels: ClassVar[bool] = True  # looks at labels; False: takes samples that have no classes, too
    of_parts: ClassVar[bool] = True  # can divide a part of the training set; False: it names samples, or their owners
    groups: ClassVar[int] = 1  # groups of devices with consecutive ids, which alternate from session to session

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> Sequence[Indices]:
        """Return the sample numbers of each device: no list empty, all disjoint unless the partition says otherwise.

        Args:
            labels: [n] class of each training sample.
            count: number of devices.
            rng: the partition's generator.

        Raises:
            InputError: the samples cannot be divided this way.
        """
        raise NotImplementedError

    def check_classes(self) -> str | None:
        """Return why samples that do not have one class each cannot be divided this way; None if they can."""
        if self.by_labels:
            return f"divides by classes, and {NOT_ONE_CLASS}: set it to iid, quantity_skew, natural or file"
        return None

    def assign(self, labels: Indices, owner: Indices | None, count: int, rng: np.random.Generator) -> Sequence[Indices]:
        """Return the same as `split`, for samples that may have owners: `owner` [n] from 0, or None."""
        return self.split(labels, count, rng)  # most partitions do not look at owners

    def assign_test(
        self, train: Labelled, parts: Sequence[Indices], test: Labelled, rng: np.random.Generator
    ) -> list[Indices]:
        """Return the test samples of each device, distributed like its training samples `parts`; some may get none."""
        return divide_alike(train.labels, parts, test.labels, rng)


def check_parts(partition: Partition, parts: Sequence[Indices], count: int, samples: int) -> None:
    """Check that a partition from outside has returned a list of samples for each device.

    Raises:
        WrongReturn: a device does not get a list of samples.
    """
    if is_trusted(partition):
        return
    hook = dividing_hook(partition)
    what = f"numbers of samples from 0 to {samples - 1} for each device"
    must = Array((None,), what, least=0, most=samples - 1, whole=True)
    check(partition, hook, parts, Instance(Sequence, "a list of arrays, one for each device"))
    if len(parts) != count:
        raise wrong(partition, hook, f"{len(parts)} arrays", f"one for each of {count} devices")
    for device, part in enumerate(parts):
        check(partition, hook, part, must)
        if not len(part):
            raise wrong(partition, hook, f"no sample for device {device}", "at least one for each device")


def joined(parts: Sequence[Indices]) -> Indices:
    """Return the sample numbers of all devices, device after device."""
    if isinstance(parts, Pieces):
        return parts.order
    return np.concatenate(parts)


def part_sizes(parts: Sequence[Indices]) -> Indices:
    """Return how many samples [devices] each device holds."""
    if isinstance(parts, Pieces):
        return parts.sizes
    return np.array([len(part) for part in parts], dtype=np.int64)


def renumbered(parts: Sequence[Indices], numbers: Indices) -> Sequence[Indices]:
    """Return parts whose samples, places in `numbers` [n], are named by these numbers."""
    if isinstance(parts, Pieces):
        return Pieces(numbers[parts.order], np.cumsum(parts.sizes))
    return [numbers[part] for part in parts]


def dividing_hook(partition: Partition) -> str:
    """Return the name of a partition's method that divides the samples."""
    # The class of a member that was not imported has no such method.
    if getattr(type(partition), "assign", None) is Partition.assign:
        return "split"  # which the inherited method calls
    return "assign"


def divide_alike(labels: Indices, parts: Sequence[Indices], others: Indices, rng: np.random.Generator) -> list[Indices]:
    """Divide other samples as these are divided: a device gets the fraction of each class that it already holds.

    The samples of a class are shuffled and cut at the rounded cumulative fractions of the devices, so that no device is
    off by more than one sample. Samples of a class that no device holds stay unused. If several devices hold all
    samples of a class (overlapping partitions), each gets all of the others, too: the cuts start again at the beginning
    of the class.

    Args:
        labels: [n] class of each sample that is divided already.
        parts: [devices] the numbers of those samples.
        others: [m] class of each sample to divide.
        rng: for the shuffles.

    Returns:
        [devices] the numbers of the other samples.
    """
    # One entry for each sample that some device holds: the device, and the sample's class.
    device = np.repeat(np.arange(len(parts)), part_sizes(parts))
    label = labels[joined(parts)]
    given: list[list[Indices]] = [[] for _ in parts]
    for value, pool in zip(np.unique(others), by_class(others, rng), strict=True):
        held = np.bincount(device[label == value], minlength=len(parts))
        total = int((labels == value).sum())
        # Integer arithmetic rounds cumulative fractions to the nearest sample without any floating-point error.
        ends = (2 * np.cumsum(held) * len(pool) + total) // max(2 * total, 1)
        repeated = np.resize(pool, ends[-1])  # goes round where devices hold a class several times over
        for part, cut in zip(given, np.split(repeated, ends[:-1]), strict=True):
            part.append(cut)
    return [np.concatenate(part) for part in given]


def keep(parts: Sequence[Indices], shares: Floats, rng: Callable[[int], np.random.Generator]) -> Sequence[Indices]:
    """Return the samples of devices after each has kept a random share in (0, 1] of its own, rounded, at least one.

    A device keeps with a greater share all that it keeps with a smaller one. Samples stay in their order.

    Raises:
        InputError: there are shares below 1, but no device holds enough samples to lose one.
    """
    sizes = part_sizes(parts)
    left = np.maximum(np.floor(shares * sizes + 0.5).astype(np.int64), 1)
    if (shares < 1).any() and (left == sizes).all():
        raise InputError(
            "devices.data_share: every device has so few samples that it keeps all of them: leave the key out, "
            "or lower devices.count"
        )
    losing = np.flatnonzero(left < sizes).tolist()  # those that keep all need no draw
    if not losing:
        return parts
    remaining = list(parts)
    for device in losing:
        # The first entries of one permutation: a greater share then includes what a smaller one keeps.
        order = rng(device).permutation(sizes[device])
        kept = np.sort(order[: left[device]])  # places in the part, ascending: samples stay in their order
        remaining[device] = parts[device][kept]
    return remaining


def check_count(samples: int, count: int) -> None:
    """Check that there is a sample for each device; raise an InputError if not.

    Partitions call it before they draw anything for each device, as millions of devices take long.
    """
    if count > samples:
        raise InputError(f"devices.count: {count} devices cannot share {samples} training samples: one each at least")


def quotas(samples: int, count: int) -> Indices:
    """Return equal sizes [count] that add up to `samples`, or one more for the first devices; see `check_count`."""
    check_count(samples, count)
    return evenly(samples, count)


def evenly(samples: int, count: int) -> Indices:
    """Return the same as `quotas`, but some devices may get nothing."""
    sizes = np.full(count, samples // count, dtype=np.int64)
    sizes[: samples % count] += 1
    return sizes


def apportion(weights: Floats, samples: int) -> Indices:
    """Return sizes [count] that add up to `samples`: one for each device, the rest by weight [count].

    Fractions are rounded by the largest remainders (Hamilton's method).
    """
    rest = samples - len(quotas(samples, len(weights)))
    ideal = rest * (weights / weights.sum())
    sizes: Indices = np.floor(ideal).astype(np.int64)
    missing = rest - sizes.sum()
    largest_remainders = np.argsort(sizes - ideal, kind="stable")[:missing]  # stable: of equal ones the first device
    sizes[largest_remainders] += 1
    sizes += 1
    return sizes


def shares(alpha: float, among: Bools, rng: np.random.Generator) -> Floats:
    """Return Dirichlet(alpha) shares [count] of the devices of `among` [count]; 0 for the others.

    If all of them drew 0 (a tiny alpha underflows), their shares are equal.
    """
    # All devices draw, and some are left out: the rest, scaled up, is Dirichlet(alpha) again.
    drawn = rng.dirichlet(np.full(len(among), alpha)) * among
    if drawn.sum() == 0:
        drawn = among.astype(np.float64)
    return np.asarray(drawn / drawn.sum())


def by_class(labels: Indices, rng: np.random.Generator | None = None) -> list[Indices]:
    """Return the sample numbers of each class that occurs, in the order of the labels; `rng` shuffles each class."""
    # Labels that do not occur get no pool, so classes count without gaps here.
    classes, inverse = np.unique(labels, return_inverse=True)
    pools = [np.flatnonzero(inverse == position) for position in range(len(classes))]
    if rng is None:
        return pools
    return [rng.permutation(pool) for pool in pools]


def deal(pools: list[Indices], table: Indices) -> list[Indices]:
    """Return the samples of each device, given how many it gets of each class.

    Samples of the `pools` of each class beyond its row in the `table` [class, device] stay unused. Raises an InputError
    if a device would get nothing.
    """
    empty = np.flatnonzero(table.sum(axis=0) == 0)
    if empty.size:
        raise InputError(
            f"devices.count: {table.shape[1]} devices are too many for this partition: {empty.size} would get nothing"
        )
    hands: list[list[Indices]] = [[] for _ in range(table.shape[1])]
    for pool, row in zip(pools, table, strict=True):
        # The last piece is what the table does not ask for.
        for hand, cut in zip(hands, np.split(pool, np.cumsum(row))[:-1], strict=True):
            hand.append(cut)
    return [np.concatenate(hand) for hand in hands]


def whole(value: float) -> int:
    """Return the integer part; 0.29 * 100, which is just below 29 in floating point, counts as 29."""
    return int(value + ROUNDING)


def first_success(draw: Callable[[], Drawn | None], complaint: str, most: int = MAX_DRAWS) -> Drawn:
    """Return the first draw that is not None, of at most `most`; raise an InputError with the complaint if all were.

    Raises:
        InputError: all draws were None; the message is the complaint.
    """
    for _ in range(most):
        drawn = draw()
        if drawn is not None:
            return drawn
    raise InputError(f"{complaint} ({most} draws)")


def holdings(labels: Indices, parts: Sequence[Indices]) -> dict[str, list[int]]:
    """Return how many samples of each label each device holds: columns device, label, samples; no row for zero."""
    device = np.repeat(np.arange(len(parts)), part_sizes(parts))
    classes = int(labels.max()) + 1
    # One number per (device, label) pair, so that a single `unique` counts all pairs.
    pairs, samples = np.unique(device * classes + labels[joined(parts)], return_counts=True)
    return {"device": (pairs // classes).tolist(), "label": (pairs % classes).tolist(), "samples": samples.tolist()}
