"""The folder of a sweep: a file that says what it is, an index, and a folder for each run."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import yaml

from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError
from edgefl.core.files import is_half_written
from edgefl.results import writer
from edgefl.runs.report_page import REPORT
from edgefl.runs.sweep_index import INDEX
from edgefl.scenario import Scenario, Sweep

CONTENT = "sweep.yaml"
STATISTICS_FILE = "statistics.csv"  # written with the report
LOCK = Path("checkpoints") / "lock"  # locked by the process that runs the sweep


def check_folder(out: Path, content: str, *, resume: bool, overwrite: bool, growing: bool = False) -> None:
    """Check that a sweep can be run in a folder, before anything is run.

    Args:
        out: the folder.
        content: what `content_of` says of the sweep.
        resume: the sweep in the folder is continued.
        overwrite: the sweep in the folder is replaced.
        growing: a sweep that is continued may have other points than the one in the folder, such as more seeds; those
            that both have must be the same.

    Raises:
        InputError: the folder holds another sweep or other files, or cannot be written.
    """
    writer.check_folder(out, overwrite=overwrite or resume)
    if not out.exists():
        return
    names = {path.name for path in out.iterdir() if not is_half_written(path)}
    if CONTENT not in names and names - {LOCK.parent.name}:
        raise InputError(f"{out}: holds other files than a sweep's; choose another folder with -o")
    if not resume or CONTENT not in names:
        return
    # Compared as bytes: a damaged file may be no text at all.
    same = (out / CONTENT).read_bytes() == content.encode()
    if not same and growing:
        before = _points_of(out)
        now = {str(point["folder"]): point["digest"] for point in yaml.safe_load(content)["points"]}
        same = all(before.get(place, digest) == digest for place, digest in now.items())
    if not same:
        text = "was begun with another sweep; choose another folder with -o, or replace it with --overwrite"
        raise InputError(f"{out}: {text}")


def clear(out: Path) -> None:
    """Remove an earlier sweep: its own files and the folders that it names, and nothing else.

    Raises:
        InputError: the file that names its folders is damaged.
    """
    if not (out / CONTENT).exists():
        return
    labels = {place.split("/")[0] for place in _points_of(out)}
    # Somebody may have edited the file: it must never make us remove `out` itself or its parent.
    for label in labels - {"", ".", ".."}:
        shutil.rmtree(out / label, ignore_errors=True)
    for name in (CONTENT, INDEX, STATISTICS_FILE, REPORT):
        (out / name).unlink(missing_ok=True)


def _points_of(out: Path) -> dict[str, str]:
    """Return the points of the sweep in a folder: the digest of each one's scenario by its result folder.

    Raises:
        InputError: the file that names them is damaged.
    """
    try:
        earlier = yaml.safe_load((out / CONTENT).read_text(encoding="utf-8"))
        return {str(point["folder"]): str(point["digest"]) for point in earlier["points"]}
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        raise InputError(f"{out / CONTENT}: is damaged; remove the folder, or choose another with -o") from None


def content_of(sweep: Sweep) -> str:
    """Return a sweep as YAML, with a digest of every point's scenario; a resumed sweep must have the same text."""
    points = []
    for point in sweep.points:
        digest = scenario_digest(point.scenario)  # the base file may change between two attempts
        points.append({"values": dict(point.values), "folder": str(point.place), "digest": digest})
    content = {"name": sweep.name, "keys": list(sweep.keys), "train": sweep.train, "points": points}
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def scenario_digest(scenario: Scenario) -> str:
    """Return a digest of a scenario with all its defaults, and of the plug-ins that it names."""
    text = scenario.model_dump_json()
    for plugin in plugins_in(scenario):  # their source may change between two attempts, too
        text += plugin.sha256()
    return hashlib.sha256(text.encode()).hexdigest()[:16]
