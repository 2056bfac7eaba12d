"""The record of what has been learned: outcomes in a journal, and now and then the state that led to them.

The key of an entry is a digest of all commands that learning received before it (see Replay). Learning again would give
the same outcome, so a run that resumes, or another run that learns the same, takes it from the record.
"""

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from edgefl.core import interrupts, own_files
from edgefl.core.errors import RunError
from edgefl.core.files import is_locked, locked, opened

JOURNAL = "journal.jsonl"
LARGEST_CONCLUDED_BYTES = 2**28  # of the state that a finished run keeps, 256 MiB
KEPT_STATES = 2  # the last one, and the one before in case the last one is damaged
FIRST_DIGEST = hashlib.sha256(b"edgefl journal").hexdigest()  # the digest before the first line
LINE_OPENS = b'{"digest": "'
STATE_DIGITS = 24  # of a state's name
STATE_FORM = rf"[0-9a-f]{{{STATE_DIGITS}}}\.state"
RECORD_FORM = rf"[0-9a-f]{{{STATE_DIGITS}}}\.(state|part)"  # also of a state that is being written

log = logging.getLogger(__name__)


class Pace:
    """Says when the next state is due: after a number of rounds, or of seconds of wall-clock.

    Without either, checkpoints take at most two per cent of the time. Results do not depend on it.
    """

    TIME_SHARE = 0.02  # share of the wall-clock time that writing states may take
    FIRST_S = 10.0  # a run shorter than this is learned again faster than its state is written

    def __init__(self, rounds: int | None = None, seconds: float | None = None) -> None:
        self._rounds = rounds
        self._seconds = seconds
        self._rounds_since = 0
        self._last_s = time.monotonic()
        self._took_s = 0.0

    def due(self) -> bool:
        """Count a round, and return whether a state is due after it; call this once after each round."""
        self._rounds_since += 1
        if self._rounds is not None:
            return self._rounds_since >= self._rounds
        interval_s = self._seconds
        if interval_s is None:
            # A state that took long to write is due less often, so that the share of time stays the same.
            interval_s = max(self.FIRST_S, self._took_s / self.TIME_SHARE)
        return time.monotonic() - self._last_s >= interval_s

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Measure how long writing a state takes, and start counting towards the next state."""
        began_s = time.monotonic()
        yield
        self._rounds_since = 0
        self._last_s = time.monotonic()
        self._took_s = self._last_s - began_s


class _StateFile(NamedTuple):
    """A file with a state, and its digest when it was written."""

    path: Path
    sha256: str
    passing: bool  # of this journal, and deleted when there are newer ones


class _Misfit(Exception):  # noqa: N818 - the name says what is wrong
    """A line of a journal is not what was written there."""


def _line(entry: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    """Return an entry as a line of a journal, and the line's digest, which covers the digest `before` it as well."""
    body = json.dumps(entry).encode()
    digest = _digest(body, before)
    return LINE_OPENS + digest.encode() + b'", ' + body[1:] + b"\n", digest


def _digest(body: bytes, before: str) -> str:
    return hashlib.sha256(before.encode() + body).hexdigest()


def _entry(line: bytes, before: str) -> tuple[dict[str, Any], str]:
    """Return the entry of a line and the line's digest; raise `_Misfit` if the line is damaged or not the next one."""
    begin = len(LINE_OPENS)
    end = begin + len(before)
    body = b"{" + line[end + len(b'", ') : -1]
    digest = _digest(body, before)
    if line != LINE_OPENS + digest.encode() + b'", ' + body[1:] + b"\n":
        raise _Misfit
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        raise _Misfit from None
    if not isinstance(entry.get("key"), str):
        raise _Misfit
    return entry, digest


def _state_name(key: str) -> str:
    return f"{hashlib.sha256(key.encode()).hexdigest()[:STATE_DIGITS]}.state"


def begins_record(head: bytes) -> bool:
    """Return whether a journal begins as edgefl's do; it may be empty or end in the middle of a line."""
    return head.startswith(LINE_OPENS) or LINE_OPENS.startswith(head)


def is_state(head: bytes) -> bool:
    """Return whether a file begins as states do: as an archive of `values`, or as a model; it may be cut anywhere."""
    archive = b"PK\x03\x04".startswith(head[:4]) and b"values".startswith(head[30:36])
    return archive or b'{"__metadata__":{"edgefl":'.startswith(head[8:34])


def _locked(folder: Path, *, make: bool) -> BinaryIO:
    """Return the journal in a folder, open and locked; backups of it stay as they are."""
    journal = folder / JOURNAL
    if not is_locked(journal):
        own_files.unlink_copies(journal)
    return locked(journal, make=make)


def remove_record(folder: Path) -> None:
    """Remove the record in a journal's folder, as far as the system allows it; call this under its lock."""
    with suppress(OSError):
        own_files.remove_named(list(folder.iterdir()), RECORD_FORM, is_state)
        own_files.remove_named([folder / JOURNAL], re.escape(JOURNAL))  # last: it says whose folder this is
    own_files.remove_empty(folder)


class Record:
    """A record that is always empty, for a run in memory, which learns everything once."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Any] = {}
        self._states: dict[str, _StateFile] = {}  # oldest first

    def outcome(self, key: str) -> Any:
        """Return the outcome under a key, or None if there is none."""
        return self._outcomes.get(key)

    def note(self, key: str, outcome: Any) -> None:
        """Record an outcome, which may be anything that JSON can hold."""

    def restore(self, key: str, read: Callable[[BinaryIO], None]) -> bool:
        """Pass the state under a key to `read`; return whether there was an undamaged one."""
        return False

    def save(self, key: str, write: Callable[[BinaryIO], None], *, lasting: bool = False) -> None:
        """Keep the state that `write` writes, and delete the oldest states that are not `lasting`."""

    def drop(self, key: str) -> None:
        """Delete the state under a key, unless other runs share the record and may need it."""

    def clear(self) -> None:
        """Forget everything on record."""

    def close(self) -> None:
        """Release the files to other processes."""


class Journal(Record):
    """A record in a folder, for one process at a time: the operating system frees the lock when a process ends.

    Nothing is written before `open`, which writes what was noted earlier, so a run that turns out to be impossible
    leaves no trace.

    Args:
        folder: the folder of this journal.
        fresh: begin an empty journal; `open` replaces the one in the folder.
        others: folders of other journals, whose runs have ended; their entries count, too.
        shared: other runs will read this journal, so that it keeps what this run no longer needs.

    Raises:
        InputError: another process uses the journal, or it cannot be read.
    """

    def __init__(self, folder: Path, *, fresh: bool = False, others: Sequence[Path] = (), shared: bool = False) -> None:
        super().__init__()
        self._shared = shared
        self._folder = folder
        self._fresh = fresh
        self._file: BinaryIO | None = None
        self._unwritten: list[dict[str, Any]] | None = []  # entries noted before `open`; None from then on
        self._digest = FIRST_DIGEST  # of the last line
        self._good_bytes = 0  # of the lines that count
        for other in others:
            self._read_other(other)
        if (folder / JOURNAL).exists():
            self._file = _locked(folder, make=False)
            if not fresh:
                self._read_own(self._file)

    def _read_other(self, folder: Path) -> None:
        """Read the journal of another run; one that cannot be read counts as empty."""
        try:
            with opened(folder / JOURNAL) as file:
                for entry in self._entries(file, folder):
                    self._take(entry, folder, own=False)
        except OSError as error:
            log.warning("%s: cannot be read (%s), so it counts as empty", folder / JOURNAL, error.strerror)

    def _read_own(self, file: BinaryIO) -> None:
        for entry in self._entries(file, self._folder):
            self._take(entry, self._folder, own=True)
        whole = os.fstat(file.fileno()).st_size == self._good_bytes
        for key in self._passing[:-KEPT_STATES]:
            del self._states[key]  # its file was deleted when newer ones were written
        if not whole:
            # The lines that named the newest states may be lost, and the files of earlier ones were deleted.
            self._states = {key: state for key, state in self._states.items() if state.path.is_file()}

    def _entries(self, file: BinaryIO, folder: Path) -> Iterator[dict[str, Any]]:
        """Yield the entries of a journal up to its end, or to the first line that does not fit; warn of that line."""
        digest = FIRST_DIGEST
        good_bytes = 0
        file.seek(0)
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break  # a killed process may leave half a line at the end
            try:
                entry, digest = _entry(line, digest)
                self._check_file(entry)
            except _Misfit:
                log.warning("%s", _misfit_text(folder / JOURNAL, number))
                break
            good_bytes += len(line)
            yield entry
        if folder == self._folder:
            self._digest = digest
            self._good_bytes = good_bytes

    @staticmethod
    def _check_file(entry: Mapping[str, Any]) -> None:
        """Check that an entry names only the file of its key, as files that it names are deleted later."""
        if "file" not in entry:
            return
        if entry["file"] != _state_name(entry["key"]) or not isinstance(entry.get("sha256"), str):
            raise _Misfit

    def _take(self, entry: Mapping[str, Any], folder: Path, *, own: bool) -> None:
        if "file" not in entry:
            self._outcomes[entry["key"]] = entry.get("outcome")
            return
        passing = own and not entry.get("lasting")
        self._put(entry["key"], _StateFile(folder / entry["file"], entry["sha256"], passing))

    def _put(self, key: str, state: _StateFile) -> None:
        self._states.pop(key, None)
        self._states[key] = state

    @property
    def _passing(self) -> list[str]:
        return [key for key, state in self._states.items() if state.passing]

    def open(self) -> None:
        """Begin to write: first the entries that have been noted so far, then each new one immediately.

        Raises:
            InputError: another process uses the journal, or it cannot be written; nothing has been changed.
        """
        self.lock()
        if self._file is None:
            raise AssertionError
        if self._fresh:
            self._good_bytes = 0
            self._digest = FIRST_DIGEST
        # The next line overwrites half a line, or lines that do not count.
        self._file.truncate(self._good_bytes)
        known = {state.path for state in self._states.values()}
        own_files.remove_named([path for path in self._folder.iterdir() if path not in known], STATE_FORM, is_state)
        unwritten = self._unwritten or []
        self._unwritten = None
        for entry in unwritten:
            self._append(entry)

    def lock(self) -> None:
        """Keep other processes out of the folder, which is made if needed; see `open` for errors."""
        if self._file is None:
            self._file = _locked(self._folder, make=True)

    @property
    def holds_lock(self) -> bool:
        """True if this process still has the lock of the folder: not if the file or the folder has been removed."""
        if self._file is None or self._file.closed:
            return False
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), (self._folder / JOURNAL).stat())
        except OSError:
            return False

    def withdraw(self) -> None:
        """Remove the folder if `lock` has made it, and release it."""
        if self._file is not None and os.fstat(self._file.fileno()).st_size == 0:
            own_files.remove_named([self._folder / JOURNAL], re.escape(JOURNAL))
            own_files.remove_empty(self._folder)
        self.close()

    def clear(self) -> None:
        """See Record; the files stay until `open` replaces them."""
        self._outcomes = {}
        self._states = {}
        self._fresh = True

    def note(self, key: str, outcome: Any) -> None:
        """See Record; raises a RunError if the disk is full."""
        if key in self._outcomes:
            return
        self._outcomes[key] = outcome
        self._append({"key": key, "outcome": outcome})

    def _append(self, entry: dict[str, Any]) -> None:
        """Write an entry as a line, or keep it until the journal is open."""
        if self._file is None or self._unwritten is not None:
            self._unwritten = [*(self._unwritten or []), entry]
            return
        try:
            line, digest = _line(entry, self._digest)
            with interrupts.deferred():  # half a line would end the record
                self._file.write(line)
                self._file.flush()
                self._digest = digest
        except OSError as error:
            raise RunError(f"{self._folder}: cannot be written: {error.strerror}") from None

    def restore(self, key: str, read: Callable[[BinaryIO], None]) -> bool:
        """Pass the state under a key to `read`, if its file is as it was written; warn if it is not."""
        state = self._states.get(key)
        if state is None:
            return False
        consequence = "what came after the checkpoint before it is learned again"
        try:
            with opened(state.path) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != state.sha256:
                    log.warning("%s: is damaged; %s", state.path, consequence)
                    return False
                file.seek(0)
                read(file)
        except OSError as error:
            log.warning("%s: cannot be read (%s); %s", state.path, error.strerror, consequence)
            return False
        return True

    def save(self, key: str, write: Callable[[BinaryIO], None], *, lasting: bool = False) -> None:
        """Write a state, never half of one, and keep only the last few.

        A full disk does not end the run: the state before is still there.
        """
        if self._file is not None and not self.holds_lock:
            log.warning("%s: was removed while the run was under way: checkpoints are no longer written", self._folder)
            return
        path = self._folder / _state_name(key)
        # Written under another name and then renamed: a crash never leaves half a state under the name of a good one.
        part = path.with_suffix(".part")
        try:
            digest = self._write_state(part, write)
            # The outcomes that led to the state reach the disk before the state does.
            if self._file is not None:
                os.fsync(self._file.fileno())
            part.replace(path)
        except OSError as error:
            with suppress(OSError):
                own_files.remove_named([part], RECORD_FORM)
            log.warning("%s: this checkpoint cannot be written: %s", self._folder, error.strerror)
            return
        log.info("checkpoint: %s", path)
        self._put(key, _StateFile(path, digest, passing=not lasting))
        self._append({"key": key, "file": path.name, "sha256": digest, "lasting": lasting})
        for oldest in self._passing[:-KEPT_STATES]:
            own_files.remove_named([self._states.pop(oldest).path], STATE_FORM)

    def drop(self, key: str) -> None:
        """See Record."""
        state = self._states.get(key)
        if state is None or self._shared or state.path.parent != self._folder or not self.holds_lock:
            return
        with suppress(OSError):
            own_files.remove_named([state.path], STATE_FORM)
        del self._states[key]

    @staticmethod
    def _write_state(path: Path, write: Callable[[BinaryIO], None]) -> str:
        """Write a state and wait until it is on the disk; return its SHA-256."""
        # Writing through a link would change another file.
        own_files.remove_named([path], RECORD_FORM)
        with path.open("x+b") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()

    def conclude(self, best: str | None) -> bool:
        """Delete all states but the newest one; return False if there is none, or it is too large to be kept.

        The tensors of the best model, under the key `best`, stay too.
        """
        passing = self._passing
        if not passing or not self._states[passing[-1]].path.is_file():
            return False
        kept = self._states[passing[-1]].path
        stay = {kept}
        if best in self._states:
            stay.add(self._states[best].path)
        own_files.remove_named([path for path in self._folder.iterdir() if path not in stay], STATE_FORM, is_state)
        return kept.stat().st_size <= LARGEST_CONCLUDED_BYTES

    def close(self) -> None:
        """Release the folder to other processes."""
        if self._file is not None:
            # The buffer may still hold a line whose failed write has been reported.
            with suppress(OSError):
                self._file.close()


def _misfit_text(path: Path, number: int) -> str:
    if number > 1:
        return (
            f"{path}:{number}: does not fit the lines before it, so the record counts only up to there; "
            "what came after is learned again"
        )
    return f"{path}:1: is damaged, so the record does not count; learning begins again"
