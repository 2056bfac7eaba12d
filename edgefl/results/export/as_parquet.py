"""Parquet, group of rows by group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from edgefl.results.export.folder import kind
from edgefl.results.export.tables import table

GROUP = 50_000  # rows
TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """A table, of phases unless another is asked for."""
    columns, rows = table(folders, part or "phases")
    schema = pa.schema([(column, TYPES[kind(column)]) for column in columns])
    with pq.ParquetWriter(sink, schema) as file:
        while group := list(islice(rows, GROUP)):
            file.write_batch(pa.RecordBatch.from_pylist(group, schema))
