"""Scheduled selection."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, PrivateAttr, TypeAdapter, ValidationError, model_validator

from edgefl.coordination.selection.base import Selection
from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.files import read_bytes
from edgefl.core.paths import UserFile
from edgefl.core.section import fault, sentence
from edgefl.core.streams import Streams

ScheduledRound = Annotated[tuple[NonNegativeInt, ...], Field(strict=False, min_length=1)]
ScheduledRounds = Annotated[tuple[ScheduledRound, ...], Field(strict=False, min_length=1)]


class ScheduleSelection(Selection):
    """Participants are listed round by round, in order (rounds: or file:); repeated when shorter than the run."""

    # Participants of each round in order, as [[0, 1], [1, 2], ...]; the list starts again when it ends.
    rounds: ScheduledRounds | None = None
    file: UserFile | None = None  # JSON file with the same list as rounds.

    _schedule: ScheduledRounds = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> ScheduleSelection:
        if (self.rounds is None) == (self.file is None):
            raise fault("needs either rounds: [[0, 1], ...] or file: schedule.json")
        if self.rounds is not None:
            self._schedule = self.rounds
        elif self.file is not None:
            try:
                self._schedule = TypeAdapter(ScheduledRounds).validate_json(read_bytes(self.file), strict=True)
            except OSError as error:
                raise self._unreadable(error.strerror) from None
            except ValidationError as error:
                raise self._unreadable(sentence(error.errors()[0])) from None
        for number, ids in enumerate(self._schedule, 1):
            if len(set(ids)) < len(ids):
                raise fault(f"round {number} names a device twice: {list(ids)}")
        return self

    def _unreadable(self, reason: str | None) -> Exception:
        return fault(f"{self.file} must hold a list of rounds such as [[0, 1], [1, 2]]: {reason}")

    def check(self, count: int, participants: int) -> str | None:
        """Return which scheduled device does not exist; None if all do."""
        greatest = max(max(ids) for ids in self._schedule)
        if greatest < count:
            return None
        return f"names device {greatest}, but devices are numbered 0 to {count - 1}"

    def expected(self, participants: int, present: float) -> float:
        """Return the mean number of devices in a round of the list, or the number that can be asked, if lower."""
        return min(float(np.mean([len(ids) for ids in self._schedule])), present)

    def asked(self, presence: Floats) -> Floats:
        """Return the share of rounds [devices] that list each device while it is present."""
        listed = np.bincount(np.concatenate(self._schedule), minlength=len(presence))
        return np.asarray(presence * listed / len(self._schedule))

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the scheduled devices that are present."""
        scheduled = np.array(self._schedule[index % len(self._schedule)], dtype=np.int64)
        return scheduled[np.isin(scheduled, present)]
