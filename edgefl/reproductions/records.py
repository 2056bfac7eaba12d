"""Measured rows: what has been read off each run, kept when the runs' folders are deleted.

A file has one row a run: the values of the axes, the seed, what was measured, and where it comes from.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import opened_text, write_atomically
from edgefl.core.section import shown
from edgefl.results.csv_format import csv_bytes

SEED = "seed"
ORIGIN = ("version", "commit", "date", "took_s", "settings")
"""Columns that say by which edgefl a row was measured, on which day, how long the run took there, and what the
recipe said of the run, as a digest (`plan.settings_digest`): a row that an edited recipe has left does not count."""

DIVERGED = "diverged"
"""The column that says what diverged in a run, and in which round: such a run has measured nothing else."""

DIGEST = "digest"
"""The column with the digest of a row's scenario, in the rows of a study: they are used for that scenario alone."""

NOTHING = "nothing"
"""The text in a file for a measure of which a run has nothing; an empty cell was not measured, as the recipe did not
ask for it when the run was read."""

RowKey = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The measured numbers of a run, with their origin."""

    point: Mapping[str, str]  # the values of the axes
    seed: int
    measures: Mapping[str, str]  # texts by column; "" where the run has nothing of the kind
    origin: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""  # of its scenario; "" if not known
    diverged: str = ""  # what diverged, and in which round; "" for a run that has come to its end

    @property
    def key(self) -> RowKey:
        """The point and the seed, which no other row has."""
        return (*self.point.values(), str(self.seed))

    @property
    def took_s(self) -> float | None:
        """The run's duration [s] where it was measured; None if that is not known."""
        text = self.origin.get("took_s", "")
        return float(text) if text else None


Rows = dict[RowKey, Row]


def read_rows(path: Path, axes: Sequence[str]) -> Rows:
    """Return the rows of a file by run; none if it does not exist.

    Args:
        path: the file.
        axes: the recipe's.

    Raises:
        InputError: the file is damaged, or is about other axes.
    """
    try:
        with opened_text(path) as file:
            lines = csv.DictReader(file)
            header = lines.fieldnames or []
            missing = [name for name in (*axes, SEED) if name not in header]
            if missing:
                text = f"has no column {missing[0]}, which the recipe has as an axis; columns: {', '.join(header)}"
                raise InputError(f"{path}: {text}")
            rows = [_row(path, lines.line_num, cells, axes) for cells in lines]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return {row.key: row for row in rows}


def current(rows: Rows, settings: Callable[[Row], str]) -> Rows:
    """Return the rows that were measured with what a recipe says now; those whose settings are not known count, too.

    Args:
        rows: to choose from.
        settings: returns the digest of what the recipe says of a row's run.
    """
    return {key: row for key, row in rows.items() if _is_current(row, settings)}


def _is_current(row: Row, settings: Callable[[Row], str]) -> bool:
    known = row.origin.get("settings", "")
    return not known or known == settings(row)


def _row(path: Path, line: int, cells: Mapping[str | None, str | None], axes: Sequence[str]) -> Row:
    if None in cells or None in cells.values():
        raise InputError(f"{path}:{line}: has more or fewer cells than the header")
    texts = {str(name): str(text) for name, text in cells.items()}
    try:
        seed = int(texts[SEED])
        took_s = float(texts.get("took_s") or 0)
    except ValueError:
        took_s = math.nan
    if not math.isfinite(took_s):
        raise InputError(f"{path}:{line}: seed and took_s must be numbers")
    named = (*axes, SEED, *ORIGIN, DIGEST, DIVERGED)
    for name, text in texts.items():
        if name not in named and not _is_measured(text):
            raise InputError(f"{path}:{line}: {name}: must be a finite number, or several of them, got {shown(text)}")
    return Row(
        point={axis: texts[axis] for axis in axes},
        seed=seed,
        measures={name: _from_cell(text) for name, text in texts.items() if text and name not in named},
        origin={name: texts.get(name, "") for name in ORIGIN},
        digest=texts.get(DIGEST, ""),
        diverged=texts.get(DIVERGED, ""),
    )


def _is_measured(cell: str) -> bool:
    """Return whether a cell holds what readings write: a number, a bound such as ">60", a curve of numbers, or none."""
    if cell == NOTHING:
        return True
    try:
        numbers = [float(part.removeprefix(">")) for part in cell.removeprefix("'").split()]
    except ValueError:
        return False
    # A curve has nan where a round was not tested.
    return not any(math.isinf(number) for number in numbers)


def _to_cell(text: str | None) -> str:
    """Return how a measured text is written; None stands for a measure that has not been read off the run."""
    if text is None:
        return ""
    return text or NOTHING


def _from_cell(cell: str) -> str:
    """Return the measured text of a cell that is not empty."""
    if cell == NOTHING:
        return ""
    return cell


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows into a file in place of those that it has."""
    listed = list(rows)
    axes = list(listed[0].point)
    measures = list(dict.fromkeys(name for row in listed for name in row.measures))
    columns: dict[str, list[str]] = {axis: [row.point[axis] for row in listed] for axis in axes}
    columns[SEED] = [str(row.seed) for row in listed]
    for name in measures:
        columns[name] = [_to_cell(row.measures.get(name)) for row in listed]
    for name in ORIGIN:
        columns[name] = [row.origin.get(name, "") for row in listed]
    if any(row.diverged for row in listed):
        columns[DIVERGED] = [row.diverged for row in listed]
    if any(row.digest for row in listed):
        columns[DIGEST] = [row.digest for row in listed]
    write_atomically(path, csv_bytes(columns))


def merged(below: Row | None, above: Row) -> Row:
    """Return a new row of a run with what only an earlier one has measured."""
    if below is None or above.diverged:
        return above
    return Row(above.point, above.seed, {**below.measures, **above.measures}, above.origin, above.digest)
