"""A run as a Process Run Crate 0.5 (RO-Crate 1.1): its files, and what made them from which input, when."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from edgefl.core.errors import InputError
from edgefl.core.files import FileGroup, is_half_written, opened
from edgefl.core.own_files import remove_half_written
from edgefl.results.export.run_files import FinishedRun, RunFile, finished_run, licence_url
from edgefl.results.provenance import PACKAGES, digest
from edgefl.results.run_folder import SCENARIO_FILE

METADATA_FILE = "ro-crate-metadata.json"
CRATE = "https://w3id.org/ro/crate/1.1"
CONTEXT = (f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context")  # the second one has sha256
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
PAGES = {  # of the programs whose versions the manifest has
    "python": "https://www.python.org/",
    **{name: f"https://pypi.org/project/{name}/" for name in PACKAGES},
}
NO_LICENCE = "No licence is stated; ask the authors of these results."

Entity = dict[str, Any]


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, *, licence: str | None) -> None:
    """Write the crate of one run as a ZIP file; the same folder gives the same bytes."""
    run = _run(folders, form)
    with ZipFile(sink, "w") as archive:
        archive.writestr(_zipped(METADATA_FILE), _metadata(run, licence))
        for file in run.files:
            with opened(run.folder / file.name) as source, archive.open(_zipped(file.name), "w") as target:
                shutil.copyfileobj(source, target)


def write_folder(folders: Sequence[Path], out: Path, form: str, *, licence: str | None) -> None:
    """Write the crate of one run as a folder, which must be new or empty, or hold files of a killed export of it."""
    run = _run(folders, form)
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


def _run(folders: Sequence[Path], form: str) -> FinishedRun:
    if len(folders) > 1:
        raise InputError(f"export: --format {form} describes one run: name one result folder")
    return finished_run(folders[0], form)


def _zipped(name: str) -> ZipInfo:
    entry = ZipInfo(name)  # with a fixed date
    entry.compress_type = ZIP_DEFLATED
    return entry


def _metadata(run: FinishedRun, licence: str | None) -> bytes:
    graph = [_descriptor(), *_root(run, licence), _profile(), _action(run), *_software(run)]
    graph += [_file(file) for file in run.files]
    return json.dumps({"@context": CONTEXT, "@graph": graph}, indent=2, ensure_ascii=False).encode() + b"\n"


def _reference(name: str) -> Entity:
    return {"@id": name}


def _descriptor() -> Entity:
    return {
        "@id": METADATA_FILE,
        "@type": "CreativeWork",
        "conformsTo": _reference(CRATE),
        "about": _reference("./"),
    }


def _root(run: FinishedRun, licence: str | None) -> list[Entity]:
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": run.title,
        "description": f"Results of an emulation of federated learning with edgefl {run.manifest['edgefl']}.",
        "datePublished": run.ended,
        "conformsTo": _reference(PROFILE),
        "hasPart": [_reference(file.name) for file in run.files],
        "mentions": _reference("#run"),
    }
    if licence is None:
        return [root | {"license": NO_LICENCE}]
    url = licence_url(licence)
    about = {"@id": url, "@type": "CreativeWork", "name": licence, "description": "The licence of these results."}
    return [root | {"license": _reference(url)}, about]


def _profile() -> Entity:
    return {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}


def _action(run: FinishedRun) -> Entity:
    results = [file.name for file in run.files if file.name != SCENARIO_FILE]
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"edgefl run {run.scenario['name']}",
        "description": "The emulation of the scenario, whose defaults are filled in.",
        "instrument": _reference("#edgefl"),
        "object": _reference(SCENARIO_FILE),
        "result": [_reference(name) for name in results],
        "startTime": run.started,
        "endTime": run.ended,
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }


def _software(run: FinishedRun) -> list[Entity]:
    edgefl: Entity = {
        "@id": "#edgefl",
        "@type": "SoftwareApplication",
        "name": "edgefl",
        "description": "A wireless-edge emulator for federated learning.",
        "softwareVersion": run.manifest["edgefl"],
        "license": _reference("https://spdx.org/licenses/Apache-2.0"),
        "softwareRequirements": [_reference(page) for page in PAGES.values()],
    }
    packages = [
        {
            "@id": page,
            "@type": "SoftwareApplication",
            "name": name,
            "url": page,
            "softwareVersion": run.manifest[name],
        }
        for name, page in PAGES.items()
    ]
    return [edgefl, *packages]


def _file(file: RunFile) -> Entity:
    return {
        "@id": file.name,
        "@type": "File",
        "name": file.name,
        "description": file.meaning,
        "encodingFormat": file.media_type,
        "contentSize": str(file.size_bytes),
        "sha256": file.sha256,
    }
