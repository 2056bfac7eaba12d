"""Losses of devices around their local training."""

from collections.abc import Sequence
from typing import Any, ClassVar

from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound
from edgefl.records.columns import DEVICE, ResultColumn


class DeviceLosses(Measure):
    """Losses on each participant's training samples, before and after local training."""

    row_columns: ClassVar[tuple[ResultColumn, ...]] = (
        DEVICE,
        ResultColumn(
            "received_loss", float, "", "mean loss of the model that the device received on its training samples"
        ),
        ResultColumn("local_loss", float, "", "the same of the model that its local training has made"),
        ResultColumn("next_loss", float, "", "the same of the global model that the round has made"),
    )
    of_joint_updates: ClassVar[bool] = True
    of_local_models: ClassVar[bool] = True
    of_kept_samples: ClassVar[bool] = True

    def due(self, number: int) -> bool:
        """Return whether a round is measured, extra rounds included."""
        return number <= 0 or super().due(number)

    def rows(self, learned: LearnedRound) -> Sequence[tuple[Any, ...]]:
        """Return device and losses of the received model, of the device's own, and of the new global one."""
        if learned.updates is None:
            return ()
        return learned.losses_around()
