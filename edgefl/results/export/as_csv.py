"""CSV: a header, numbers to 12 significant digits, an empty cell where there is nothing."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from edgefl.results.export.tables import table
from edgefl.results.folder import csv_cell


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """A table, of phases unless another is asked for."""
    columns, rows = table(folders, part or "phases")
    lines = csv.writer(codecs.getwriter("utf-8")(sink), lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(map(csv_cell, row.values()) for row in rows)
