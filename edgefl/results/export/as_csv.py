"""CSV: a header, numbers to 12 significant digits, an empty cell where there is no value."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from edgefl.results.csv_format import csv_cell
from edgefl.results.export.tables import export_table


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """Write a table, that of phases unless another is asked for."""
    table = export_table(folders, part or "phases")
    # The sink takes bytes, as other formats are binary; csv writes text.
    lines = csv.writer(codecs.getwriter("utf-8")(sink), lineterminator="\n")
    lines.writerow(table.columns)
    for row in table.rows:
        # As in the files of a result folder, so that an export of a table is that table.
        lines.writerow([csv_cell(value) for value in row.values()])
