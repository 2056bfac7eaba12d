"""The data of a run: a dataset, divided among the devices."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Indices
from edgefl.core.errors import InputError
from edgefl.core.per_device import DATA_SHARE
from edgefl.core.returns import ANYTHING, called, watching_draws
from edgefl.core.streams import Streams
from edgefl.learning.concepts import Concepts
from edgefl.learning.datasets import Data
from edgefl.learning.partitions import PARTITIONS, Partition
from edgefl.learning.partitions.base import Labelled, check_parts, dividing_hook, keep, part_sizes, renumbered
from edgefl.learning.redivision import Redivision
from edgefl.records.ledger import Columns
from edgefl.scenario import Scenario


class Divided(NamedTuple):
    """A dataset, and the samples that each device holds."""

    data: Data
    parts: Sequence[Indices]  # [devices] the training samples of each device
    test_parts: Sequence[Indices] | None = None  # [devices] the test samples of each device; None: not divided
    validation: Indices | None = None  # [n] the training samples that are held out, ascending; None: there are none
    redivision: Redivision | None = None  # divides the participants' samples again each round; None: they keep them
    concepts: Concepts | None = None  # the data after each change of `data.drift`; None: they do not change

    @property
    def stored(self) -> Data:
        """The samples of all concepts; those of the dataset if data do not change."""
        return self.data if self.concepts is None else self.concepts.stored

    @property
    def compared_by(self) -> str:
        """The column of rounds.csv to compare the run's models by, unless the scenario names another."""
        evaluated_on = "test" if self.validation is None else "validation"
        quantity = "accuracy" if self.data.classes else "loss"
        return f"{evaluated_on}_{quantity}"

    @property
    def own_parts(self) -> Sequence[Indices]:
        """The samples [devices] on which each device's accuracy is measured."""
        return self.parts if self.test_parts is None else self.test_parts


def divide(scenario: Scenario) -> Divided:
    """Load the data and divide them among the devices.

    Raises:
        InputError: the dataset does not exist, or cannot be divided as the scenario demands.
    """
    section = scenario.data
    streams = Streams(scenario.seed)
    data = section.load()
    labels = data.train_y
    test_labels = data.test_y
    if data.regression or data.several_labels:
        _check_classes("data.partition", section.partition)
        if section.redivide is not None:
            _check_classes("data.redivide", section.redivide)
        # Partitions only need their number, and a test set is divided like samples of a single class.
        labels = np.zeros(len(labels), dtype=np.int64)
        test_labels = np.zeros(len(test_labels), dtype=np.int64)
    validation = None
    if section.validation_share is not None:
        validation = _held_out(section.validation_share, len(labels), streams)
    parts = _parts(scenario, labels, data.owner, validation, streams)
    share = scenario.devices.draw("data_share", DATA_SHARE, streams)
    parts = keep(parts, share, partial(streams.generator, "data_share"))
    redivision = None
    if section.redivide is not None:
        redivision = Redivision(section.redivide, labels, parts, streams)
    if section.test_partition == "none":
        return _with_concepts(scenario, Divided(data, parts, validation=validation, redivision=redivision))
    if not data.classes and not data.regression:
        raise InputError("data.test_partition: like_train needs samples with labels: leave it out")
    train = Labelled(labels, data.owner)
    test = Labelled(test_labels, data.test_owner)
    test_parts = _test_parts(section.partition, train, parts, test, validation, streams)
    return _with_concepts(scenario, Divided(data, parts, test_parts, validation, redivision))


def _with_concepts(scenario: Scenario, divided: Divided) -> Divided:
    drift = scenario.data.drift
    if drift is None:
        return divided
    concepts = Concepts(drift, divided.data, divided.parts, divided.test_parts, Streams(scenario.seed))
    return divided._replace(data=concepts.first, concepts=concepts)


def _check_classes(key: str, partition: Partition) -> None:
    """Check that a partition, the value of `key`, divides samples that do not have one class each."""
    if reason := partition.check_classes():
        raise InputError(f"{key}: {PARTITIONS.name_of(partition)} {reason}")


def _held_out(share: float, samples: int, streams: Streams) -> Indices:
    count = min(max(round(share * samples), 1), samples - 1)
    if count < 1:
        raise InputError(f"data.validation_share: needs 2 training samples at least, the data have {samples}")
    # A greater share holds out all that a smaller one does.
    return np.sort(streams.generator("validation").permutation(samples)[:count])


def _parts(
    scenario: Scenario, labels: Indices, owner: Indices | None, held_out: Indices | None, streams: Streams
) -> Sequence[Indices]:
    partition = scenario.data.partition
    rng = streams.generator("partition")
    remaining = None
    samples = Labelled(labels, owner)
    if held_out is not None and partition.of_parts:
        remaining = np.delete(np.arange(len(labels)), held_out)
        samples = samples.some(remaining)
        if len(remaining) < scenario.devices.count <= len(remaining) + len(held_out):
            text = f"leaves {len(remaining)} of the training samples for {scenario.devices.count} devices"
            raise InputError(f"data.validation_share: {text}: set it to a lower share")
    with watching_draws(partition, dividing_hook(partition)):
        parts = partition.assign(samples.labels, samples.owner, scenario.devices.count, rng)
    check_parts(partition, parts, scenario.devices.count, len(samples.labels))
    if held_out is None:
        return parts
    if remaining is not None:
        return renumbered(parts, remaining)
    # Such a partition names samples or their owners: each device loses those of its samples that are held out.
    parts = [part[~np.isin(part, held_out)] for part in parts]
    empty = [device for device, part in enumerate(parts) if not len(part)]
    if empty:
        text = f"leaves device {empty[0]} without samples"
        if len(empty) > 1:
            text = f"leaves {len(empty)} devices without samples, the first of them device {empty[0]}"
        remedy = "set it to a lower share, or leave out the owners of so few samples"
        raise InputError(f"data.validation_share: {text}: {remedy}")
    return parts


def _test_parts(
    partition: Partition,
    train: Labelled,
    parts: Sequence[Indices],
    test: Labelled,
    held_out: Indices | None,
    streams: Streams,
) -> Sequence[Indices]:
    if held_out is not None:
        divided = np.ones(len(train.labels), dtype=bool)
        divided[held_out] = False
        train = train.some(np.flatnonzero(divided))
        parts = renumbered(parts, np.cumsum(divided) - 1)
    rng = streams.generator("test_partition")
    return called(partition.assign_test, ANYTHING, train, parts, test, rng)


def accuracy_columns(accuracies: Floats, own_parts: Sequence[Indices]) -> Columns:
    """Return the columns of device_accuracy.csv given accuracies [n] of devices with `own_parts` of samples."""
    samples = part_sizes(own_parts)
    ids = np.flatnonzero(samples)
    return {"device": ids.tolist(), "samples": samples[ids].tolist(), "accuracy": accuracies.tolist()}
