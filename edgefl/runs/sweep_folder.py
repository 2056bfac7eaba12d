"""The folder of a sweep: a file that describes it, an index, and a folder for each run."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError, RunError, Taken
from edgefl.core.files import read_bytes, read_text
from edgefl.core.own_files import Mark, begins_with, check_lock, check_replaceable, is_own, remove, remove_empty
from edgefl.core.written_yaml import NotYaml, parse_written
from edgefl.results import run_folder
from edgefl.results.run_folder import CHECKPOINTS, LOCK
from edgefl.runs.extension import OTHERWISE
from edgefl.runs.report_page import REPORT
from edgefl.runs.sweep_index import INDEX
from edgefl.scenario import Scenario, Sweep

CONTENT = "sweep.yaml"
STATISTICS_FILE = "statistics.csv"  # written with the report


def _is_content(head: bytes) -> bool:
    return re.match(rb"name: .*\nkeys:.*\ntrain: (true|false)\npoints:", head, re.DOTALL) is not None


MARKS: dict[str, Mark] = {  # of a sweep's own files
    CONTENT: _is_content,
    INDEX: begins_with(b"point,seed,"),
    STATISTICS_FILE: run_folder.STATISTICS,
    REPORT: run_folder.PAGE,
}


def check_folder(out: Path, sweep: Sweep, *, resume: bool, overwrite: bool, growing: bool = False) -> None:
    """Check that a sweep can be run in a folder, before it begins.

    With `growing` a continued sweep may have other points, such as more seeds; common points must be the same.

    Raises:
        InputError: the folder holds another sweep or other files, or cannot be written.
    """
    run_folder.check_usable(out, may_hold_files=overwrite or resume)
    _check_files(out, content_of(sweep))
    content = content_of(sweep)
    if not resume or not (out / CONTENT).exists() or read_bytes(out / CONTENT) == content.encode():
        return
    before = _points_of(out)
    now = _digests(content)
    if not growing or any(now[place] != before[place] for place in now.keys() & before.keys()):
        raise InputError(f"{out}: was begun with another sweep; {OTHERWISE}")


def as_begun(out: Path, sweep: Sweep) -> Sweep:
    """Return a sweep with the folders that its runs have in an earlier attempt, which may be named otherwise.

    Raises:
        InputError: the file that names the runs is damaged.
    """
    if not (out / CONTENT).exists():
        return sweep
    folder_of = {digest: Path(folder) for folder, digest in _points_of(out).items()}
    points = []
    for point in sweep.points:
        folder = folder_of.get(scenario_digest(point.scenario))
        if folder is None or folder.name != point.place.name:
            points.append(point)
        else:
            points.append(replace(point, label=folder.parts[0]))
    renamed = replace(sweep, points=tuple(points), not_in_folders=())
    if points == list(sweep.points) or len({point.place for point in points}) < len(points):
        return sweep
    return renamed


def check_still(out: Path, content: str, before: int | None) -> None:
    """Check under the lock that a folder has not changed since `check_folder`.

    Raises:
        Taken: another process has run there meanwhile.
        InputError: the folder holds other files now.
    """
    if begun_ns(out) != before:
        text = "another process has run there meanwhile; choose another folder with -o, or resume it"
        raise Taken(f"{out}: {text}")
    _check_files(out, content)


def is_begun(out: Path) -> bool:
    """Return whether a folder holds a sweep."""
    return is_own(out / CONTENT, MARKS[CONTENT])


def begun_ns(out: Path) -> int | None:
    """Return when the sweep in a folder was last begun, resumed or replaced [ns]; None without one."""
    try:
        return (out / CONTENT).stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_files(out: Path, content: str) -> None:
    """Check that a folder holds a sweep or nothing yet, and that edgefl wrote each file with a name of edgefl's."""
    names = run_folder.names_in(out)
    begun = is_begun(out)
    only_lock = names <= {CHECKPOINTS} and run_folder.holds_only_lock(out)
    if names and not begun and not only_lock:
        raise run_folder.holds_others(out, "sweep", names)
    check_replaceable(out, MARKS)
    check_lock(out / LOCK)
    if not names:
        return
    places = list(_digests(content))
    if begun:
        places += _points_of(out)
    for place in dict.fromkeys(places):
        if (out / place).exists():
            run_folder.check_files(out / place)


def clear(out: Path) -> None:
    """Remove the files of an earlier sweep and of its runs, and nothing else.

    Raises:
        InputError: the file that names its runs is damaged.
        RunError: the system does not allow it.
    """
    if not (out / CONTENT).exists():
        return
    try:
        for place in _points_of(out):
            folder = out / place
            if folder.is_dir():
                run_folder.remove_checkpoints(folder)
                run_folder.remove_results(folder)
            for emptied in (folder, folder.parent):
                remove_empty(emptied)
        # Last, as this file names the rest.
        for name in (INDEX, STATISTICS_FILE, REPORT, CONTENT):
            remove(out / name, MARKS[name])
    except OSError as error:
        raise RunError(f"{out}: cannot be written: {error.strerror}; choose another folder with -o") from None


def _points_of(out: Path) -> dict[str, str]:
    try:
        found = _digests(read_text(out / CONTENT))
        # An edited file must not make edgefl remove files outside of `out`.
        if all(len(Path(place).parts) == 2 and not {"..", "/"} & set(Path(place).parts) for place in found):
            return found
    except (OSError, ValueError, KeyError, TypeError, NotYaml):
        pass
    raise InputError(f"{out / CONTENT}: is damaged; remove the folder, or choose another with -o")


def _digests(content: str) -> dict[str, str]:
    return {str(point["folder"]): str(point["digest"]) for point in parse_written(content)["points"]}


def content_of(sweep: Sweep) -> str:
    """Return a sweep as YAML, with a digest of every scenario; a resumed sweep must have the same text."""
    points = []
    for point in sweep.points:
        digest = scenario_digest(point.scenario)  # the base file may change between two attempts
        points.append({"values": dict(point.values), "folder": str(point.place), "digest": digest})
    content: dict[str, Any] = {"name": sweep.name, "keys": list(sweep.keys), "train": sweep.train, "points": points}
    if sweep.not_in_folders:
        content["not_in_folders"] = list(sweep.not_in_folders)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def scenario_digest(scenario: Scenario) -> str:
    """Return a digest of a scenario with all its defaults, and of the plug-ins that it names."""
    # A label and targets change no round.
    text = scenario.model_copy(update={"label": None, "targets": ()}).model_dump_json()
    for plugin in plugins_in(scenario):  # their source may change between two attempts, too
        text += plugin.sha256()
    return hashlib.sha256(text.encode()).hexdigest()[:16]
