"""The area under the ROC curve of classes."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score
from edgefl.records.columns import ResultColumn

AUC = ResultColumn(
    "auc",
    float,
    "",
    "area under the ROC curve, each class against the rest, mean over the classes; empty where there is only one class",
    "measure `auc`",
)


class Auc(Score):
    """Area under the ROC curve: each class against the rest, mean over classes (Hand and Till, 2001, eq. 3).

    A sample's score for a class is the softmax of the network's outputs. Equal scores count half.
    """

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (AUC,)

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the mean area over the classes that some samples have and others do not."""
        from scipy.special import softmax  # late: to read a result folder takes no SciPy

        scores = softmax(given.outputs.astype(np.float64), axis=1)
        areas = []
        for label in np.unique(given.labels).tolist():
            positive = given.labels == label
            if not positive.all():
                areas.append(area(scores[:, label], positive))
        if not areas:
            return {"auc": None}
        return {"auc": float(np.mean(areas))}


def area(scores: Floats, positive: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Return the probability that a positive sample [n] has a higher score than another one, by the sum of ranks."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    ones = int(positive.sum())
    zeros = len(positive) - ones
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))
