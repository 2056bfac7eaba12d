"""How evenly the global model serves the devices."""

from typing import ClassVar

import numpy as np

from edgefl.learning.datasets import Data
from edgefl.learning.measures import LearnedRound, Measure
from edgefl.records.columns import ResultColumn


class Evenness(Measure):
    """Accuracy of the global model on the worst tenth of the devices, and Jain's index of the accuracies (1984)."""

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn("worst_tenth", float, "", "mean accuracy of the worst tenth of the devices, at least one"),
        ResultColumn("evenness", float, "", "(sum a)^2 / (n sum a^2) of n devices' accuracies a: 1 if all are alike"),
    )

    def refusal(self, data: Data) -> str | None:
        """Return that samples have no classes; None if they have."""
        return None if data.classes else "needs samples with classes"

    def columns(self, learned: LearnedRound) -> dict[str, float | None]:
        """Return both; Jain's index is undefined where no device has an accuracy above 0."""
        accuracies = np.sort([(seen.classes == seen.labels).mean() for _, seen in learned.outputs_by_device()])
        worst = accuracies[: max(1, len(accuracies) // 10)]
        squares = (accuracies**2).mean()
        evenness = accuracies.mean() ** 2 / squares if squares else None
        return {"worst_tenth": float(worst.mean()), "evenness": evenness}
