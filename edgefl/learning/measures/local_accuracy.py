"""Accuracies of devices around their local training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound
from edgefl.learning.measures.score import SAMPLES
from edgefl.records.columns import DEVICE, ResultColumn

if TYPE_CHECKING:
    from edgefl.learning.datasets import Data


class LocalAccuracy(Measure):
    """Accuracies on each participant's own test samples, before and after local training (as in Per-FedAvg, 2020).

    They are those of `data.test_partition`; if the test set is not divided, its training samples take their place.
    """

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn(
            "local_accuracy",
            float,
            "",
            "accuracy of participants' models after local training on their own samples, mean over participants",
            "measure `local_accuracy`",
        ),
    )
    row_columns: ClassVar[tuple[ResultColumn, ...]] = (
        DEVICE,
        SAMPLES,
        ResultColumn("received_accuracy", float, "", "accuracy of the model that the device received on its samples"),
        ResultColumn("local_accuracy", float, "", "the same of the model that its local training has made"),
        ResultColumn("next_accuracy", float, "", "the same of the global model that the round has made"),
    )
    of_joint_updates: ClassVar[bool] = True
    of_local_models: ClassVar[bool] = True

    def refusal(self, data: Data) -> str | None:
        """See Measure."""
        if not data.classes:
            return "needs samples with classes"
        return None

    def columns(self, learned: LearnedRound) -> Mapping[str, float | None]:
        """Return the mean accuracy of the local models."""
        accuracies = [local for _, _, _, local, _ in self.rows(learned)]
        if not accuracies:
            return {"local_accuracy": None}
        return {"local_accuracy": float(np.mean(accuracies))}

    def rows(self, learned: LearnedRound) -> Sequence[tuple[Any, ...]]:
        """Return device, samples, and accuracies of the received model, the device's own, and the new global one."""
        return learned.accuracies_around()
