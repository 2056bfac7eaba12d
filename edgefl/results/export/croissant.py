"""The tables of a run as Croissant 1.1 (MLCommons): files with SHA-256, and each column with its type and meaning."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from edgefl.core.words import words_of
from edgefl.records.columns import ResultColumn
from edgefl.results.export.run_files import RunFile, filled_json, finished_run
from edgefl.results.reader import EVENTS_FILE, header_of

DATA_TYPES = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, *, licence: str | None) -> None:
    """Write the description of one run's tables; the addresses in it are relative to the run's folder."""
    run = finished_run(folders, form)
    described = filled_json(
        "croissant.json.j2",
        context=words_of(__file__, "croissant_context.json"),
        run=run,
        tables=[file for file in run.files if file.columns],
        columns_of=partial(_columns_in, folder=run.folder),
        data_types=DATA_TYPES,
        licence=licence,
    )
    sink.write(described)


def _columns_in(table: RunFile, folder: Path) -> Iterator[ResultColumn]:
    """Yield the columns that the file of a table has; a column that no list knows is an algorithm's, a number."""
    known = {column.name: column for column in table.columns}
    names = list(known)
    if table.name != EVENTS_FILE:
        names = header_of(folder, table.name)
    for name in names:
        yield known.get(name) or ResultColumn(name, float, "", "a number that the algorithm traces")
