"""JSON with one row per line; numbers that are not finite become null."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from edgefl.results.export.exported_runs import ExportedRun, exported_runs
from edgefl.results.export.tables import export_table
from edgefl.results.reader import TableRow, json_of, rows_of


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, where: Sequence[str] = ()) -> None:
    """Write a table as a list of objects; without `part` a whole run as an object, or several runs as a list."""
    if part is not None:
        texts = _row_list(export_table(folders, part, where).rows)
    else:
        runs = exported_runs(folders, where)
        if len(runs) == 1 and runs[0].values is None:
            texts = _whole_run(folders[0], {})
        else:
            texts = _list_of(_whole_run(run.folder, _head(run)) for run in runs)
    # Text by text, as a table may not fit in memory.
    sink.writelines(text.encode() for text in texts)
    sink.write(b"\n")


def _head(run: ExportedRun) -> TableRow:
    head: TableRow = {"run": str(run.folder)}
    if run.values is not None:
        head["values"] = run.values  # of the swept keys
    return head


def _whole_run(folder: Path, head: TableRow) -> Iterator[str]:
    """Yield the text of a run: `head`, then manifest, summary, rounds and devices."""
    entries = dict(head)
    entries["manifest"] = json_of(folder, "manifest.json")
    entries["summary"] = json_of(folder, "summary.json")
    yield "{\n"
    for key, value in entries.items():
        yield f'"{key}": {_text(value)},\n'
    yield '"rounds": '
    yield from _row_list(rows_of(folder, "rounds.csv"))
    yield ',\n"devices": '
    yield from _row_list(rows_of(folder, "devices.csv"))
    yield "\n}"


def _row_list(rows: Iterable[TableRow]) -> Iterator[str]:
    return _list_of([_text({key: _finite(value) for key, value in row.items()})] for row in rows)


def _list_of(items: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the text of a list whose items are given in pieces."""
    start = "[\n"
    end = "[]"  # of a list without items
    for item in items:
        yield start
        yield from item
        start = ",\n"
        end = "\n]"
    yield end


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _finite(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
