"""The checks of members that handle samples: partitions and drifts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgefl.learning.datasets import Data
from edgefl.learning.drifts import Drift
from edgefl.learning.partitions import Partition
from edgefl.testing.calls import RETURNS, Calls, Property
from edgefl.testing.report import Report
from edgefl.testing.values import Numbers, kind

SEED = 9
PARTED = 3_000
LABELS = 10
DRIFTING = 60


def check_partition(
    partition: type[Partition] | Partition, *, devices: int = 10, overlapping: bool = False, **keys: Any
) -> Report:
    """Check that a partition divides samples as a run expects of it, and return the report.

    It divides 3,000 samples of ten classes, whose owners hold 1 to 99 of them each.

    Args:
        partition: the class, or an instance.
        devices: how many devices there are.
        overlapping: whether several devices may hold the same sample.
        keys: the keys for the check of the class.
    """
    calls = Calls(partition, keys, Partition, "a partition")
    calls.check(Property(RETURNS, _parts_are_samples, cases=[(devices, overlapping)]))
    return calls.finished()


def _parts_are_samples(calls: Calls, devices: int, overlapping: bool) -> None:  # noqa: FBT001 - a case of a property
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, LABELS, PARTED)
    owner = np.sort(rng.integers(0, 2 * devices, PARTED))
    parts = calls.of("assign", labels, owner, devices, np.random.default_rng(SEED))
    length = f" of {len(parts)}" if isinstance(parts, Sequence) else ""
    text = f"{kind(parts)}{length}, expected a list with {devices} arrays"
    calls.returned("split", isinstance(parts, Sequence) and len(parts) == devices, text)
    for device, part in enumerate(parts):
        calls.numbers(
            "split", part, Numbers((None,), least=0, most=PARTED - 1, whole=True), f"samples of device {device}"
        )
        calls.require("split", len(part), f"gave device {device} no sample: every device needs one")
        calls.require("split", len(np.unique(part)) == len(part), f"gave device {device} a sample twice")
    together = np.concatenate(parts)
    are_apart = overlapping or len(np.unique(together)) == len(together)
    text = "gave a sample to two devices: pass overlapping=True if that is meant"
    calls.require("split", are_apart, text)


def check_drift(
    drift: type[Drift] | Drift, *, shape: tuple[int, ...] = (1, 8, 8), classes: int = 10, **keys: Any
) -> Report:
    """Check that a drift changes samples as a run expects of it, and return the report.

    It changes 60 made-up samples, and every other one of them.

    Args:
        drift: the class, or an instance.
        shape: the shape of one sample.
        classes: the number of classes.
        keys: the keys for the check of the class; by default `at_round` is [2].
    """
    if isinstance(drift, type) and not keys.keys() & {"at_s", "at_round"}:
        keys["at_round"] = [2]
    calls = Calls(drift, keys, Drift, "a drift")
    x = np.random.default_rng(SEED).random((DRIFTING, *shape), dtype=np.float32)
    y = np.arange(DRIFTING, dtype=np.int64) % classes
    case = [(Data(train_x=x, train_y=y, test_x=x, test_y=y, classes=classes),)]
    calls.check(
        Property(RETURNS, _suits_the_samples, cases=case),
        Property(RETURNS, _samples_keep_their_form, cases=case),
    )
    alone = "a sample changes in the same way, whatever samples are with it"
    calls.check(
        Property("one of many", _samples_change_alone, alone, case),
        Property("changes", _something_changes, "inputs or labels are others after a change", case),
    )
    return calls.finished()


def _inputs(calls: Calls, x: Any) -> Any:
    return calls.array("inputs", Numbers(x.shape), x, np.random.default_rng(SEED))


def _labels(calls: Calls, y: Any, classes: int) -> Any:
    wanted = Numbers(y.shape, least=0, most=classes - 1)
    return calls.array("labels", wanted, y, classes, np.random.default_rng(SEED))


def _suits_the_samples(calls: Calls, data: Data) -> None:
    reason = calls.of("refusal", data)
    samples = f"samples {list(data.shape)} of {data.classes} classes"
    calls.returned("refusal", reason is None, f"{reason!r} for {samples}: pass the shape and classes that it is for")


def _samples_keep_their_form(calls: Calls, data: Data) -> None:
    changed = _inputs(calls, data.train_x)
    is_same_type = changed.dtype == data.train_x.dtype
    calls.returned("inputs", is_same_type, f"{kind(changed)}, expected samples of the same type, {data.train_x.dtype}")
    labels = _labels(calls, data.train_y, data.classes)
    calls.returned("labels", np.array_equal(labels, np.round(labels)), "other values than whole numbers")


def _samples_change_alone(calls: Calls, data: Data) -> None:
    """Every other sample changes as among all; training and test samples are changed one after another."""
    text = "returns other values for a sample when fewer samples are with it, as training and test samples are apart"
    remedy = "draw what does not depend on the number of samples, and treat each sample alike"
    x = data.train_x
    y = data.train_y
    alike = np.array_equal(_inputs(calls, x)[::2], _inputs(calls, x[::2]))
    calls.require("inputs", alike, f"{text}: {remedy}")
    alike = np.array_equal(_labels(calls, y, data.classes)[::2], _labels(calls, y[::2], data.classes))
    calls.require("labels", alike, f"{text}: {remedy}")


def _something_changes(calls: Calls, data: Data) -> None:
    x_stays = np.array_equal(_inputs(calls, data.train_x), data.train_x)
    y_stays = np.array_equal(_labels(calls, data.train_y, data.classes), data.train_y)
    text = "and labels return what they were given: override one of them"
    calls.require("inputs", not (x_stays and y_stays), text)
