"""The confusion matrix."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score, table_of
from edgefl.records.columns import ResultColumn


class Confusion(Score):
    """Confusion matrix: samples by class and predicted class, of the test set and of each device."""

    row_columns: ClassVar[tuple[ResultColumn, ...]] = table_of(
        ResultColumn("label", int, "", "the class of the samples"),
        ResultColumn("predicted", int, "", "the class that the model predicts for them"),
    )

    test_in_table: ClassVar[bool] = True

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return nothing: a matrix has no single value."""
        return {}

    def rows_of(self, given: ModelOutputs) -> Sequence[tuple[Any, ...]]:
        """Return the entries of the matrix that are not 0: samples, class and predicted class, ascending."""
        return [(count, label, predicted) for label, predicted, count in given.pairs()]
