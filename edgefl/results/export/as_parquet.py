"""Parquet, written in groups of rows."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from edgefl.results.export.tables import export_table

ROWS_PER_GROUP = 50_000  # in memory
ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, where: Sequence[str] = ()) -> None:
    """Write a table, by default the table of phases."""
    table = export_table(folders, part or "phases", where)
    # With explicit types, as a column of the first group may be empty.
    schema = pa.schema([(column, ARROW_TYPES[table.type_of(column)]) for column in table.columns])
    with pq.ParquetWriter(sink, schema) as file:
        while group := list(islice(table.rows, ROWS_PER_GROUP)):
            file.write_batch(pa.RecordBatch.from_pylist(group, schema))
