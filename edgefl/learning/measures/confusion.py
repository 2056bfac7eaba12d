"""The confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score, table_of
from edgefl.records.columns import ResultColumn


class Confusion(Score):
    """Confusion matrix: samples by class and predicted class, of the test set and of devices' own samples."""

    row_columns: ClassVar[tuple[ResultColumn, ...]] = table_of(
        ResultColumn("label", int, "", "the class of the samples"),
        ResultColumn("predicted", int, "", "the class that the model predicts for them"),
    )

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return nothing: a matrix has no single value."""
        return {}

    def rows_of_test(self, given: ModelOutputs) -> Sequence[tuple[Any, ...]]:
        """Return the rows of the test set."""
        return self.rows_of(given)

    def rows_of(self, given: ModelOutputs) -> Sequence[tuple[Any, ...]]:
        """Return the entries of the matrix that are not 0: samples, class and predicted class, ascending."""
        if given.predicted is None:
            raise ValueError("the samples have no classes")
        pairs, counts = np.unique(np.stack([given.labels, given.predicted]), axis=1, return_counts=True)
        return [(count, *pair) for pair, count in zip(pairs.T.tolist(), counts.tolist(), strict=True)]
