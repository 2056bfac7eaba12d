"""The learning of a finished run, for runs that are priced in its place and learn nothing themselves.

A folder has the outcome of each round's learning in its `rounds.csv`, whether or not it has kept a record. Under which
digest of commands an outcome belongs is not in the folder: `RowsOfRun` finds it out when the run's own scenario is run
again, and from then on gives each outcome under its digest alone. So a run whose commands differ gets none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from edgefl.core.errors import InputError, RunError
from edgefl.learning.record import JOURNAL, Journal, Record
from edgefl.results.run_folder import CHECKPOINTS
from edgefl.server.global_model import NOT_EVALUATED

LEARNED_COLUMNS = tuple(NOT_EVALUATED)  # of rounds.csv: what the world may depend on


class KnownLearning(NamedTuple):
    """The outcome of a finished run's learning."""

    record: Record
    base: str  # the key before its first command


class LearnsOtherwise(RunError):  # noqa: N818 - the name says what is wrong
    """A run would learn something else than the run in whose place it is priced."""


def refuse_to_learn() -> NoReturn:
    """Stand in for the global model of a run that is to learn nothing.

    Raises:
        LearnsOtherwise: always, as it is only called for what is not on record.
    """
    raise LearnsOtherwise("it learns something else")


class RowsOfRun(Record):
    """A record of what the rows of a `rounds.csv` tell; it takes in nothing else.

    Args:
        rows: of the finished rounds, in order.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._rows = rows
        self._begun = 0  # how many rows have been given under a key
        self._open = True

    def close_keys(self) -> None:
        """Give outcomes only under the keys that have been asked for so far: those of the run itself."""
        self._open = False

    def outcome(self, key: str) -> Any:
        """See Record."""
        if self._open and key not in self._outcomes:
            self._outcomes[key] = self._next(key.partition("/")[2])
        return self._outcomes.get(key)

    def _next(self, kind: str) -> Any:
        """Return the next outcome of a kind: of learning (an empty text), of a test, or of the last one."""
        if kind == "":
            self._begun += 1
        if not 0 < self._begun <= len(self._rows):
            return None  # more rounds than the run had
        row = self._rows[self._begun - 1]
        if kind == "":
            return {"columns": {name: row.get(name) for name in LEARNED_COLUMNS}}
        if kind in {"test", "last"}:
            return {name: row.get(name) for name in ("test_loss", "test_accuracy")}
        if kind == "devices":
            return {"accuracies": None}  # which no price depends on
        return None


def known_learning(folder: Path, rows: Sequence[Mapping[str, Any]], *, needs_losses: bool) -> KnownLearning:
    """Return what the finished run in a folder has learned.

    Args:
        folder: its result folder.
        rows: of its `rounds.csv`.
        needs_losses: whether its selection asks for losses of devices, which only a record has.

    Raises:
        InputError: the selection needs losses, and the run has kept no record.
    """
    if not needs_losses:
        return KnownLearning(RowsOfRun(rows), "")
    text = "chooses by losses, of which the run has kept no record (checkpoints/)"
    if (folder / CHECKPOINTS / JOURNAL).exists():
        # Read as the journal of another run: nothing is locked, and nothing is ever written.
        record = Journal(folder / CHECKPOINTS / "none", fresh=True, others=[folder / CHECKPOINTS])
        base = record.outcome("base")
        if isinstance(base, str):
            return KnownLearning(record, base)
        text = "chooses by losses, and the run's record (checkpoints/) cannot be read"
    raise InputError(
        f"{folder}: server.selection: {text}: run it again with --checkpoint-every 50, or use edgefl sweep"
    )
