"""The writer of result folders: each file is whole or absent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from edgefl.core.errors import RunError
from edgefl.core.files import FileGroup, read_bytes, write_atomically
from edgefl.core.version import edgefl_version
from edgefl.learning.trained_model import TrainedModel
from edgefl.records.columns import EVENT_COLUMNS
from edgefl.records.ledger import Columns, Ledger
from edgefl.results import run_folder
from edgefl.results.csv_format import csv_bytes, csv_pieces
from edgefl.results.integrity import MANIFEST_FILE, WHAT_IF_DIGEST, WHAT_IF_FILE

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 2**20  # rows of events.parquet that are compressed together: Arrow's default


def open_folder(folder: Path) -> None:
    """Make the folder, and remove the results of an earlier run from it.

    Raises:
        RunError: the system does not allow it; some files may have been removed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        run_folder.remove_results(folder)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}; choose another folder with -o") from None


def write_ledger(files: FileGroup, ledger: Ledger) -> None:
    """Write rounds, devices, events and the tables that are kept by rows."""
    files.write("rounds.csv", csv_bytes(ledger.round_columns()))
    with files.open("devices.csv") as stream:
        stream.writelines(csv_pieces(ledger.device_names, ledger.device_blocks()))
    for table in ledger.tables:
        files.write(table.name, csv_bytes(ledger.columns_by_rows(table)))
    with files.open("events.parquet") as stream:
        _write_events(stream, ledger.event_blocks())


def write_model(files: FileGroup, name: str, trained: TrainedModel, scenario: Mapping[str, Any]) -> None:
    """Write the tensors of a model by their names to the file `name`."""
    # No times and no machines: equal runs give equal bytes.
    content = trained.to_bytes(
        version=edgefl_version(), scenario=str(scenario["name"]), model=str(scenario["model"]["kind"])
    )
    files.write(name, content)


def write_what_if(folder: Path, columns: Columns) -> None:
    """Write the costs of a finished run with other values, and note the file's digest in the manifest.

    Raises:
        RunError: the folder cannot be written.
    """
    manifest_file = folder / MANIFEST_FILE
    content = csv_bytes(columns)
    try:
        manifest = json.loads(read_bytes(manifest_file))
        # A kill between two steps may leave a file without a digest, but never with a wrong one.
        if manifest.pop(WHAT_IF_DIGEST, None) is not None:
            write_json(manifest_file, manifest)
        write_atomically(folder / WHAT_IF_FILE, content)
        write_json(manifest_file, {**manifest, WHAT_IF_DIGEST: hashlib.sha256(content).hexdigest()})
    except OSError as error:
        raise RunError(f"{folder}: {WHAT_IF_FILE} cannot be written: {error.strerror}") from None


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON; see `json_bytes`."""
    write_atomically(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Return indented JSON; NaN and infinity are refused."""
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


def _write_events(stream: BinaryIO, blocks: Iterable[Columns]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # With explicit types, as a run may have no events.
    types = {float: pa.float64(), int: pa.int64(), str: pa.string()}
    schema = pa.schema([(column.name, types[column.type]) for column in EVENT_COLUMNS])
    with pq.ParquetWriter(stream, schema) as file:
        for table in _row_groups(_arrow_tables(blocks, schema), schema):
            file.write_table(table)


def _arrow_tables(blocks: Iterable[Columns], schema: pa.Schema) -> Iterator[pa.Table]:
    import pyarrow as pa

    for columns in blocks:
        arrays = [_arrow_array(columns[field.name], field.type) for field in schema]
        yield pa.table(arrays, schema=schema)


def _row_groups(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of tables in groups of `ROW_GROUP` rows, then the rest."""
    import pyarrow as pa

    # Not by `schema.empty_table()`, which imports pandas; see `_arrow_array`.
    waiting = pa.table([_arrow_array((), field.type) for field in schema], schema=schema)
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        while len(waiting) > ROW_GROUP:
            yield waiting.slice(0, ROW_GROUP).combine_chunks()
            waiting = waiting.slice(ROW_GROUP)
    yield waiting.combine_chunks()


def _arrow_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values, none of them missing, as an Arrow array; `pa.array` would import pandas first."""
    import pyarrow as pa

    if kind == pa.string():
        encoded = [value.encode() for value in values]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
        return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
    # `kind.to_pandas_dtype()` imports pandas in pyarrow 18.
    numbers = np.asarray(values, dtype={"double": np.float64, "int64": np.int64}[str(kind)])
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(numbers)])
