"""The check of a partition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgefl.learning.partitions import Partition
from edgefl.testing.calls import Calls, kind
from edgefl.testing.report import Report

SAMPLES = 3_000
CLASSES = 10
SEED = 9


def check_partition(
    partition: type[Partition] | Partition, *, devices: int = 10, overlapping: bool = False, **keys: Any
) -> Report:
    """Check that a partition divides samples as a run expects of it, and return the report.

    It divides 3,000 samples of ten classes, whose owners hold 1 to 99 of them each.

    Args:
        partition: the class, or an instance.
        devices: how many devices there are.
        overlapping: whether several devices may hold the same sample.
        keys: the keys with which the class is checked.
    """
    calls = Calls(partition, keys, Partition, "a partition")
    rng = np.random.default_rng(SEED)
    labels = rng.integers(0, CLASSES, SAMPLES)
    owner = np.sort(rng.integers(0, 2 * devices, SAMPLES))
    with calls.noting("a division"):
        parts = calls.of("assign", labels, owner, devices, np.random.default_rng(SEED))
        _check_parts(calls, parts, devices, overlapping=overlapping)
    return calls.finished()


def _check_parts(calls: Calls[Partition], parts: Any, devices: int, *, overlapping: bool) -> None:
    if not isinstance(parts, Sequence) or len(parts) != devices:
        length = f" of {len(parts)}" if isinstance(parts, Sequence) else ""
        calls.reject("split", f"returned {kind(parts)}{length}, expected a list with {devices} arrays")
    for device, part in enumerate(parts):
        if not isinstance(part, np.ndarray) or part.ndim != 1 or not np.issubdtype(part.dtype, np.integer):
            calls.reject("split", f"gave device {device} {kind(part)}, expected sample numbers [n] (int64)")
        if not len(part):
            calls.reject("split", f"gave device {device} no sample: every device needs one")
        if part.min() < 0 or part.max() >= SAMPLES:
            calls.reject("split", f"gave device {device} samples {part.min()} to {part.max()} of {SAMPLES}")
        if len(np.unique(part)) < len(part):
            calls.reject("split", f"gave device {device} a sample twice")
    together = np.concatenate(parts)
    if not overlapping and len(np.unique(together)) < len(together):
        calls.wrong("split", "gave a sample to two devices: pass overlapping=True if that is meant")
