"""Collects losses and accuracies of an app's model, from clients' replies or from the ServerApp."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

log = logging.getLogger(__name__)

# Names of metrics in replies, in the order of the search for them.
ACCURACY_KEYS = ("accuracy", "acc", "eval_accuracy", "eval_acc", "test_accuracy", "test_acc")
LOSS_KEYS = ("loss", "eval_loss", "test_loss")
TRAIN_LOSS_KEYS = ("train_loss", "loss")
WEIGHT_KEYS = ("num-examples", "num_examples")

_listeners: list[RoundMetrics] = []  # those of the emulation that runs now; empty under plain Flower


def report(*, accuracy: float | None = None, loss: float | None = None) -> None:
    """Report a test of the global model to the emulation; without an emulation this does nothing.

    Call it from the ServerApp: the numbers become `test_accuracy` and `test_loss` of the round under way. Values of a
    strategy's `evaluate_fn` and of clients' replies to evaluate messages need no report.

    Args:
        accuracy: 0 to 1.
        loss: of the same test.
    """
    for listener in _listeners:
        listener.note_central({"accuracy": accuracy, "loss": loss})


class RoundMetrics:
    """Collects the metrics of a round, until `take` empties it."""

    def __init__(self) -> None:
        self._central: dict[str, float] = {}
        self._answers: list[tuple[float, Mapping[str, Any]]] = []  # weight and metrics of each answer to evaluate
        self._trained: list[tuple[float, Mapping[str, Any]]] = []  # the same of each update
        self._warned = False

    def __enter__(self) -> Self:
        _listeners.append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _listeners.remove(self)

    def note_central(self, metrics: Mapping[str, Any], *, initial: bool = False) -> None:
        """Note the metrics of a test by the ServerApp; the last test of a round counts.

        Args:
            metrics: by name.
            initial: whether the test is of initial parameters: a second strategy may begin with them while the last
                round of the first is open; it then replaces no other.
        """
        for name, keys in (("test_accuracy", ACCURACY_KEYS), ("test_loss", LOSS_KEYS)):
            value = first_number(metrics, keys)
            if value is not None and not (initial and name in self._central):
                self._central[name] = value

    def note_answer(self, metrics: Mapping[str, Any]) -> None:
        """Note the metrics in a client's reply to an evaluate message."""
        self._answers.append((_weight(metrics), metrics))

    def note_update(self, metrics: Mapping[str, Any]) -> None:
        """Note the metrics in a client's reply to a train message."""
        self._trained.append((_weight(metrics), metrics))

    def without_samples(self) -> str:
        """Return which kind of the round's replies have no samples, by their `num-examples`; "" if none."""
        for kind, weighted in (("evaluate", self._answers), ("train", self._trained)):
            if weighted and not any(weight for weight, _ in weighted):
                return kind
        return ""

    def take(self) -> dict[str, float]:
        """Return the round's columns of rounds.csv, and begin the next round."""
        found = {
            "train_loss": _mean(self._trained, TRAIN_LOSS_KEYS),
            "test_loss": _mean(self._answers, LOSS_KEYS),
            "test_accuracy": _mean(self._answers, ACCURACY_KEYS),
            **self._central,  # a test of the global model replaces the means of its clients
        }
        self._central = {}
        self._answers = []
        self._trained = []
        columns = {name: value for name, value in found.items() if value is not None}
        accuracy = columns.get("test_accuracy", 0.0)
        if not 0 <= accuracy <= 1:
            del columns["test_accuracy"]
            if not self._warned:
                self._warned = True
                log.warning("the app's accuracy %g is not within 0 to 1: left out", accuracy)
        return columns


def first_number(metrics: Mapping[str, Any], keys: tuple[str, ...]) -> float | None:
    """Return the number with the first of some names that is there; None if there is none."""
    for key in keys:
        value = metrics.get(key)
        if not isinstance(value, bool) and isinstance(value, Real):  # NumPy's numbers, too
            return float(value)
    return None


def _weight(metrics: Mapping[str, Any]) -> float:
    """Return the number of samples behind a reply; 1 if the reply does not have it."""
    weight = first_number(metrics, WEIGHT_KEYS)
    return 1.0 if weight is None else weight


def _mean(weighted: list[tuple[float, Mapping[str, Any]]], keys: tuple[str, ...]) -> float | None:
    total = 0.0
    weights = 0.0
    for weight, metrics in weighted:
        value = first_number(metrics, keys)
        if value is not None:
            total += weight * value
            weights += weight
    if not weights:
        return None
    return total / weights
