"""Early stopping: whether a column of rounds.csv has stopped improving."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.records.ledger import Ledger
from edgefl.scenario import Patience


def improves(column: str, value: float, best: float | None, min_delta: float = 0.0) -> bool:
    """Return whether a value of a column is better than the best one so far by more than `min_delta`.

    Accuracies improve upwards, losses downwards; the first value always improves.
    """
    if best is None:
        return True
    if column.endswith("_loss"):
        return value < best - min_delta
    return value > best + min_delta


@dataclass(eq=False)
class Plateau:
    """Watches one column of the ledger's rounds, as Keras' EarlyStopping does; rounds that lack it count as time."""

    patience: Patience
    column: str

    def __post_init__(self) -> None:
        self._best: float | None = None
        self._improved_in = 0  # number of the round with the best value
        self._last_in = 0  # number of the last round with a value
        self._read = 0  # rows that have been read

    @property
    def needs_tests(self) -> bool:
        """Return whether models have to be evaluated before the column is known."""
        return self.column != "train_loss"

    def reached(self, ledger: Ledger) -> bool:
        """Return whether the column's last value came too many rounds after its best one; the rounds are evaluated."""
        for number in range(self._read, ledger.finished):
            row = ledger.row(number)
            value = row.get(self.column)
            if value is None:
                continue
            self._last_in = row["round"]
            if improves(self.column, value, self._best, self.patience.min_delta):
                self._best = value
                self._improved_in = row["round"]
        self._read = ledger.finished
        return self._last_in - self._improved_in >= self.patience.rounds
