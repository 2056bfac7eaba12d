"""The learning of a finished run, for runs that are priced with it and learn nothing themselves.

The `rounds.csv` of a folder has the outcome of each round's learning, but not the digest of commands to which it
belongs. `RowsOfRun` learns the digests when the run's own scenario is run again, and afterwards returns each outcome
only under its digest. So a run with other commands gets none.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from edgefl.core.errors import InputError, RunError
from edgefl.learning.record import JOURNAL, Journal, Record
from edgefl.results.run_folder import CHECKPOINTS
from edgefl.server.global_model import NOT_EVALUATED

LEARNED_COLUMNS = tuple(NOT_EVALUATED)  # of rounds.csv, on which the world may depend

TESTED_COLUMNS = ("test_loss", "test_accuracy", "validation_loss", "validation_accuracy")  # on which its end may depend


class KnownLearning(NamedTuple):
    """The outcome of a finished run's learning."""

    record: Record
    base: str  # the key before its first command


class LearnsOtherwise(RunError):  # noqa: N818 - the name says what is wrong
    """A run would learn something else than the finished run."""


def refuse_to_learn() -> NoReturn:
    """Stand in for the global model of a run that must not learn: raise `LearnsOtherwise`.

    Raises:
        LearnsOtherwise: always, as it is only called for outcomes that are not on record.
    """
    raise LearnsOtherwise("it learns something else")


class RowsOfRun(Record):
    """A record of the outcomes in a `rounds.csv`; it records nothing else."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._rows = rows
        self._begun = 0  # the number of rows with a key
        self._open = True

    def close_keys(self) -> None:
        """Return outcomes only under the keys so far: those of the run itself."""
        self._open = False

    def outcome(self, key: str) -> Any:
        """See Record."""
        if self._open and key not in self._outcomes:
            self._outcomes[key] = self._next(key.partition("/")[2])
        return self._outcomes.get(key)

    def _next(self, kind: str) -> Any:
        """Return the next outcome of a kind: of learning (an empty text), of a test, or of the last test."""
        if kind == "":
            self._begun += 1
        if not 0 < self._begun <= len(self._rows):
            return None  # more rounds than the run had
        row = self._rows[self._begun - 1]
        if kind == "":
            return {"columns": {name: row.get(name) for name in LEARNED_COLUMNS}}
        if kind in {"test", "last"}:
            return {name: row[name] for name in TESTED_COLUMNS if name in row}
        if kind == "devices":
            return {"accuracies": None}  # prices do not depend on them
        return None


def known_learning(folder: Path, rows: Sequence[Mapping[str, Any]], *, needs_losses: bool) -> KnownLearning:
    """Return the learning of a finished run; refuse a folder without a record if losses of devices are needed.

    Raises:
        InputError: the selection needs losses, and the run has kept no record.
    """
    if not needs_losses:
        return KnownLearning(RowsOfRun(rows), "")
    text = "chooses by losses, but the run has kept no record of them (checkpoints/)"
    if (folder / CHECKPOINTS / JOURNAL).exists():
        # Read as the journal of another run, without locking or writing anything.
        record = Journal(folder / CHECKPOINTS / "none", fresh=True, others=[folder / CHECKPOINTS])
        base = record.outcome("base")
        if isinstance(base, str):
            return KnownLearning(record, base)
        text = "chooses by losses, and the run's record (checkpoints/) cannot be read"
    raise InputError(
        f"{folder}: server.selection: {text}: run it again with --checkpoint-every 50, or use edgefl sweep"
    )
