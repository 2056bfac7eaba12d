"""The tables of a run as Croissant 1.0 (MLCommons): files with SHA-256, and each column with its type and meaning."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from edgefl.core.errors import InputError
from edgefl.core.words import words_of
from edgefl.records.columns import ResultColumn
from edgefl.results.export.run_files import RunFile, finished_run, licence_url
from edgefl.results.reader import EVENTS_FILE, header_of

CROISSANT = "http://mlcommons.org/croissant/1.0"
# The context that the format's specification prescribes, word by word
CONTEXT = words_of(__file__, "croissant_context.json")
DATA_TYPES = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, *, licence: str | None) -> None:
    """Write the description of one run's tables; the addresses in it are relative to the run's folder."""
    if len(folders) > 1:
        raise InputError(f"export: --format {form} describes one run: name one result folder")
    run = finished_run(folders[0], form)
    tables = [file for file in run.files if file.columns]
    described: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "name": run.title,
        "description": f"Tables of an emulation of federated learning with edgefl {run.manifest['edgefl']}.",
        "datePublished": run.ended,
        "version": "1.0.0",
        "distribution": [_file_object(table) for table in tables],
        "recordSet": [_record_set(table, folders[0]) for table in tables],
    }
    if licence is not None:
        described["license"] = licence_url(licence)
    sink.write(json.dumps(described, indent=2, ensure_ascii=False).encode() + b"\n")


def _file_object(table: RunFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.name,
        "name": table.name,
        "description": table.meaning,
        "contentUrl": table.name,
        "contentSize": f"{table.size_bytes} B",
        "encodingFormat": table.media_type,
        "sha256": table.sha256,
    }


def _record_set(table: RunFile, folder: Path) -> dict[str, Any]:
    name = Path(table.name).stem
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": table.meaning,
        "field": [_field(column, name, table.name) for column in _columns_in(table, folder)],
    }


def _columns_in(table: RunFile, folder: Path) -> Iterator[ResultColumn]:
    """Yield the columns that the file of a table has; a column that no list knows is an algorithm's, a number."""
    known = {column.name: column for column in table.columns}
    names = list(known)
    if table.name != EVENTS_FILE:
        names = header_of(folder, table.name)
    for name in names:
        yield known.get(name) or ResultColumn(name, float, "", "a number that the algorithm traces")


def _field(column: ResultColumn, table: str, file: str) -> dict[str, Any]:
    description = column.meaning
    if column.unit:
        description += f" [{column.unit}]"
    field = {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": description,
        "dataType": DATA_TYPES[column.type],
        "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
    }
    if column.unit:
        field["unitText"] = column.unit
    return field
