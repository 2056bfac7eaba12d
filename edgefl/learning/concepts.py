"""Concepts: what the data look like before and after each change of `data.drift`, and who holds which of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from edgefl.core import returns
from edgefl.core.arrays import Indices, Ints
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.base import Array
from edgefl.learning.drifts import DRIFTS, Drift


class Concepts:
    """Holds the samples of all concepts, and returns which of them count after so many changes.

    A device begins with concept 0, which is the data as loaded. Its samples are those of the next concept whenever its
    data change. Samples have numbers: those of a set of n in concept c are c n to c n + n - 1.

    A sample that no device holds, because it is a test sample or held out, is seen by a device that is drawn for it,
    and changes with that device's data. Each device sees as many, give or take one.

    Args:
        drift: when data change, and how.
        data: concept 0.
        parts: [devices] the training samples that each device holds.
        test_parts: [devices] the test samples of each device, which sees these; None: the test set is not divided.
        streams: keyed randomness.

    Raises:
        InputError: the data cannot change in this way.
    """

    stored: Data  # the samples of all concepts, one concept after another

    def __init__(
        self,
        drift: Drift,
        data: Data,
        parts: Sequence[Indices],
        test_parts: Sequence[Indices] | None,
        streams: Streams,
    ) -> None:
        reason = drift.refusal(data)
        if data.ranked:
            reason = "has no meaning for test samples that are ranked: leave it out, or use another dataset"
        if reason is not None:
            raise InputError(f"data.drift: {DRIFTS.name_of(drift)} {reason}")
        self._parts = parts
        self._test_parts = test_parts
        devices = len(parts)
        self._held = _concepts_held(drift, devices, streams)
        self._train = len(data.train_y)
        self._test = len(data.test_y)
        self.stored = _all_concepts(drift, data, int(self._held.max()), streams)
        self._seen_by = streams.generator("drift_seen", 0).permutation(self._train) % devices
        self._test_seen_by = streams.generator("drift_seen", 1).permutation(self._test) % devices
        for device, part in enumerate(test_parts or ()):
            self._test_seen_by[part] = device

    @property
    def first(self) -> Data:
        """The samples of concept 0, without copies."""
        return replace(
            self.stored,
            train_x=self.stored.train_x[: self._train],
            train_y=self.stored.train_y[: self._train],
            test_x=self.stored.test_x[: self._test],
            test_y=self.stored.test_y[: self._test],
        )

    def part(self, device: int, changes: int) -> Indices:
        """Return the training samples [n] of a device after so many changes."""
        return np.asarray(self._parts[device] + self._held[changes, device] * self._train)

    def parts(self, changes: int) -> list[Indices]:
        """Return the training samples of each device [devices] after so many changes."""
        return [self.part(device, changes) for device in range(len(self._parts))]

    def test_parts(self, changes: int) -> list[Indices] | None:
        """Return the test samples of each device [devices] after so many changes; None if they are not divided."""
        if self._test_parts is None:
            return None
        first = (self._held[changes] * self._test).tolist()
        return [part + begin for part, begin in zip(self._test_parts, first, strict=True)]

    def tested(self, changes: int) -> Indices:
        """Return the test samples [m] after so many changes: each as the device has it that sees it."""
        return np.asarray(np.arange(self._test) + self._held[changes, self._test_seen_by] * self._test)

    def held_out(self, rows: Indices, changes: int) -> Indices:
        """Return training samples [n] that no device holds, given by their numbers in concept 0, after changes."""
        return np.asarray(rows + self._held[changes, self._seen_by[rows]] * self._train)


def _concepts_held(drift: Drift, devices: int, streams: Streams) -> Ints:
    """Return the number of the concept that each device holds before any change and after each: [changes + 1, devices].

    A greater share changes all devices that a smaller one does, and at least one.
    """
    count = max(round(drift.share * devices), 1)
    held = np.zeros((drift.changes + 1, devices), dtype=np.int64)
    for change in range(1, drift.changes + 1):
        held[change] = held[change - 1]
        held[change, streams.generator("drift_devices", 0, change).permutation(devices)[:count]] += 1
    return held


def _all_concepts(drift: Drift, data: Data, last: int, streams: Streams) -> Data:
    """Return the samples of the concepts 0 to `last`, one concept after another; nothing asks for their owners."""
    train_x, train_y = _concepts_of(drift, data.train_x, data.train_y, data.classes, last, streams)
    test_x, test_y = _concepts_of(drift, data.test_x, data.test_y, data.classes, last, streams)
    weight = data.weight
    if weight is not None:
        weight = np.tile(weight, last + 1)
    data = replace(data, owner=None, test_owner=None, weight=weight)
    return replace(data, train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y)


def _concepts_of(drift: Drift, x: Array, y: Array, classes: int, last: int, streams: Streams) -> tuple[Array, Array]:
    """Return the samples of a set, x [n, ...] and y [n], in the concepts 0 to `last`, one concept after another."""
    inputs = [x]
    labels = [y]
    for concept in range(1, last + 1):
        # A new generator each time: training and test samples, inputs and labels change by the same draws.
        rng = partial(streams.generator, "drift", 0, concept)
        inputs.append(_next_inputs(drift, inputs[-1], rng()))
        if drift.changes_labels:
            labels.append(_next_labels(drift, labels[-1], classes, rng()))
        else:
            labels.append(y)
    return np.concatenate(inputs), np.concatenate(labels)


def _next_inputs(drift: Drift, x: Array, rng: np.random.Generator) -> Array:
    changed = returns.called(drift.inputs, returns.Array(x.shape, "the samples of the next concept"), x, rng)
    if not returns.is_trusted(drift) and changed.dtype != x.dtype:
        raise returns.wrong(drift, "inputs", f"an array of {changed.dtype}", f"samples of the same type, {x.dtype}")
    return changed


def _next_labels(drift: Drift, y: Array, classes: int, rng: np.random.Generator) -> Array:
    must = returns.Array(y.shape, f"classes from 0 to {classes - 1}", least=0, most=classes - 1, whole=True)
    return np.asarray(returns.called(drift.labels, must, y, classes, rng), dtype=y.dtype)
