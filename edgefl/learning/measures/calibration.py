"""The calibration of a classifier: its confidence against its accuracy."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from edgefl.core.section import Count
from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score, table_of
from edgefl.records.columns import ResultColumn


class Calibration(Score):
    """Expected calibration error, and accuracy by confidence (Guo et al., ICML 2017, eq. 3).

    Confidence is the largest softmax of the network's outputs. The interval from 0 to 1 is divided into bins of equal
    width; the error is the mean distance of accuracy and confidence over the bins, weighted by their samples.
    """

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn("ece", float, "", "expected calibration error on the test set, 0 to 1", "measure `calibration`"),
    )
    row_columns: ClassVar[tuple[ResultColumn, ...]] = table_of(
        ResultColumn(
            "confidence_bin", int, "", "number of the bin of confidence, from 0; bins without samples are left out"
        ),
        ResultColumn("confidence", float, "", "mean confidence of its samples"),
        ResultColumn("accuracy", float, "", "share of its samples that are classified correctly"),
    )

    test_in_table: ClassVar[bool] = True

    bins: Count = 15  # Number of bins of equal width, which divide confidences from 0 to 1.

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the expected calibration error."""
        rows = self.rows_of(given)
        gaps = sum(samples * abs(accuracy - confidence) for samples, _, confidence, accuracy in rows)
        return {"ece": gaps / len(given.labels)}

    def rows_of(self, given: ModelOutputs) -> Sequence[tuple[Any, ...]]:
        """Return samples, number, mean confidence and accuracy of each bin with samples."""
        from scipy.special import softmax  # late: to read a result folder takes no SciPy

        confidence = softmax(given.outputs.astype(np.float64), axis=1).max(axis=1)
        right = given.classes == given.labels
        # Guo's bins are ]m / M, (m + 1) / M].
        numbers = np.ceil(confidence * self.bins).astype(np.int64) - 1
        rows = []
        for number in np.unique(numbers).tolist():
            inside = numbers == number
            rows.append((int(inside.sum()), number, float(confidence[inside].mean()), float(right[inside].mean())))
        return rows
