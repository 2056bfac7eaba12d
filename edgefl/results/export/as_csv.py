"""CSV: a header, numbers with 12 significant digits, an empty cell for a missing value."""

import codecs
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from edgefl.results.csv_format import spreadsheet_cell
from edgefl.results.export.tables import export_table


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, where: Sequence[str] = ()) -> None:
    """Write a table, by default the table of phases."""
    table = export_table(folders, part or "phases", where)
    lines = csv.writer(codecs.getwriter("utf-8")(sink), lineterminator="\n")
    lines.writerow([spreadsheet_cell(name) for name in table.columns])
    for row in table.rows:
        # Numbers as in result folders, so an exported table equals the table.
        lines.writerow([spreadsheet_cell(value) for value in row.values()])
