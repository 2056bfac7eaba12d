"""The base of measures that compare outputs with labels, on the test set and for each device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound, ModelOutputs
from edgefl.records.columns import ResultColumn

if TYPE_CHECKING:
    from edgefl.learning.datasets import Data

DEVICE = ResultColumn("device", int, "", "number of the device whose samples these are; empty: the whole test set")
SAMPLES = ResultColumn("samples", int, "", "number of samples")


class Score(Measure):
    """Base of the scores of a model; a subclass computes them for some samples in `values`.

    Scores on the test set are columns of rounds.csv; with `by_device` those of each device are rows of a table.
    """

    of: ClassVar[str] = "classes"  # what labels must be: classes, or numbers
    test_in_table: ClassVar[bool] = False  # True if the rows of the test set hold more than `values`

    by_device: bool = False  # Whether the samples of each device are measured, too.

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Give a score that declares only columns of rounds.csv a table with the same columns by device."""
        super().__pydantic_init_subclass__(**kwargs)
        declared = cls.__dict__  # inherited columns already fit together
        if "round_columns" in declared and "row_columns" not in declared:
            cls.row_columns = table_of(*cls.round_columns)

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the scores by the names in `round_columns`; None: not defined for these samples."""
        raise NotImplementedError

    def refusal(self, data: Data) -> str | None:
        """Return why nothing can be measured with these data; None if it can."""
        if self.of == "classes" and not data.classes:
            return "needs samples with classes"
        if self.of == "numbers" and not data.regression:
            return "needs labels that are numbers"
        return None

    def columns(self, learned: LearnedRound) -> Mapping[str, float | None]:
        """Return the scores on the test set."""
        return self.values(learned.outputs())

    def rows(self, learned: LearnedRound) -> Sequence[tuple[Any, ...]]:
        """Return the rows of the test set, with `test_in_table`, and of each device, with `by_device`."""
        found: list[tuple[Any, ...]] = []
        if self.test_in_table:
            found += [(None, *row) for row in self.rows_of(learned.outputs())]
        if self.by_device:
            for device, given in learned.outputs_by_device():
                found += [(device, *row) for row in self.rows_of(given)]
        return found

    def rows_of(self, given: ModelOutputs) -> Sequence[tuple[Any, ...]]:
        """Return the table's rows for some samples, without the device; by default their number and `values`."""
        values = self.values(given)
        return [(len(given.labels), *(values[column.name] for column in self.round_columns))]


def table_of(*columns: ResultColumn) -> tuple[ResultColumn, ...]:
    """Return the columns of a table of scores by device."""
    # Every row of the table has them, though not every run has the same columns in rounds.csv.
    return (DEVICE, SAMPLES, *(replace(column, when="") for column in columns))
