"""The norm of the gradient at the model of a round."""

from collections.abc import Mapping
from typing import ClassVar

from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound
from edgefl.records.columns import ResultColumn


class GradientNorm(Measure):
    """Squared norm of the gradient at the round's first model (dynamic-devices paper, eq. 9)."""

    round_columns: ClassVar[tuple[ResultColumn, ...]] = (
        ResultColumn(
            "squared_gradient_norm",
            float,
            "",
            "squared norm of the gradient of the mean loss over all training samples of the session's devices, at the "
            "round's first model; empty in extra rounds",
            "`report.gradient_norm`",
        ),
    )

    def before(self, learned: LearnedRound) -> Mapping[str, float | None]:
        """Return the squared norm."""
        return {"squared_gradient_norm": learned.squared_gradient_norm()}
