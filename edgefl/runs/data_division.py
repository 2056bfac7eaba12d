"""The data of a run: a dataset, divided among the devices."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Indices
from edgefl.core.errors import InputError
from edgefl.core.global_draws import watching_draws
from edgefl.core.per_device import DATA_SHARE
from edgefl.core.streams import Streams
from edgefl.learning.datasets import Data
from edgefl.learning.partitions import PARTITIONS
from edgefl.learning.partitions.base import Labelled, check_parts, dividing_hook, keep, part_sizes
from edgefl.learning.redivision import Redivision
from edgefl.records.ledger import Columns
from edgefl.scenario import Scenario


class Divided(NamedTuple):
    """A dataset, and the samples that each device holds."""

    data: Data
    parts: Sequence[Indices]  # [devices] the training samples of each device
    test_parts: Sequence[Indices] | None = None  # [devices] the test samples of each device; None: not divided
    redivision: Redivision | None = None  # divides the participants' samples again each round; None: they keep them

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
        if reason := section.partition.check_classes():
            raise InputError(f"data.partition: {PARTITIONS.name_of(section.partition)} {reason}")
        if section.redivide is not None and (reason := section.redivide.check_classes()):
            raise InputError(f"data.redivide: {PARTITIONS.name_of(section.redivide)} {reason}")
        # Partitions only need their number, and a test set is divided like samples of a single class.
        labels = np.zeros(len(labels), dtype=np.int64)
        test_labels = np.zeros(len(test_labels), dtype=np.int64)
    partition = section.partition
    with watching_draws(partition, dividing_hook(partition)):
        parts = partition.assign(labels, data.owner, scenario.devices.count, streams.generator("partition"))
    check_parts(partition, parts, scenario.devices.count, len(labels))
    share = scenario.devices.draw("data_share", DATA_SHARE, streams)
    parts = keep(parts, share, partial(streams.generator, "data_share"))
    redivision = None
    if section.redivide is not None:
        redivision = Redivision(section.redivide, labels, parts, streams)
    if section.test_partition == "none":
        return Divided(data, parts, redivision=redivision)
    if not data.classes and not data.regression:
        raise InputError("data.test_partition: like_train needs samples with labels: leave it out")
    train = Labelled(labels, data.owner)
    test = Labelled(test_labels, data.test_owner)
    rng = streams.generator("test_partition")
    with watching_draws(partition, "assign_test"):
        test_parts = partition.assign_test(train, parts, test, rng)
    return Divided(data, parts, test_parts, redivision)


def accuracy_columns(accuracies: Floats, own_parts: Sequence[Indices]) -> Columns:
    """Return the columns of device_accuracy.csv; a device without samples has no row.

    Args:
        accuracies: [n] accuracies of the n devices with samples.
        own_parts: [devices] the samples of each device on which they are measured.
    """
    samples = part_sizes(own_parts)
    ids = np.flatnonzero(samples)
    return {"device": ids.tolist(), "samples": samples[ids].tolist(), "accuracy": accuracies.tolist()}
