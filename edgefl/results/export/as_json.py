"""JSON, a row a line; what is no finite number is null."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from edgefl.results.export.folder import Row, rows, whole_json
from edgefl.results.export.tables import table


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """A table as a list of objects; without one everything of a run, or of several as a list."""
    if part is not None:
        texts = _list(table(folders, part).rows)
    elif len(folders) == 1:
        texts = _whole(folders[0], {})
    else:
        texts = _joined(_whole(folder, {"run": str(folder)}) for folder in folders)
    sink.writelines(text.encode() for text in texts)
    sink.write(b"\n")


def _whole(folder: Path, more: Row) -> Iterator[str]:
    """Manifest, summary, rounds and devices of a run."""
    objects = {name: whole_json(folder, f"{name}.json") for name in ("manifest", "summary")}
    yield "{\n" + "".join(f'"{key}": {_text(value)},\n' for key, value in (more | objects).items())
    yield '"rounds": '
    yield from _list(rows(folder, "rounds.csv"))
    yield ',\n"devices": '
    yield from _list(rows(folder, "devices.csv"))
    yield "\n}"


def _list(table: Iterable[Row]) -> Iterator[str]:
    return _joined([_text({key: _finite(value) for key, value in row.items()})] for row in table)


def _joined(items: Iterable[Iterable[str]]) -> Iterator[str]:
    """A list of what comes in pieces."""
    start = "[\n"
    for item in items:
        yield start
        yield from item
        start = ",\n"
    yield "[]" if start == "[\n" else "\n]"


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
