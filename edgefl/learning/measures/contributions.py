"""Contributions of devices to the model."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from edgefl.core.section import Count
from edgefl.learning.datasets.base import Data
from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound
from edgefl.records.columns import DEVICE, ResultColumn


class Contributions(Measure):
    """Shapley values of the devices' updates: what each update is worth (FedAR paper, Fig. 1)."""

    row_columns: ClassVar[tuple[ResultColumn, ...]] = (
        DEVICE,
        ResultColumn("contribution", float, "", "Shapley value: what the update has added to the model's value"),
    )
    of_joint_updates: ClassVar[bool] = True

    every: Count = 10  # Rounds from one evaluation of contributions to the next.
    # Whose contributions are measured; all has also devices whose stored update counts.
    players: Literal["participants", "all"] = "participants"
    permutations: Count = 200  # Random orders that are drawn for more than ten players.
    # What a model is worth on the test set; a lower loss is worth more.
    value: Literal["accuracy", "loss"] = "accuracy"

    @property
    def of_stored_updates(self) -> bool:
        """True if devices with a stored update are players, too."""
        return self.players == "all"

    def refusal(self, data: Data) -> str | None:
        """See Measure."""
        if self.value == "accuracy" and not data.classes:
            return "the value accuracy needs samples with classes, and the value loss does not"
        return None

    def rows(self, learned: LearnedRound) -> Sequence[tuple[Any, ...]]:
        """Return each player and the value of its update."""
        if learned.updates is None:
            return ()
        return learned.contributions(self)
