"""The coefficient of determination of a regression."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score
from edgefl.records.columns import ResultColumn

R_SQUARED = ResultColumn(
    "r2",
    float,
    "",
    "1 - squared errors / squared deviations from the mean label; of several numbers the mean; at most 1",
    "measure `r2`",
)


class R2(Score):
    """Coefficient of determination of a regression: 1 - residual / total sum of squares (Draper and Smith, 1998).

    Where a sample has several numbers it is the mean of theirs. It is not defined for labels that are all equal.
    """

    of: ClassVar[str] = "numbers"
    round_columns: ClassVar[tuple[ResultColumn, ...]] = (R_SQUARED,)

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the mean over a label's numbers."""
        labels = given.labels.reshape(given.outputs.shape).astype(np.float64)
        residual = ((labels - given.outputs) ** 2).sum(axis=0)
        total = ((labels - labels.mean(axis=0)) ** 2).sum(axis=0)
        if not total.all():
            return {"r2": None}
        return {"r2": float((1 - residual / total).mean())}
