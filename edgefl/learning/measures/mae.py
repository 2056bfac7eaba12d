"""The mean absolute error of a regression."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score
from edgefl.records.columns import ResultColumn

MAE = ResultColumn("mae", float, "", "mean absolute error, in the unit of the labels", "measure `mae`")


class MeanAbsoluteError(Score):
    """Mean absolute error of a regression, over samples and the numbers of each (Willmott and Matsuura, 2005)."""

    name: ClassVar[str] = "mae"
    of: ClassVar[str] = "numbers"
    round_columns: ClassVar[tuple[ResultColumn, ...]] = (MAE,)

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the mean error."""
        labels = given.labels.reshape(given.outputs.shape).astype(np.float64)
        return {"mae": float(np.abs(labels - given.outputs).mean())}
