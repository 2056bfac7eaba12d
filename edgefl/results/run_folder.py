"""The folder of a run: the files that edgefl writes there, how it recognises them, and their removal."""

import json
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from edgefl.core import own_files
from edgefl.core.errors import InputError
from edgefl.core.files import is_half_written, read_bytes
from edgefl.core.own_files import Mark, begins_with, first_line_has, is_own
from edgefl.learning.record import JOURNAL, begins_record, remove_record
from edgefl.records.result_files import LABELS_BY_ROUND, ResultFile
from edgefl.results.integrity import MANIFEST_FILE, SUMMARY_FILE, WHAT_IF_FILE, check_unedited, expected
from edgefl.results.reader import FINISHED_STATUS
from edgefl.results.result_tables import measured_tables

SCENARIO_FILE = "scenario.yaml"
LABELS_FILE = "labels.csv"
TRACKS_FILE = "tracks.csv"
DEVICE_ACCURACY_FILE = "device_accuracy.csv"
MODEL_FILE = "model.safetensors"
BEST_MODEL_FILE = "best_model.safetensors"
REPORT_FILE = "report.html"
CHECKPOINTS = "checkpoints"  # folder of the record that a run can be resumed from
LOCK = Path(CHECKPOINTS) / JOURNAL  # locked by the process that works in the folder: with a run, a sweep or a study
PROGRESS = Path(CHECKPOINTS) / "progress"  # folder of the rows of a run under way


def _begins_like(form: bytes) -> Mark:
    return lambda head: re.match(form, head) is not None


def _is_page(head: bytes) -> bool:
    policy = b"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline';"
    return head.startswith(b'<!DOCTYPE html>\n<html lang="en">') and policy in head[:1024]


def _is_saved_model(head: bytes) -> bool:
    return head[8:].startswith(b'{"__metadata__":{"edgefl":')  # after the length of the header


def _marks_of(tables: Iterable[ResultFile]) -> dict[str, Mark]:
    return {table.name: first_line_has(*(column.name for column in table.columns[1:])) for table in tables}


PAGE: Mark = _is_page
STATISTICS: Mark = first_line_has("runs", "finished")  # of a sweep's statistics.csv
RESULT_MARKS: dict[str, Mark] = {  # of the files that a new run in the same folder replaces
    MANIFEST_FILE: _begins_like(rb'\{\s*"edgefl":\s*"'),
    SCENARIO_FILE: begins_with(b"name: "),
    LABELS_FILE: first_line_has("device", "label", "samples"),
    "rounds.csv": first_line_has("round", "time_s", "duration_s"),
    "devices.csv": first_line_has("round", "device", "cell"),
    DEVICE_ACCURACY_FILE: first_line_has("device", "samples", "accuracy"),
    TRACKS_FILE: first_line_has("device", "time_s", "x_m", "y_m"),
    "events.parquet": begins_with(b"PAR1"),
    SUMMARY_FILE: _begins_like(rb'\{\s*"rounds":\s*\d'),
    MODEL_FILE: _is_saved_model,
    BEST_MODEL_FILE: _is_saved_model,
    WHAT_IF_FILE: first_line_has("key", "value", "refused"),
    REPORT_FILE: PAGE,
    **_marks_of([LABELS_BY_ROUND, *measured_tables()]),
}
RESULT_FILES = tuple(RESULT_MARKS)
PROGRESS_FILES = ("rounds.csv", "devices.csv", TRACKS_FILE, SUMMARY_FILE)
WITHOUT_DIGEST = {MANIFEST_FILE, WHAT_IF_FILE, REPORT_FILE}  # may be written long after the run
FILES_OF_MANY_RUNS = ("sweep.yaml", "measured.csv")  # of a sweep's folder, and of a study's
STRONG_MARKS = (MANIFEST_FILE, MODEL_FILE)  # each of them identifies a run
WEAK_MARKS = (SUMMARY_FILE, "rounds.csv", "devices.csv")  # two of them do, as other programs' files may begin like one


def check_usable(folder: Path, *, may_hold_files: bool) -> None:
    """Check that results can be written to a folder, before a run begins.

    Raises:
        InputError: it holds files and must not, or it cannot be written.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file, the results need a folder; choose another with -o")
        if folder.is_dir() and any(folder.iterdir()) and not may_hold_files:
            raise InputError(f"{folder}: is not empty; choose another folder with -o, or replace it with --overwrite")
        _check_permission(folder)
    except OSError as error:  # such as a name that is too long
        raise InputError(f"{folder}: cannot be written: {error.strerror}; choose another folder with -o") from None


def _check_permission(folder: Path) -> None:
    existing = folder.absolute()  # or the nearest existing folder above it
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written (no permission in {existing}); choose another folder with -o")


def check_folder(folder: Path, *, may_hold_run: bool, beside_others: bool = False) -> None:
    """Check that a run can write its results to a folder, before it begins; see also `check_files`.

    The folder need not exist. With `may_hold_run` a run in it is replaced or continued; other files may be in it only
    `beside_others`.

    Raises:
        InputError: it holds other files than a run's, or it cannot be written.
    """
    check_usable(folder, may_hold_files=may_hold_run)
    names = names_in(folder)
    if names and not beside_others and not _holds_run(folder, names):
        raise holds_others(folder, "run", names)


def names_in(folder: Path) -> set[str]:
    """Return the names in a folder, if it exists.

    Half-written files count only if there is nothing else, as no killed process leaves only these.
    """
    try:
        paths = list(folder.iterdir())
    except OSError:
        return set()
    return {path.name for path in paths if not is_half_written(path)} or {path.name for path in paths}


def holds_others(folder: Path, kind: str, names: Collection[str]) -> InputError:
    """Return the refusal to use a folder with files of another kind; it names some of them."""
    shown = ", ".join(sorted(names)[:3])
    if len(names) > 3:
        shown = f"{shown}, ..."
    return InputError(f"{folder}: holds other files than a {kind}'s ({shown}); choose another folder with -o")


def _holds_run(folder: Path, names: Collection[str]) -> bool:
    """Return whether a folder belongs to a run, perhaps one that was killed as it began."""
    strong = sum(is_own(folder / name, RESULT_MARKS[name]) for name in STRONG_MARKS)
    weak = sum(is_own(folder / name, RESULT_MARKS[name]) for name in WEAK_MARKS)
    if strong >= 1 or weak >= 2:
        return True
    journal = folder / LOCK
    if is_own(journal, begins_record) and not own_files.is_empty_file(journal):
        return True
    return set(names) == {CHECKPOINTS} and holds_only_lock(folder)


def holds_only_lock(folder: Path) -> bool:
    """Return whether the checkpoints of a folder hold nothing but perhaps an empty lock."""
    lock = folder / LOCK
    free = not os.path.lexists(lock) or own_files.is_empty_file(lock)
    return free and lock.parent.is_dir() and names_in(lock.parent) <= {JOURNAL}


def check_files(folder: Path, more: Iterable[ResultFile] = ()) -> None:
    """Check that edgefl has written all files of a run's folder that have names of results.

    Where the manifest has a file's digest, the digest decides, and otherwise the file's beginning. A finished run has
    digests of all its tables, so a table without one has come later.

    Raises:
        InputError: another program has written one of them, or a user has edited it, so it must not be replaced.
    """
    manifest = _manifest(folder)
    finished = manifest.get("status") == FINISHED_STATUS
    marks = RESULT_MARKS | _marks_of(more)
    own_files.check_replaceable(folder, marks)
    if finished:
        for name in sorted(marks.keys() - WITHOUT_DIGEST - expected(folder).keys()):
            if os.path.lexists(folder / name):
                raise own_files.foreign_file(folder / name)
    check_unedited(folder)
    own_files.check_replaceable(folder / PROGRESS, {name: RESULT_MARKS[name] for name in PROGRESS_FILES})
    checkpoints = folder / CHECKPOINTS
    if os.path.lexists(checkpoints) and not checkpoints.is_dir():
        raise own_files.foreign_file(checkpoints)
    # The record of a killed run may be damaged anywhere.
    if (finished or not manifest) and own_files.is_foreign(folder / LOCK, begins_record):
        raise own_files.foreign_file(folder / LOCK)


def _manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder; an empty mapping if edgefl cannot read it or has not written it."""
    path = folder / MANIFEST_FILE
    if not is_own(path, RESULT_MARKS[MANIFEST_FILE]):
        return {}
    try:
        manifest: dict[str, Any] = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return manifest


def remove_results(folder: Path) -> None:
    """Remove the results of an earlier run from its folder.

    Raises:
        OSError: the system does not allow it.
    """
    for name, mark in RESULT_MARKS.items():
        own_files.remove(folder / name, mark)
    own_files.remove_half_written(folder)


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove some results of a run from its folder, if edgefl has written them.

    Raises:
        OSError: the system does not allow it.
    """
    for name in names:
        own_files.remove(folder / name, RESULT_MARKS[name])


def remove_progress(folder: Path) -> None:
    """Remove the rows of a run under way from its result folder, as far as the system allows it."""
    place = folder / PROGRESS
    try:
        remove_files(place, PROGRESS_FILES)
        own_files.remove_half_written(place)
    except OSError:  # there may be none
        return
    own_files.remove_empty(place)


def remove_checkpoints(folder: Path) -> None:
    """Remove the record of a finished run, as far as the system allows it; call this under its lock."""
    remove_progress(folder)
    remove_record(folder / CHECKPOINTS)
