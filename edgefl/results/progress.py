"""The rows of a run under way, for pages about it."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from pathlib import Path
from time import monotonic  # by name, as `time` has other functions while a Flower app runs
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefl.core.files import atomically, is_locked
from edgefl.core.units import percent, seconds
from edgefl.results.integrity import MANIFEST_FILE, SUMMARY_FILE
from edgefl.results.reader import json_of
from edgefl.results.run_folder import LOCK, PROGRESS

if TYPE_CHECKING:  # pages need no scenario's class
    from edgefl.scenario import Stop

ROUNDS_FILE = "rounds.csv"
EVERY_S = 2.0  # wall-clock, at least, from one write to the next
LAST_ROUNDS = 30  # whose mean length is that of the rounds to come
TIME_LEFT = "time_left"  # in the summary of the rounds so far
TIME_SHARE = 0.02  # of the wall-clock time that writing may take

log = logging.getLogger(__name__)


class SoFar(NamedTuple):
    """The tables and the summary of a run under way."""

    tables: Mapping[str, Iterable[bytes]]  # pieces of CSV files by their names
    summary: Mapping[str, Any]


class RemainingTime:
    """Estimates the wall-clock time that a run still takes, from its last rounds and its stop rule."""

    def __init__(self, rounds: int | None, stop: Stop) -> None:
        self._rounds = rounds
        self._stop = stop
        self._done = 0
        self._last: Mapping[str, Any] = {}
        # The first round includes start-up, and those that a resumed run repeats take less time: old ones are dropped.
        self._ended_s: deque[float] = deque(maxlen=LAST_ROUNDS + 1)

    def note_round(self, row: Mapping[str, Any]) -> None:
        """Note a round that has ended, by its row of `rounds.csv`."""
        self._done += 1
        self._last = row
        self._ended_s.append(monotonic())

    @property
    def left_s(self) -> float | None:
        """The time until the last round, or until a limit of virtual time or energy; None while it is not known."""
        if self._rounds is None or len(self._ended_s) < 2:
            return None
        rounds = float(self._rounds - self._done)
        for limit, column in ((self._stop.time_s, "time_s"), (self._stop.energy_j, "energy_j")):
            spent = float(self._last[column])
            if limit is not None and spent > 0:
                rounds = min(rounds, ceil((limit - spent) * self._done / spent))
        round_s = (self._ended_s[-1] - self._ended_s[0]) / (len(self._ended_s) - 1)
        return max(rounds, 0.0) * round_s

    @property
    def text(self) -> str:
        """The time in words, such as "about 40 s left"; empty while it is not known, and after the last round."""
        left_s = self.left_s
        if not left_s:
            return ""
        if self._stop.patience is not None:
            return f"at most about {seconds(left_s)} left"
        if self._stop.accuracy is None:
            return f"about {seconds(left_s)} left"
        # The round of that is not known.
        return f"time left unknown, as it stops at {percent(self._stop.accuracy)}: at most about {seconds(left_s)}"


class Progress:
    """Writes the tables of a run under way, at most every two seconds; results do not depend on it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / PROGRESS
        self._last_s = monotonic()
        self._took_s = 0.0

    def note_round(self, so_far: Callable[[], SoFar]) -> None:
        """Note that a round has ended, and write the tables if that is due."""
        if monotonic() - self._last_s < max(EVERY_S, self._took_s / TIME_SHARE):
            return
        began_s = monotonic()
        if self._folder.parent.is_dir():  # the result folder may have been removed
            self._write(so_far())
        self._last_s = monotonic()
        self._took_s = self._last_s - began_s

    def _write(self, so_far: SoFar) -> None:
        contents = {**so_far.tables, SUMMARY_FILE: [json.dumps(so_far.summary).encode()]}
        # Rounds come last: a page that reads them first finds all their participants.
        contents[ROUNDS_FILE] = contents.pop(ROUNDS_FILE)
        try:
            for name, pieces in contents.items():
                # Not durable: a disk may take long, and nothing is lost if the power fails.
                with atomically(self._folder / name, durable=False) as stream:
                    stream.writelines(pieces)
        except OSError as error:
            log.info(
                "%s: cannot be written: %s; pages about the run lack its last rounds", self._folder, error.strerror
            )


def is_unfinished(folder: Path) -> bool:
    """Return whether the run of a result folder has begun there without writing its results.

    Raises:
        InputError: the manifest is damaged.
    """
    if not (folder / MANIFEST_FILE).is_file():
        return False
    return json_of(folder, MANIFEST_FILE).get("status") == "running"


def is_under_way(folder: Path) -> bool:
    """Return whether a process is running in a result folder."""
    return is_locked(folder / LOCK)
