"""A finished run for readings: its curve, tables and summary, read on demand."""

from functools import cached_property
from pathlib import Path

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.results.metrics import AccuracyCurve, accuracy_curve
from edgefl.results.reader import ColumnArrays, Documents, arrays_of, header_of, read_documents, rows_of


class FinishedRun:
    """The result folder of a finished run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables: dict[str, ColumnArrays] = {}  # those that have been read

    @cached_property
    def documents(self) -> Documents:
        """Scenario, manifest and summary."""
        return read_documents(self.folder)

    @property
    def rounds(self) -> ColumnArrays:
        """The columns [rounds] of rounds.csv; NaN where a cell is empty."""
        return self.table("rounds.csv")

    @cached_property
    def curve(self) -> AccuracyCurve:
        """The test accuracy over rounds, time and energy."""
        return accuracy_curve(self.rounds)

    def column(self, name: str) -> list[float | None]:
        """Return a column [rounds] of rounds.csv; None where a cell is empty.

        Raises:
            InputError: the run has no such column.
        """
        header = header_of(self.folder, "rounds.csv")
        if name not in header:
            raise InputError(f"{self.folder}/rounds.csv: has no column {name}; columns: {', '.join(header)}")
        return [row[name] for row in rows_of(self.folder, "rounds.csv")]

    def table(self, name: str) -> ColumnArrays:
        """Return the columns [rows] of a CSV file of the folder; NaN where a cell is empty.

        Raises:
            InputError: the run has no such file, as its scenario does not ask for it.
        """
        if name not in self._tables:
            self._tables[name] = arrays_of(self.folder, name)
        return self._tables[name]

    @property
    def device_accuracies(self) -> Floats:
        """The final model's accuracy [n] on the samples of each device that has any."""
        return self._optional("device_accuracy.csv", "learned nothing, or its samples have no classes")["accuracy"]

    @property
    def contributions(self) -> ColumnArrays:
        """The columns of contributions.csv."""
        return self._optional("contributions.csv", "has no report.contributions")

    def _optional(self, name: str, reason: str) -> ColumnArrays:
        if not (self.folder / name).is_file():
            raise InputError(f"{self.folder}: has no {name}: the run {reason}")
        return self.table(name)
