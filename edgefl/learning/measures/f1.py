"""The F1 score of classes."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score, table_of
from edgefl.records.columns import ResultColumn


class F1(Score):
    """F1 score: harmonic mean of precision and recall, by class and as their mean (van Rijsbergen, 1979).

    A class that has no samples and is never predicted has no score, and is left out of the mean.
    """

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn(
            "f1", float, "", "mean F1 score of the classes on the test set (macro F1), 0 to 1", "measure `f1`"
        ),
    )
    row_columns: ClassVar[tuple[ResultColumn, ...]] = table_of(
        ResultColumn("label", int, "", "the class"),
        ResultColumn(
            "precision", float, "", "share of its predictions that are right; empty where it is never predicted"
        ),
        ResultColumn("recall", float, "", "share of its samples that are predicted right; empty where it has none"),
        ResultColumn("f1", float, "", "harmonic mean of the two: 2 hits / (samples + predictions)"),
    )

    test_in_table: ClassVar[bool] = True

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the mean over the classes."""
        scores = [f1 for *_, f1 in self.rows_of(given)]
        if not scores:
            return {"f1": None}
        return {"f1": float(np.mean(scores))}

    def rows_of(self, given: ModelOutputs) -> Sequence[tuple[Any, ...]]:
        """Return samples, class, precision, recall and F1 of each class that has samples, or is predicted."""
        rows = []
        for label in np.union1d(given.labels, given.classes).tolist():
            samples = int((given.labels == label).sum())
            predictions = int((given.classes == label).sum())
            hits = int(((given.labels == label) & (given.classes == label)).sum())
            rows.append(
                (samples, label, _share(hits, predictions), _share(hits, samples), 2 * hits / (samples + predictions))
            )
        return rows


def _share(part: int, whole: int) -> float | None:
    if whole == 0:
        return None
    return part / whole
