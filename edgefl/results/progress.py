"""The rows of a run under way, for pages about it: whole tables, written now and then beside its checkpoints.

A result folder gets its tables at the end of the run. Until then the rows of rounds that have ended lie in `PROGRESS`,
in the same format, without the last ones. Nothing but pages reads them, and they are gone before the run counts as
finished.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic, sleep  # by their names: an app of Flower gets other functions in `time` while it runs
from typing import Any, NamedTuple

from edgefl.core.files import atomically, is_locked
from edgefl.results.integrity import MANIFEST_FILE, SUMMARY_FILE
from edgefl.results.reader import json_of
from edgefl.results.run_folder import LOCK, PROGRESS

ROUNDS_FILE = "rounds.csv"
RELEASE_S = 3.0  # wall-clock time in which the kernel lets go of the locks of a process that has ended
ASK_EVERY_S = 0.02  # for such a lock
EVERY_S = 2.0  # wall-clock time from one writing to the next, at least
TIME_SHARE = 0.02  # share of the wall-clock time that writing may take

log = logging.getLogger(__name__)


class SoFar(NamedTuple):
    """The tables and the summary of a run under way."""

    tables: Mapping[str, Iterable[bytes]]  # pieces of CSV files by their names
    summary: Mapping[str, Any]


class Progress:
    """Writes what a run has recorded so far, every two seconds at most; the first time counts from now.

    Results do not depend on it: it only reads, and what it cannot write is no loss.

    Args:
        folder: the result folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / PROGRESS
        self._last_s = monotonic()
        self._took_s = 0.0

    def note_round(self, so_far: Callable[[], SoFar]) -> None:
        """Note that a round has ended, and write what the run has recorded if that is due."""
        if monotonic() - self._last_s < max(EVERY_S, self._took_s / TIME_SHARE):
            return
        began_s = monotonic()
        if self._folder.parent.is_dir():  # somebody may have removed the result folder
            self._write(so_far())
        self._last_s = monotonic()
        self._took_s = self._last_s - began_s

    def _write(self, so_far: SoFar) -> None:
        contents = {**so_far.tables, SUMMARY_FILE: [json.dumps(so_far.summary).encode()]}
        # Rounds come last: whoever reads them first finds the participants of all of them.
        contents[ROUNDS_FILE] = contents.pop(ROUNDS_FILE)
        try:
            for name, pieces in contents.items():
                # A disk may take long, and what is lost if the power fails is no result.
                with atomically(self._folder / name, durable=False) as stream:
                    stream.writelines(pieces)
        except OSError as error:
            log.info(
                "%s: cannot be written: %s; pages about the run lack its last rounds", self._folder, error.strerror
            )


def is_unfinished(folder: Path) -> bool:
    """Return whether the run of a result folder has begun there and not written its results, whatever became of it.

    Raises:
        InputError: the manifest is damaged.
    """
    if not (folder / MANIFEST_FILE).is_file():
        return False
    return json_of(folder, MANIFEST_FILE).get("status") == "running"


def is_under_way(folder: Path) -> bool:
    """Return whether a process runs in a result folder now."""
    return is_locked(folder / LOCK)


def wait_until_released(folder: Path) -> None:
    """Wait until no process runs in a result folder, once the one that ran there has ended.

    Its children may see that it is gone while the last of its threads still holds the lock. Another process may have
    resumed the run meanwhile, so this waits for a few seconds at most.
    """
    give_up_s = monotonic() + RELEASE_S
    while is_under_way(folder) and monotonic() < give_up_s:
        sleep(ASK_EVERY_S)
