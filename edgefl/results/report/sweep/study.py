"""A sweep's folder as columns: what varies, its points and their runs; the only module here that opens its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.units import NO_NUMBER, PLAIN, Unit, as_number, fitting
from edgefl.results.reader import text_of, yaml_of
from edgefl.results.report import describe

CONTENT, INDEX = "sweep.yaml", "index.csv"
TOTALS = ("rounds", "time_s", "energy_j")  # always there
NEEDED = ("point", "seed", "status", "error", "folder", *TOTALS, "final_accuracy", "best_accuracy")
TEXTS = frozenset({"point", "status", "error", "folder"})
FINISHED = "finished"


class Key(NamedTuple):
    """A key that varies, and its values in order; their `numbers`, in `unit`, where all of them are some."""

    path: str
    title: str
    texts: Sequence[str]
    numbers: Sequence[float] | None
    unit: Unit


class Point(NamedTuple):
    """One setting: the place of its value among those of each key, and the rows of its runs."""

    label: str
    at: tuple[int, ...]
    rows: Sequence[int]


@dataclass(frozen=True)
class Study:
    """A sweep. `texts` and `numbers` are columns [runs] of ``index.csv``."""

    folder: Path
    name: str
    keys: Sequence[Key]
    points: Sequence[Point]
    texts: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Floats]

    @cached_property
    def finished(self) -> list[list[int]]:
        """The rows of the finished runs of each point."""
        status = self.texts["status"]
        return [[row for row in point.rows if status[row] == FINISHED] for point in self.points]

    @property
    def learned(self) -> bool:
        """Whether any run measured an accuracy."""
        return bool(np.isfinite(self.numbers["final_accuracy"]).any())

    @cached_property
    def targets(self) -> list[str]:
        """The accuracies to reach, as columns name them, the lowest first; none where no accuracy was measured."""
        names = {name.split("_")[1] for name in self.numbers if name.startswith("target_")} if self.learned else ()
        return sorted(names, key=float)

    def told(self, point: int, *, without: int | None = None) -> str:
        """The values of a point, all but that of one key."""
        places = zip(self.keys, self.points[point].at, strict=True)
        parts = [f"{key.title} {key.texts[at]}" for number, (key, at) in enumerate(places) if number != without]
        return " · ".join(parts)


def is_sweep(folder: Path) -> bool:
    """Whether a folder is a sweep's."""
    return (folder / CONTENT).is_file()


def load(folder: Path) -> Study:
    """Read a sweep's folder.

    Raises:
        InputError: something is missing or unreadable, in one line.
    """
    name, paths = _content(folder)
    header, lines = _index(folder, paths)
    texts = {column: [line[place] for line in lines] for place, column in enumerate(header)}
    numbers = {column: _numbers(folder, column, texts[column]) for column in header if column not in {*TEXTS, *paths}}
    _check(folder, texts, numbers)
    titles = [describe.bare(path) for path in paths]
    titles = [title if titles.count(title) == 1 else path for title, path in zip(titles, paths, strict=True)]
    keys, places = [], []
    for path, title in zip(paths, titles, strict=True):
        key, at = _key(path, title, texts[path])
        keys.append(key)
        places.append(at)
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(texts["point"]):
        rows.setdefault(label, []).append(row)
    points = [Point(label, tuple(at[some[0]] for at in places), some) for label, some in rows.items()]
    return Study(folder, name, keys, points, texts, numbers)


def _content(folder: Path) -> tuple[str, list[str]]:
    """The sweep's name and its keys."""
    content = yaml_of(folder, CONTENT, text_of(folder, CONTENT))
    keys = content.get("keys")
    if not isinstance(keys, list):
        raise InputError(f"{folder / CONTENT}: keys: must be a list, as edgefl sweep writes it")
    return str(content.get("name")), [str(key) for key in keys]


def _index(folder: Path, paths: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of the index."""
    try:
        header, *lines = csv.reader(text_of(folder, INDEX).splitlines(keepends=True))
    except (ValueError, csv.Error) as error:
        reason = "it is empty" if isinstance(error, ValueError) else error
        raise InputError(f"{folder / INDEX}: {reason}") from None
    if missing := [column for column in (*NEEDED, *paths) if column not in header]:
        raise InputError(f"{folder / INDEX}: column {missing[0]} is missing")
    for number, line in enumerate(lines, 1):
        if len(line) != len(header):
            raise InputError(f"{folder / INDEX}: row {number} has {len(line)} cells, must have {len(header)}")
    if not lines:
        raise InputError(f"{folder / INDEX}: holds no run")
    return header, lines


def _numbers(folder: Path, column: str, cells: Sequence[str]) -> Floats:
    """A column of numbers [runs]; an empty cell is NaN."""
    found = [as_number(cell) if cell else np.nan for cell in cells]
    if None in found:
        row = found.index(None)
        raise InputError(f"{folder / INDEX}: row {row + 1}: {column}: must be a number, got {cells[row]!r}")
    return np.array(found, np.float64)


def _check(folder: Path, texts: Mapping[str, Sequence[str]], numbers: Mapping[str, Floats]) -> None:
    """A run stands once, and one that has finished has its totals."""
    seen = set()
    for row, run in enumerate(zip(texts["point"], numbers["seed"].tolist(), strict=True)):
        if run in seen:
            raise InputError(f"{folder / INDEX}: row {row + 1}: {run[0]} stands twice with seed {run[1]:g}")
        seen.add(run)
        for name in TOTALS if texts["status"][row] == FINISHED else ():
            if np.isnan(numbers[name][row]):
                raise InputError(f"{folder / INDEX}: row {row + 1}: {name}: must be a number where a run has finished")


def _key(path: str, title: str, cells: Sequence[str]) -> tuple[Key, list[int]]:
    """A key, and the place of each run's value."""
    values = list(dict.fromkeys(cells))
    found = [number for value in values if (number := as_number(value)) is not None]
    unit = PLAIN[0]
    if numeric := len(found) == len(values):
        values.sort(key=float)
        units = next((units for end, units in describe.UNITS.items() if path.endswith(end)), PLAIN)
        unit = fitting(max(map(abs, found)), units)
    texts = describe.readable(path, values) if numeric else _told(values)
    numbers = [float(value) / unit.size for value in values] if numeric else None
    return Key(path, title, texts, numbers, unit), [values.index(cell) for cell in cells]


def _told(values: Sequence[str]) -> list[str]:
    """Values that are no numbers; blocks in few words where that tells them apart."""
    texts = [describe.block(_mapping(value)) or NO_NUMBER for value in values]
    return [describe.cut(text) for text in (texts if len(set(texts)) == len(texts) else values)]


def _mapping(cell: str) -> Any:
    try:
        return json.loads(cell) if cell.startswith("{") else cell
    except ValueError:
        return cell
