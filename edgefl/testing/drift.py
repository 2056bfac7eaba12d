"""The check of a drift."""

from typing import Any

import numpy as np

from edgefl.learning.datasets import Data
from edgefl.learning.drifts import Drift
from edgefl.testing.calls import Calls, kind
from edgefl.testing.report import Check, Report

SAMPLES = 60
SEED = 9


def check_drift(
    drift: type[Drift] | Drift, *, shape: tuple[int, ...] = (1, 8, 8), classes: int = 10, **keys: Any
) -> Report:
    """Check that a drift changes samples as a run expects of it, and return the report.

    It changes 60 made-up samples, and every other one of them.

    Args:
        drift: the class, or an instance.
        shape: the shape of one sample.
        classes: the number of classes.
        keys: the keys with which the class is checked; by default `at_round` is [2].
    """
    if isinstance(drift, type) and not keys.keys() & {"at_s", "at_round"}:
        keys["at_round"] = [2]
    calls = Calls(drift, keys, Drift, "a drift")
    alone = calls.begin("one of many", "a sample changes in the same way, whatever samples are with it")
    changes = calls.begin("changes", "inputs or labels are others after a change")
    rng = np.random.default_rng(SEED)
    x = rng.random((SAMPLES, *shape), dtype=np.float32)
    y = np.arange(SAMPLES, dtype=np.int64) % classes
    with calls.noting("a change"):
        _check_refusal(calls, Data(train_x=x, train_y=y, test_x=x, test_y=y, classes=classes))
        inputs = _check_inputs(calls, alone, x)
        labels = _check_labels(calls, alone, y, classes)
        if np.array_equal(inputs, x) and np.array_equal(labels, y):
            calls.note(changes, "inputs", "and labels return what they were given: override one of them")
    return calls.finished()


def _check_refusal(calls: Calls[Drift], data: Data) -> None:
    reason = calls.of("refusal", data)
    if reason is not None:
        samples = f"samples {list(data.shape)} of {data.classes} classes"
        calls.reject("refusal", f"returned {reason!r} for {samples}: pass the shape and classes that it is for")


def _check_inputs(calls: Calls[Drift], alone: Check, x: Any) -> Any:
    changed = calls.array("inputs", x, np.random.default_rng(SEED), shape=x.shape, of="samples")
    if changed.dtype != x.dtype:
        calls.wrong("inputs", f"returned {kind(changed)}, expected samples of the same type, {x.dtype}")
    _check_alone(calls, alone, "inputs", changed, calls.of("inputs", x[::2], np.random.default_rng(SEED)))
    return changed


def _check_labels(calls: Calls[Drift], alone: Check, y: Any, classes: int) -> Any:
    changed = calls.array("labels", y, classes, np.random.default_rng(SEED), shape=y.shape, of="classes")
    if not np.array_equal(changed, np.round(changed)) or changed.min() < 0 or changed.max() >= classes:
        calls.reject("labels", f"returned other values than whole numbers from 0 to {classes - 1}")
    _check_alone(calls, alone, "labels", changed, calls.of("labels", y[::2], classes, np.random.default_rng(SEED)))
    return changed


def _check_alone(calls: Calls[Drift], alone: Check, method: str, changed: Any, of_half: Any) -> None:
    """Check what a method returned for every other sample; training and test samples are changed one after another."""
    if not np.array_equal(changed[::2], of_half):
        text = "returns other values for a sample when fewer samples are with it"
        remedy = "draw what does not depend on the number of samples, and treat each sample alike"
        calls.note(alone, method, f"{text}, so that training and test samples would change in two ways: {remedy}")
