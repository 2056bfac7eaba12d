"""The best of a run's evaluated models, which `report.best_model` keeps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from edgefl.learning.record import Record
from edgefl.learning.trained_model import TrainedModel
from edgefl.scenario import RoundKey
from edgefl.server.plateau import improves

log = logging.getLogger(__name__)

TESTED = ("validation_loss", "validation_accuracy", "test_loss", "test_accuracy")  # of its round, in the summary


class Best(NamedTuple):
    """The best model so far."""

    round_key: RoundKey
    columns: Mapping[str, Any]  # of its evaluation
    key: str  # under which its tensors are on record
    trained: TrainedModel | None  # None: only the record has its tensors


@dataclass(eq=False)
class BestModel:
    """Keeps the model of the evaluated round with the best value of a column; of equal values, that of the earliest."""

    column: str
    record: Record  # keeps the tensors for a resumed run

    def __post_init__(self) -> None:
        self._best: Best | None = None

    @property
    def key(self) -> str | None:
        """The key under which the tensors of the best model are on record; None before the first evaluation."""
        if self._best is None:
            return None
        return self._best.key

    def note(
        self, round_key: RoundKey, key: str, columns: Mapping[str, Any], model: Callable[[], TrainedModel] | None
    ) -> None:
        """Note an evaluation, in order of the rounds.

        Args:
            round_key: the evaluated round.
            key: under which the tensors of its model are, or will be, on record.
            columns: the result.
            model: returns the model; None: its tensors are on record if it is the best one so far.
        """
        value = columns.get(self.column)
        best = None
        if self._best is not None:
            best = self._best.columns[self.column]
        if value is None or not improves(self.column, value, best):
            return
        trained = None
        if model is not None:
            trained = model()
            content = trained.to_bytes()
            self.record.save(key, lambda file: _write(file, content), lasting=True)
        self._best = Best(round_key, columns, key, trained)

    def trained(self) -> TrainedModel | None:
        """Return the best model; None if nothing was evaluated, or the record has lost it."""
        if self._best is None:
            return None
        if self._best.trained is not None:
            return self._best.trained
        found: list[TrainedModel] = []
        self.record.restore(self._best.key, lambda file: found.append(TrainedModel.from_bytes(file.read())))
        if not found:
            log.warning("the record has lost the best model: run again with --overwrite to have it")
            return None
        return found[0]

    def described(self, *, several_sessions: bool) -> dict[str, Any] | None:
        """Return the round of the best model and its evaluation, for the summary; None if nothing was evaluated."""
        if self._best is None:
            return None
        described: dict[str, Any] = {"chosen_by": self.column}
        if several_sessions:
            described["session"] = self._best.round_key.session
        described["round"] = self._best.round_key.round
        return described | {name: self._best.columns[name] for name in TESTED if name in self._best.columns}


def _write(file: BinaryIO, content: bytes) -> None:
    file.write(content)
