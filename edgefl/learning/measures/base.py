"""The base of measures.

A measure sees each round that was learned (`LearnedRound`) and adds rows to its table, columns to ``rounds.csv``, or
both. The fields of the class are its keys in the scenario. Ledger, result folders, exports, digests and pages know only
what it declares here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from edgefl.core.catalogue import Member
from edgefl.core.section import Count
from edgefl.learning.measures.learned_round import LearnedRound
from edgefl.records.columns import ROUND, SESSION, ResultColumn
from edgefl.records.result_files import ResultFile

if TYPE_CHECKING:
    from edgefl.learning.datasets import Data


class Measure(Member):
    """Base of all measures; their draws come from `LearnedRound.generator`, so that a resumed run draws the same."""

    name: ClassVar[str]
    """Name of the measure's table, without its ending; by default that of the class, as in my_measure."""

    round_columns: ClassVar[tuple[ResultColumn, ...]] = ()
    """The columns that it adds to rounds.csv."""

    row_columns: ClassVar[tuple[ResultColumn, ...]] = ()
    """The columns of its table, behind session and round; none if it has no table."""

    of_joint_updates: ClassVar[bool] = False
    """True if it needs the updates that a round has aggregated into one model."""

    of_local_models: ClassVar[bool] = False
    """True if it needs the models of participants, so that each must upload its move."""

    of_kept_samples: ClassVar[bool] = False
    """True if it needs participants' training samples, which must then be the same in every round."""

    @property
    def of_stored_updates(self) -> bool:
        """True if it needs each device's last update, which only some algorithms keep at the server."""
        return False

    every: Count = 1  # Rounds from one measurement to the next.

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Name a measure after its class, unless it has a name."""
        super().__pydantic_init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def table(cls) -> ResultFile | None:
        """Return the file of the measure's table; None if it has none."""
        if not cls.row_columns:
            return None
        meaning = (cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        return ResultFile(f"{cls.name}.csv", meaning, columns=(SESSION, ROUND, *cls.row_columns))

    def due(self, number: int) -> bool:
        """Return whether a round is measured, by its number in its session; an extra round has 0 or less."""
        return number > 0 and number % self.every == 0

    def refusal(self, data: Data) -> str | None:
        """Return why nothing can be measured with these data; None if it can."""
        return None

    def before(self, learned: LearnedRound) -> Mapping[str, float | None]:
        """Return columns of rounds.csv about the model at the beginning of the round."""
        return {}

    def columns(self, learned: LearnedRound) -> Mapping[str, float | None]:
        """Return columns of rounds.csv, by their names, when the round has been learned; None: an empty cell."""
        return {}

    def rows(self, learned: LearnedRound) -> Sequence[tuple[Any, ...]]:
        """Return rows of the measure's table, each with the values of `row_columns`, when the round was learned."""
        return ()
