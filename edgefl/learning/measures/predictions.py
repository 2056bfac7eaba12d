"""Predicted classes."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from edgefl.core.section import Count
from edgefl.learning.datasets.base import Data
from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound
from edgefl.records.columns import ResultColumn


class Predictions(Measure):
    """Test samples by class and predicted class, in some rounds."""

    row_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn("label", int, "", "class of the test samples"),
        ResultColumn("predicted", int, "", "class that the global model predicts for them"),
        ResultColumn("samples", int, "", "how many test samples these are"),
    )

    # Rounds that are measured; by default all that every gives.
    rounds: Annotated[tuple[Count, ...], Field(strict=False)] = ()

    def due(self, number: int) -> bool:
        """See Measure."""
        return super().due(number) and (not self.rounds or number in self.rounds)

    def refusal(self, data: Data) -> str | None:
        """See Measure."""
        if not data.classes:
            return "needs samples with classes"
        return None

    def rows(self, learned: LearnedRound) -> Sequence[tuple[Any, ...]]:
        """Return label, predicted class and number of samples."""
        return learned.outputs().pairs()
