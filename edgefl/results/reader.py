"""The reader of result folders: documents whole, tables row by row or as arrays."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.files import opened, opened_text
from edgefl.core.strict_json import strict_json
from edgefl.core.written_yaml import NotYaml, parse_written
from edgefl.records.columns import ResultColumn
from edgefl.records.quantities import Quantity, quantities_of
from edgefl.records.result_files import LABELS_BY_ROUND, ResultFile
from edgefl.results.csv_format import csv_cell
from edgefl.results.integrity import SUMMARY_FILE, check_file, manifest_of
from edgefl.results.result_tables import columns_of_files, described_in, measured_tables

TableRow = dict[str, Any]
ColumnArrays = dict[str, npt.NDArray[Any]]

ROWS_AT_A_TIME = 20_000  # in memory as text
FINISHED_STATUS = "finished"
PARTS_OF_SUMMARY = ("drops", "fairness", "wall_s", "best_model")
LISTS_OF_SUMMARY = ("targets", "sessions")
LARGEST = 1e299  # of a number in a table: losses of a run that diverged come near it
NUMBERS_OF_TARGETS = ("accuracy", "round", "time_s", "energy_j")  # or null
EVENTS_FILE = "events.parquet"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but not line ends and tabs


class Documents(NamedTuple):
    """The files of a result folder besides its tables."""

    scenario_text: str  # the file's text
    scenario: Mapping[str, Any]
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]  # empty if an unfinished run left none


def read_documents(folder: Path) -> Documents:
    """Return scenario, manifest and summary of a result folder.

    Raises:
        InputError: one of them is missing or unreadable.
    """
    text = text_of(folder, "scenario.yaml")
    manifest = json_of(folder, "manifest.json")
    # Only an unfinished run may lack its summary.
    finished = manifest.get("status") == FINISHED_STATUS
    summary: Mapping[str, Any] = {}
    if finished or (folder / "summary.json").is_file():
        summary = json_of(folder, "summary.json")
        _check_parts(folder, summary)
    return Documents(text, yaml_of(folder, "scenario.yaml", text), manifest, summary)


# Documents


def text_of(folder: Path, name: str) -> str:
    """Return the text of a file.

    Raises:
        InputError: it does not exist, or cannot be read.
    """
    with _opened(folder, name) as stream:
        text: str = stream.read()
    return text


def json_of(folder: Path, name: str) -> Mapping[str, Any]:
    """Return the object in a JSON file.

    Raises:
        InputError: the file does not exist, or holds something else.
    """
    try:
        value = strict_json(text_of(folder, name))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder}/{name}: not JSON: {error}") from None
    return _mapping(folder, name, value)


def yaml_of(folder: Path, name: str, text: str) -> Mapping[str, Any]:
    """Return the mapping in the `text` of a YAML file.

    Raises:
        InputError: the text holds something else.
    """
    try:
        value = parse_written(text)
    except NotYaml as error:
        raise InputError(f"{folder}/{name}: not YAML: {error.problem}") from None
    return _mapping(folder, name, value)


def declared_in(folder: Path, summary: Mapping[str, Any]) -> tuple[Quantity, ...]:
    """Return the quantities that the summary in a folder may have, see `quantities_of`.

    Raises:
        InputError: a declaration is damaged.
    """
    try:
        return quantities_of(summary)
    except ValueError as error:
        raise InputError(f"{folder}/{SUMMARY_FILE}: {error}; run the scenario again") from None


def _check_parts(folder: Path, summary: Mapping[str, Any]) -> None:
    """Check the mappings and lists in a summary; its numbers are checked where they are read."""
    declared_in(folder, summary)
    for name in PARTS_OF_SUMMARY:
        if not isinstance(summary.get(name) or {}, dict):
            raise InputError(f"{folder}/summary.json: {name}: expected a mapping; the file is damaged")
    for name in LISTS_OF_SUMMARY:
        rows = summary.get(name) or []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{folder}/summary.json: {name}: expected a list of mappings; the file is damaged")
    for target in summary.get("targets") or []:
        if not all(isinstance(target.get(name, ""), int | float | None) for name in NUMBERS_OF_TARGETS):
            raise InputError(f"{folder}/summary.json: targets: expected numbers; the file is damaged")


def _mapping(folder: Path, name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{folder}/{name}: expected a mapping, got {type(value).__name__}")
    cleaned: Mapping[str, Any] = _without_controls(value)
    return cleaned


def _without_controls(value: Any) -> Any:
    """Return nested mappings and lists with control characters in texts escaped: names are printed on terminals."""
    if isinstance(value, str):
        return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    if isinstance(value, dict):
        return {_without_controls(key): _without_controls(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_controls(part) for part in value]
    return value


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[Any]:
    if not folder.is_dir():
        reason = "it is a file: name the folder of a run" if folder.is_file() else "no such folder"
        raise InputError(f"{folder}: not a result folder: {reason}")
    check_file(folder, name)
    try:
        with opened_text(folder / name) as stream:
            yield stream
    except FileNotFoundError:
        raise InputError(f"{folder}: not a result folder: {name} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{folder}/{name}: cannot be read: {error}") from None


# Tables, row by row


def columns_of(folder: Path, name: str) -> tuple[ResultColumn, ...]:
    """Return the possible columns of a table of a result folder.

    Raises:
        InputError: the manifest is damaged.
        KeyError: there is no such table.
    """
    known = columns_of_files()
    if name in known:
        return known[name]
    return {table.name: table.columns for table in tables_by_rows(folder)}[name]


def tables_by_rows(folder: Path) -> tuple[ResultFile, ...]:
    """Return the tables that a run may have by rows: those of edgefl's measures and of measures from outside.

    Raises:
        InputError: the manifest is damaged.
    """
    return (LABELS_BY_ROUND, *measured_tables(), *described_in(manifest_of(folder), folder))


def header_of(folder: Path, name: str) -> list[str]:
    """Return the column names of a CSV file.

    Raises:
        InputError: it does not exist.
        ValueError: it is empty.
    """
    with _opened(folder, name) as stream:
        return _header(csv.reader(stream), name)


def rows_of(folder: Path, name: str) -> Iterator[TableRow]:
    """Yield the rows of a CSV file, with the types of its columns; None for an empty cell.

    Raises:
        InputError: it does not exist.
        ValueError: a cell does not have its column's type, or a row and the header differ in length.
    """
    types = {column.name: column.type for column in columns_of(folder, name)}
    # The file stays open, as a table may not fit in memory.
    with _opened(folder, name) as stream:
        lines = csv.reader(stream)
        header = _header(lines, name)
        # Unknown columns are traces of algorithms from outside, which are numbers.
        parsers = [_PARSERS[types.get(column, float)] for column in header]
        for line in lines:
            values = [parse(cell) if cell else None for parse, cell in zip(parsers, line, strict=True)]
            yield dict(zip(header, values, strict=True))


def _header(lines: Iterator[list[str]], name: str) -> list[str]:
    header = next(lines, [])
    if not header:
        raise ValueError(f"{name} is empty")
    return header


_PARSERS: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: {"true": True, "false": False}.__getitem__,
}


# Tables as arrays


def arrays_of(folder: Path, name: str, more: Sequence[ResultColumn] = ()) -> ColumnArrays:
    """Return the known columns [rows] of a CSV file, and more columns of members from outside.

    An empty cell is NaN, and so is each column that only other runs write. Flags stay texts.

    Raises:
        InputError: the file or a column of all runs is missing, or a cell is damaged.
    """
    columns = (*columns_of_files()[name], *more)
    with _opened(folder, name) as stream:
        lines = csv.reader(stream)
        try:
            header = next(lines, [])
            present = _present(columns, header, f"{folder}/{name}")
            places = [header.index(column.name) for column in present]
            pieces = list(_pieces(lines, present, places))
        except IndexError:
            reason = "ends too early: the file was cut off, perhaps by a killed run or an unfinished copy"
            raise InputError(f"{folder}/{name}: line {lines.line_num} {reason}") from None
        except (ValueError, csv.Error) as error:
            raise InputError(f"{folder}/{name}: near line {lines.line_num}: {error}") from None
    arrays = {column.name: np.concatenate([piece[column.name] for piece in pieces]) for column in present}
    # All missing columns share one array, which is never written to.
    unknown = np.full(len(arrays[present[0].name]), np.nan)
    for column in columns:
        arrays.setdefault(column.name, unknown)
    return arrays


def times_of_events(folder: Path, kind: str) -> Floats:
    """Return the times [events] of the events of a kind; none without an event log.

    Raises:
        InputError: the file was changed or cannot be read.
    """
    path = folder / EVENTS_FILE
    if not path.is_file():
        return np.empty(0)
    import pyarrow.parquet as pq  # late: most pages need no events

    check_file(folder, EVENTS_FILE)
    times_s: list[float] = []
    try:
        with opened(path) as stream:
            # Filters of pyarrow would import pandas.
            for batch in pq.ParquetFile(stream).iter_batches(columns=["kind", "time_s"]):
                rows = zip(batch["kind"].to_pylist(), batch["time_s"].to_pylist(), strict=True)
                times_s += [time_s for kind_of_row, time_s in rows if kind_of_row == kind]
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors are among them
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read: {reason}") from None
    return np.array(times_s)


def arrays_from(columns: Mapping[str, Sequence[Any]], name: str, more: Sequence[ResultColumn] = ()) -> ColumnArrays:
    """Return columns [rows] in memory in the form of `arrays_of` for the file of that name."""
    arrays = {}
    known = (*columns_of_files()[name], *more)
    for column in known:
        if column.name in columns:
            arrays[column.name] = _array(column, [csv_cell(value) for value in columns[column.name]])
    rows = len(next(iter(arrays.values())))
    for column in known:
        arrays.setdefault(column.name, np.full(rows, np.nan))
    return arrays


def _present(columns: Sequence[ResultColumn], header: Sequence[str], file: str) -> list[ResultColumn]:
    present = []
    for column in columns:
        if column.name in header:
            present.append(column)
        elif not column.optional:
            raise InputError(f"{file}: column {column.name} is missing")
    return present


def _pieces(
    lines: Iterator[list[str]], columns: Sequence[ResultColumn], places: Sequence[int]
) -> Iterator[ColumnArrays]:
    """Yield the columns of some thousand lines at a time, at least one piece."""
    while True:
        rows = [row for row in islice(lines, ROWS_AT_A_TIME) if row]  # csv gives an empty row for a blank line
        yield {
            column.name: _array(column, [row[place] for row in rows])
            for column, place in zip(columns, places, strict=True)
        }
        if not rows:
            return


def _array(column: ResultColumn, cells: list[str]) -> npt.NDArray[Any]:
    if column.type in {str, bool}:
        return np.array(cells, dtype=np.str_)
    values = np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    is_count = column.type is int and column.name != "round"  # extra rounds of sessions have negative numbers
    if np.any(np.abs(values) > LARGEST) or (is_count and np.any(values < 0)):
        kind = "a count" if is_count else f"a number up to {LARGEST:g}"
        raise ValueError(f"{column.name}: must be {kind}")
    return values
