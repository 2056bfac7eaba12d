"""A run as a Process Run Crate 0.5 (RO-Crate 1.1): its files, what made them, from what input, and when."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from edgefl.core.errors import InputError
from edgefl.core.files import FileGroup, is_half_written, opened
from edgefl.core.own_files import remove_half_written
from edgefl.results.export.run_files import FinishedRun, filled_json, finished_run
from edgefl.results.provenance import PACKAGES, digest
from edgefl.results.run_folder import SCENARIO_FILE

METADATA_FILE = "ro-crate-metadata.json"
PROGRAMS = {  # the pages of the programs whose versions the manifest has
    "python": "https://www.python.org/",
    **{name: f"https://pypi.org/project/{name}/" for name in PACKAGES},
}


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, *, licence: str | None) -> None:
    """Write the crate of one run as a ZIP file; the same folder gives the same bytes."""
    run = finished_run(folders, form)
    with ZipFile(sink, "w") as archive:
        archive.writestr(_zipped(METADATA_FILE), _metadata(run, licence))
        for file in run.files:
            with opened(run.folder / file.name) as source, archive.open(_zipped(file.name), "w") as target:
                shutil.copyfileobj(source, target)


def write_folder(folders: Sequence[Path], out: Path, form: str, *, licence: str | None) -> None:
    """Write the crate of one run as a folder, which must be new or empty, or hold files of a killed export of it."""
    run = finished_run(folders, form)
    try:
        if out.exists():
            if not _is_left_over(out, run):
                raise InputError(f"{out}: exists and is not an empty folder; choose another with -o")
            remove_half_written(out)
        with FileGroup(out) as crate:
            for file in run.files:
                with opened(run.folder / file.name) as source, crate.open(file.name) as target:
                    shutil.copyfileobj(source, target)
            crate.write(METADATA_FILE, _metadata(run, licence))  # last: a folder with this file is whole
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None


def _is_left_over(out: Path, run: FinishedRun) -> bool:
    """Return whether a path is a folder with nothing in it, or with what a killed export of the run has left."""
    if not out.is_dir() or out.samefile(run.folder):
        return False
    digests = {file.name: file.sha256 for file in run.files}
    return all(
        is_half_written(path) or (path.is_file() and digests.get(path.name) == digest(path)) for path in out.iterdir()
    )


def _zipped(name: str) -> ZipInfo:
    entry = ZipInfo(name)  # with a fixed date
    entry.compress_type = ZIP_DEFLATED
    return entry


def _metadata(run: FinishedRun, licence: str | None) -> bytes:
    return filled_json(
        "ro_crate.json.j2",
        run=run,
        metadata_file=METADATA_FILE,
        scenario_file=SCENARIO_FILE,
        programs=PROGRAMS,
        licence=licence,
    )
