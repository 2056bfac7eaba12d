"""The accuracy of yes-or-no labels: of a network with one output, or of several labels a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgefl.learning.measures.learned_round import ModelOutputs
from edgefl.learning.measures.score import Score
from edgefl.records.columns import ResultColumn

if TYPE_CHECKING:
    from edgefl.learning.datasets import Data

ACCURACY = ResultColumn(
    "binary_accuracy", float, "", "share of labels that are predicted right, 0 to 1", "measure `binary_accuracy`"
)
EXACT = ResultColumn(
    "exact_match", float, "", "share of samples all of whose labels are predicted right", "measure `binary_accuracy`"
)


class BinaryAccuracy(Score):
    """Accuracy of labels that are 0 or 1, one or several a sample, and exact match (Sorower, 2010).

    Such labels are floating-point numbers, and the loss is one of binary labels, such as torch's
    `binary_cross_entropy_with_logits`. A label counts as predicted where the network's output is above the threshold.
    """

    of: ClassVar[str] = "numbers"
    round_columns: ClassVar[tuple[ResultColumn, ...]] = (ACCURACY, EXACT)

    threshold: float = 0.0  # Threshold of outputs, 0 for logits, 0.5 for probabilities.

    def refusal(self, data: Data) -> str | None:
        """Return why nothing can be measured with these data; None if it can."""
        reason = super().refusal(data)
        if reason is None and not np.isin(data.test_y, (0, 1)).all():
            return "needs labels that are 0 or 1"
        return reason

    def values(self, given: ModelOutputs) -> Mapping[str, float | None]:
        """Return the share of labels, and that of samples with all of them."""
        labels = given.labels.reshape(given.outputs.shape)
        right = (given.outputs > self.threshold) == (labels > 0)
        return {"binary_accuracy": float(right.mean()), "exact_match": float(right.all(axis=1).mean())}
