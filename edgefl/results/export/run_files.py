"""A finished run as descriptions for other programs name it: its title, its times, its files with their SHA-256."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.own_files import is_own
from edgefl.records.columns import ResultColumn
from edgefl.results.integrity import check_all, expected
from edgefl.results.provenance import digest
from edgefl.results.reader import FINISHED_STATUS, read_documents, tables_by_rows
from edgefl.results.report.shared.templates import render
from edgefl.results.report.sweep import is_sweep
from edgefl.results.result_tables import result_files
from edgefl.results.run_folder import RESULT_MARKS

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".npy": "application/octet-stream",
    ".parquet": "application/x-parquet",
    ".safetensors": "application/octet-stream",
    ".yaml": "application/yaml",
}


class RunFile(NamedTuple):
    """A file of a result folder."""

    name: str
    meaning: str
    columns: Sequence[ResultColumn]  # of a table
    size_bytes: int
    sha256: str

    @property
    def media_type(self) -> str:
        """Return the media type (RFC 6838)."""
        return MEDIA_TYPES[Path(self.name).suffix]


class FinishedRun(NamedTuple):
    """A result folder whose files are as its run wrote them."""

    folder: Path
    scenario: Mapping[str, Any]
    manifest: Mapping[str, Any]
    started: str  # ISO 8601
    ended: str
    files: Sequence[RunFile]  # in the order of the pages about them

    @property
    def title(self) -> str:
        """Return the name of the scenario with the seed."""
        return f"{self.scenario['name']}, seed {self.scenario['seed']}"


def finished_run(folders: Sequence[Path], form: str) -> FinishedRun:
    """Return the run of the only result folder.

    Raises:
        InputError: there are several folders, the folder is a sweep's, its run has not finished, or a file is not as
            the run wrote it.
    """
    if len(folders) > 1:
        raise InputError(f"export: --format {form} describes one run: name one result folder")
    folder = folders[0]
    if is_sweep(folder):
        raise InputError(f"{folder}: is a sweep's folder: --format {form} describes one run, name its folder")
    documents = read_documents(folder)
    status = documents.manifest.get("status")
    if status != FINISHED_STATUS:
        raise InputError(f"{folder}: its run is {status}: finish it with `edgefl run --resume`")
    check_all(folder)
    digests = expected(folder)
    files: list[RunFile] = []
    for file in (*result_files(), *tables_by_rows(folder)):
        path = folder / file.name
        # A manifest and a page have no digest; any other file without one has come later, and is none of the run's.
        own = file.name in digests or (not file.digested and is_own(path, RESULT_MARKS[file.name]))
        if own and path.is_file() and file.name not in {known.name for known in files}:
            if path.is_symlink():
                text = "is a link, and what it leads to would be copied: put the file itself in its place"
                raise InputError(f"{path}: {text}")
            sha256 = digests.get(file.name) or digest(path)
            meaning = re.sub(r" \([^()]*`docs/[^()]*\)|`", "", file.meaning)
            files.append(RunFile(file.name, meaning, file.columns, path.stat().st_size, sha256))
    started = datetime.fromisoformat(documents.manifest["started"])
    ended = started + timedelta(seconds=round(documents.manifest["wall_s"]))
    return FinishedRun(folder, documents.scenario, documents.manifest, started.isoformat(), ended.isoformat(), files)


def licence_url(licence: str) -> str:
    """Return the address of a licence, given by its SPDX identifier or its address.

    Raises:
        InputError: it is neither.
    """
    if re.fullmatch(r"https?://\S+", licence):
        return licence
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]*", licence):
        return f"https://spdx.org/licenses/{licence}"
    raise InputError(f"export: --license {licence}: write an SPDX identifier such as CC-BY-4.0, or an address")


def filled_json(template: str, *, licence: str | None, **values: object) -> bytes:
    """Return a template of JSON in this folder, filled in and indented; it also gets the address of the licence.

    Raises:
        InputError: the licence is neither an SPDX identifier nor an address.
    """
    address = None if licence is None else licence_url(licence)
    filled = render(f"results/export/{template}", licence=licence, licence_url=address, **values)
    return json.dumps(json.loads(filled), indent=2, ensure_ascii=False).encode() + b"\n"
