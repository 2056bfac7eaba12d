"""Scheduled selection."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PrivateAttr, TypeAdapter, ValidationError, model_validator

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.core.paths import UserPath
from edgefl.core.section import fault, sentence
from edgefl.core.streams import Streams

Round = Annotated[tuple[NonNegativeInt, ...], Field(strict=False, min_length=1)]
Rounds = Annotated[tuple[Round, ...], Field(strict=False, min_length=1)]


class ScheduleSelection(Selection):
    """Who takes part is listed round by round, in order (rounds: or file:); repeated when shorter than the run."""

    rounds: Rounds | None = None
    file: UserPath | None = None  # JSON: [[0, 1], [1, 2], ...]

    _rounds: tuple[tuple[int, ...], ...] = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> ScheduleSelection:
        if (self.rounds is None) == (self.file is None):
            raise fault("needs either rounds: [[0, 1], ...] or file: schedule.json")
        if self.rounds is not None:
            self._rounds = self.rounds
        elif self.file is not None:
            try:
                self._rounds = TypeAdapter(Rounds).validate_json(self.file.read_bytes(), strict=True)
            except (OSError, ValidationError) as error:
                reason = error.strerror if isinstance(error, OSError) else sentence(error.errors()[0])
                text = f"{self.file} must hold a list of rounds such as [[0, 1], [1, 2]]: {reason}"
                raise fault(text) from None
        for number, ids in enumerate(self._rounds, 1):
            if len(set(ids)) < len(ids):
                raise fault(f"round {number} names a device twice: {list(ids)}")
        return self

    def check(self, count: int, participants: int) -> str | None:
        """Every device must exist."""
        worst = max(max(ids) for ids in self._rounds)
        return f"names device {worst}, but devices are numbered 0 to {count - 1}" if worst >= count else None

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """The listed devices that are present."""
        listed = np.array(self._rounds[index % len(self._rounds)], dtype=np.int64)
        return listed[np.isin(listed, present)]
