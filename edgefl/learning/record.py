"""What has been learned, on record: outcomes in a journal, and now and then the state that led to them.

The key of a record is a digest of everything that learning has been told up to there (see Replay), so that what is
found under a key is what would be learned again: a run that goes on, or another one that learns the same, need not.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from edgefl.core.errors import RunError
from edgefl.core.files import locked

JOURNAL = "journal.jsonl"
KEPT = 2  # states: the last one, and the one before in case it is damaged

log = logging.getLogger(__name__)


class Pace:
    """When states are put on record: every so many rounds or seconds of wall-clock.

    Where neither is given it takes at most two per cent of the time; in either case what is kept changes no result.
    """

    SHARE, FIRST_S = 0.02, 10.0

    def __init__(self, rounds: int | None = None, seconds: float | None = None) -> None:
        self._rounds, self._seconds = rounds, seconds
        self._since, self._ended_s, self._took_s = 0, time.monotonic(), 0.0

    def due(self) -> bool:
        """Whether the round that has just been learned ends with one; to be asked after each."""
        self._since += 1
        if self._rounds is not None:
            return self._since >= self._rounds
        least_s = max(self.FIRST_S, self._took_s / self.SHARE) if self._seconds is None else self._seconds
        return time.monotonic() - self._ended_s >= least_s

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Measure how long it takes."""
        began_s = time.monotonic()
        yield
        self._since, self._ended_s = 0, time.monotonic()
        self._took_s = self._ended_s - began_s


class _State(NamedTuple):
    """A file, and what it was when it was written."""

    path: Path
    sha256: str


class Record:
    """Keeps nothing, and has nothing on record: what learns once needs no more."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Any] = {}
        self._states: dict[str, _State] = {}  # oldest first

    def outcome(self, key: str) -> Any:
        """What came out under a key; None where that is not on record."""
        return self._outcomes.get(key)

    def note(self, key: str, outcome: Any) -> None:
        """Put an outcome (anything that JSON can hold) on record."""

    def restore(self, key: str, read: Callable[[BinaryIO], None]) -> bool:
        """Read the state under a key; whether there is a good one."""
        return False

    def save(self, key: str, write: Callable[[BinaryIO], None], *, lasting: bool = False) -> None:
        """Keep a state; the last few of those that are not `lasting`."""

    def clear(self) -> None:
        """Begin anew."""

    def close(self) -> None:
        """Let others use the files."""


class Journal(Record):
    """A record in a folder. One process at a time: the operating system lets go of the lock when a process ends.

    Nothing is written before `open`; what is noted until then is written there.

    Args:
        folder: where it lies.
        fresh: begin anew; what was there is replaced by `open`.
        others: folders of other journals, whose runs have ended: what they have on record counts, too.

    Raises:
        InputError: another process uses it, or it cannot be read.
    """

    def __init__(self, folder: Path, *, fresh: bool = False, others: Sequence[Path] = ()) -> None:
        super().__init__()
        self._folder, self._fresh = folder, fresh
        self._file: BinaryIO | None = None
        self._waiting: list[dict[str, Any]] | None = []  # until `open`
        self._passing: list[str] = []  # keys of its own states that are not to last
        for other in others:
            with (other / JOURNAL).open("rb") as file:
                self._read(file, other)
        if (folder / JOURNAL).exists():
            self._file = locked(folder / JOURNAL)
            if not fresh:
                self._file.truncate(self._read(self._file, folder))  # a killed process may have left half a line

    def _read(self, file: BinaryIO, folder: Path) -> int:
        """Take in all lines that are whole; how many bytes these are."""
        file.seek(0)
        good = 0
        for line in file:
            try:
                entry = json.loads(line) if line.endswith(b"\n") else {}
                key = entry.pop("key")
            except (ValueError, AttributeError, KeyError):
                break
            good += len(line)
            if "file" in entry:
                self._states[key] = _State(folder / entry["file"], entry["sha256"])
                if folder == self._folder and not entry.get("lasting"):
                    self._passing.append(key)
            else:
                self._outcomes[key] = entry.get("outcome")
        return good

    def open(self) -> None:
        """Write from now on."""
        self._file = self._file or locked(self._folder / JOURNAL)
        if self._fresh:
            self._file.truncate(0)
            for state in self._folder.glob("*.state"):
                state.unlink()
        waiting, self._waiting = self._waiting, None
        for entry in waiting or ():
            self._append(entry)

    def clear(self) -> None:
        """See Record; the files are replaced by `open`."""
        self._outcomes, self._states, self._fresh = {}, {}, True

    def note(self, key: str, outcome: Any) -> None:
        """See Record.

        Raises:
            RunError: the disk is full.
        """
        if key not in self._outcomes:
            self._outcomes[key] = outcome
            self._append({"key": key, "outcome": outcome})

    def _append(self, entry: dict[str, Any]) -> None:
        if self._file is None or self._waiting is not None:
            self._waiting = [*(self._waiting or []), entry]
            return
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise RunError(f"{self._folder}: cannot be written: {error.strerror}") from None

    def restore(self, key: str, read: Callable[[BinaryIO], None]) -> bool:
        """Read the state under a key, if its file is as it was written; say so if not."""
        state = self._states.get(key)
        if state is None:
            return False
        try:
            with state.path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != state.sha256:
                    text = "%s: is damaged; what came after the checkpoint before it is learned again"
                    log.warning(text, state.path)
                    return False
                file.seek(0)
                read(file)
        except OSError as error:
            text = "%s: cannot be read (%s); what came after the checkpoint before it is learned again"
            log.warning(text, state.path, error.strerror)
            return False
        return True

    def save(self, key: str, write: Callable[[BinaryIO], None], *, lasting: bool = False) -> None:
        """Keep a state, whole or not at all, and only the last few.

        A disk that is full is no reason to stop: the state before is still there.
        """
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.state"
        part = path.with_suffix(".part")
        try:
            with part.open("w+b") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if self._file is not None:
                os.fsync(self._file.fileno())  # the outcomes that led there come first
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            log.warning("%s: this checkpoint cannot be written: %s", self._folder, error.strerror)
            return
        self._states[key] = _State(path, digest)
        self._append({"key": key, "file": path.name, "sha256": digest, "lasting": lasting})
        self._passing += [] if lasting else [key]
        while len(self._passing) > KEPT:
            old = self._passing.pop(0)
            self._states.pop(old).path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others use the folder."""
        if self._file is not None:
            self._file.close()
