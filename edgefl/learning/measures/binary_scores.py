"""Scores of yes-or-no labels besides their accuracy: the area under the ROC curve, and F1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from edgefl.learning.measures.auc import area
from edgefl.learning.measures.binary_accuracy import BinaryAccuracy
from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.records.columns import ResultColumn


class BinaryScores(BinaryAccuracy):
    """Area under the ROC curve, and F1 score of the label 1 (van Rijsbergen, 1979); means over the labels of a sample.

    Labels are 0 or 1, one or several a sample, in floating-point numbers. A label that is the same in all samples has
    no area, and one that is neither there nor predicted has no F1: the means leave them out.
    """

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn(
            "binary_auc", float, "", "area under the ROC curve of yes-or-no labels", "measure `binary_scores`"
        ),
        ResultColumn("binary_f1", float, "", "F1 score of yes-or-no labels, 0 to 1", "measure `binary_scores`"),
    )

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the mean area and the mean F1 score; None where no label has one."""
        labels = given.labels.reshape(given.outputs.shape) > 0
        predicted = given.outputs > self.threshold
        areas = []
        scores = []
        for column, positive in enumerate(labels.T):
            if positive.any() and not positive.all():
                areas.append(area(given.outputs[:, column].astype(np.float64), positive))
            said = predicted[:, column]
            if positive.any() or said.any():
                scores.append(2 * (positive & said).sum() / (positive.sum() + said.sum()))
        return {"binary_auc": _mean(areas), "binary_f1": _mean(scores)}


def _mean(values: list[float]) -> float | None:
    if not values:
        return None
    return float(np.mean(values))
