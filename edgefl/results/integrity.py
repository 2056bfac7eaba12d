"""Checks that the files of a result folder are unchanged, by the digests in its manifest."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.core.strict_json import strict_json
from edgefl.results.provenance import digest

MANIFEST_FILE = "manifest.json"
SUMMARY_FILE = "summary.json"
SUMMARY_DIGEST = "summary_digest"  # outside `digests`, as the summary has wall-clock times
WHAT_IF_FILE = "what_if.csv"
DATA_DIGEST = "data_digest"  # outside `digests`, as the data are not a file of the folder
DATA_LACKS = "data_lacks"  # how many samples of the published dataset its file lacks; only if some are missing
WHAT_IF_DIGEST = "what_if_digest"  # outside `digests`, as the file may be written and removed long after the run


def check_file(folder: Path, name: str) -> None:
    """Check that a file of a result folder is unchanged.

    A file without a digest passes, as a run under way has written none yet; so does a file that does not exist.

    Raises:
        InputError: it was changed or damaged, or the manifest is damaged.
    """
    if name == MANIFEST_FILE:
        return
    wanted = expected(folder).get(name)
    if wanted is None:
        return
    path = folder / name
    try:
        facts = path.stat()
        found = _digest_of(path, facts.st_ino, facts.st_size, facts.st_mtime_ns)
    except OSError:
        return  # reading it will fail
    if found != wanted:
        raise InputError(f"{path}: {_CHANGED}")


def check_all(folder: Path) -> None:
    """Check that no file of a run's result folder is missing or changed.

    Raises:
        InputError: one line for each file that is.
    """
    faults = []
    for name in expected(folder):
        if not (folder / name).is_file():
            if name == WHAT_IF_FILE:  # it may be removed, and computed again
                continue
            faults.append(f"{folder / name}: is missing; {_AGAIN}")
            continue
        try:
            check_file(folder, name)
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(*faults)


def check_unedited(folder: Path) -> None:
    """Check that no file of a run's result folder is changed, before files there are replaced; some may be missing.

    Raises:
        InputError: one is changed, or the manifest is damaged.
    """
    for name in expected(folder):
        check_file(folder, name)


_AGAIN = "restore it, or run the scenario again with --overwrite"
_CHANGED = (
    f"was damaged or edited after the run (its SHA-256 is not that of {MANIFEST_FILE}); "
    "restore it, or move it away and run the scenario again with --overwrite"
)


def expected(folder: Path) -> Mapping[str, str]:
    """Return the digests of the manifest by file; none without a manifest.

    Raises:
        InputError: the manifest is damaged.
    """
    path = folder / MANIFEST_FILE
    manifest = manifest_of(folder)
    digests = manifest.get("digests") or {}
    if not isinstance(digests, dict):
        raise InputError(f"{path}: digests: expected a mapping, got {type(digests).__name__}; {_AGAIN}")
    found = dict(digests)
    if SUMMARY_DIGEST in manifest:
        found[SUMMARY_FILE] = manifest[SUMMARY_DIGEST]
    if WHAT_IF_DIGEST in manifest:
        found[WHAT_IF_FILE] = manifest[WHAT_IF_DIGEST]
    for name in found:
        if Path(name).name != name:
            raise InputError(f"{path}: digests: {name!r} is not a file of the folder; {_AGAIN}")
    return found


def manifest_of(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a folder; an empty mapping if there is none.

    Raises:
        InputError: it is damaged.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest: Any = strict_json(read_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}; {_AGAIN}") from None
    if not isinstance(manifest, dict):
        raise InputError(f"{path}: expected a mapping, got {type(manifest).__name__}; {_AGAIN}")
    return manifest


@lru_cache(maxsize=1024)
def _digest_of(path: Path, inode: int, size: int, changed_ns: int) -> str:
    return digest(path)
