"""Measured rows: the readings of each run, which stay when the run's folder is deleted.

A file has one row for each run: the values of the axes, the seed, the measures, and their origin.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in
from edgefl.core.files import write_atomically
from edgefl.core.section import shown
from edgefl.results.csv_format import csv_bytes

SEED = "seed"
ORIGIN = ("version", "commit", "date", "took_s", "settings")
"""Columns of a row's origin: version, commit, day, duration of the run, and a digest of the recipe's settings for the
run (`scenarios.settings_digest`): rows from before a change of the recipe do not count."""

LACKS = "data_lacks"
"""The column of a row's origin with the samples that a dataset lacked, as the run's manifest names them."""

DIVERGED = "diverged"
"""The column that names what diverged, and in what round; such a row has no measures."""

DIGEST = "digest"
"""The column of studies with the digest of the scenario that a row counts for."""

NOTHING = "nothing"
"""The text for a measure that a run lacks; an empty cell was not measured, as the recipe had no such measure then."""

RowKey = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The measures of a run, with their origin."""

    point: Mapping[str, str]  # the values of the axes
    seed: int
    measures: Mapping[str, str]  # texts by column; "" if the run lacks it
    origin: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""  # of its scenario; "" if not known
    diverged: str = ""  # what diverged, and in what round; "" for a finished run

    @property
    def key(self) -> RowKey:
        """The point and the seed, unique to the row."""
        return (*self.point.values(), str(self.seed))

    @property
    def took_s(self) -> float | None:
        """The run's duration [s]; None if unknown."""
        text = self.origin.get("took_s", "")
        return float(text) if text else None


Rows = dict[RowKey, Row]


def read_rows(path: Path, axes: Sequence[str]) -> Rows:
    """Return the rows of a file by run, given the recipe's axes; none if the file does not exist.

    Raises:
        InputError: the file is damaged, or has other axes.
    """
    if not path.exists():
        return {}
    with faults_in(path):
        rows = [_row(row, axes) for row in csv_rows(path, (*axes, SEED))]
    return {row.key: row for row in rows}


def current(rows: Rows, settings: Callable[[Row], str]) -> Rows:
    """Return the rows without settings, and those with the current ones, whose digest `settings` returns."""
    return {key: row for key, row in rows.items() if row.origin.get("settings", "") in {"", settings(row)}}


def _row(row: CsvRow, axes: Sequence[str]) -> Row:
    texts = row.cells
    try:
        seed = int(texts[SEED])
        took_s = float(texts.get("took_s") or 0)
    except ValueError:
        took_s = math.nan
    if not math.isfinite(took_s):
        raise NotReadable("seed and took_s must be numbers", row.line)
    named = (*axes, SEED, *ORIGIN, LACKS, DIGEST, DIVERGED)
    for name, text in texts.items():
        if name not in named and not _is_measured(text):
            raise NotReadable(f"{name}: must be a finite number, or several of them, got {shown(text)}", row.line)
    measures = {name: text for name, text in texts.items() if text and name not in named}
    for name, text in measures.items():
        if text == NOTHING:
            measures[name] = ""
    return Row(
        point={axis: texts[axis] for axis in axes},
        seed=seed,
        measures=measures,
        origin={name: texts.get(name, "") for name in (*ORIGIN, LACKS)},
        digest=texts.get(DIGEST, ""),
        diverged=texts.get(DIVERGED, ""),
    )


def _is_measured(cell: str) -> bool:
    """Return whether a cell is from a reading: a number, a bound such as ">60", a curve of numbers, or nothing."""
    if cell == NOTHING:
        return True
    try:
        numbers = [float(part.removeprefix(">")) for part in cell.removeprefix("'").split()]
    except ValueError:
        return False
    # A curve has nan where a round was not tested.
    return not any(math.isinf(number) for number in numbers)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows into a file, instead of its rows."""
    listed = list(rows)
    axes = list(listed[0].point)
    measures = list(dict.fromkeys(name for row in listed for name in row.measures))
    columns: dict[str, list[str]] = {axis: [row.point[axis] for row in listed] for axis in axes}
    columns[SEED] = [str(row.seed) for row in listed]
    for name in measures:
        columns[name] = [(row.measures[name] or NOTHING) if name in row.measures else "" for row in listed]
    for name in ORIGIN:
        columns[name] = [row.origin.get(name, "") for row in listed]
    if any(row.origin.get(LACKS) for row in listed):
        columns[LACKS] = [row.origin.get(LACKS, "") for row in listed]
    if any(row.diverged for row in listed):
        columns[DIVERGED] = [row.diverged for row in listed]
    if any(row.digest for row in listed):
        columns[DIGEST] = [row.digest for row in listed]
    write_atomically(path, csv_bytes(columns))


def merged(below: Row | None, above: Row) -> Row:
    """Return a new row of a run with the measures that only the earlier one has."""
    if below is None or above.diverged:
        return above
    return Row(above.point, above.seed, {**below.measures, **above.measures}, above.origin, above.digest)
