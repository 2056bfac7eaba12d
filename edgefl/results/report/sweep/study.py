"""A sweep's folder as columns: the keys that vary, the points and their runs."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.units import NO_NUMBER, PLAIN, Unit, as_number, fitting, units_of_key
from edgefl.records.quantities import INDEX_COLUMNS, SUMMARY, TOTALS, Quantity, index_column
from edgefl.records.swept_keys import LABEL, beside_label
from edgefl.results.integrity import SUMMARY_FILE
from edgefl.results.labels import SELF_EXPLAINING, labels
from edgefl.results.member_titles import catalogue_at
from edgefl.results.reader import FINISHED_STATUS, declared_in, json_of, text_of, yaml_of
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.questions import NO_QUESTION, Question
from edgefl.results.scenario_tree import has_deadline, tree_of
from edgefl.results.targets import ACCURACY, target_of

CONTENT_FILE = "sweep.yaml"
INDEX_FILE = "index.csv"
SCENARIO_FILE = "scenario.yaml"  # of a run
ALGORITHM = "algorithm"
NAMES = frozenset({LABEL, ALGORITHM, "sweep", "point"})  # keys whose values stand for themselves in labels
REQUIRED_COLUMNS = ("point", "seed", "status", "error", "folder", *TOTALS, "final_accuracy", "best_accuracy")
TEXT_COLUMNS = frozenset({"point", "status", "error", "folder"})
FAILED_STATUS = "failed"
TARGET_TIME = re.compile(r"target_(.+)_time_s")


class SweptKey(NamedTuple):
    """A key of the scenario that varies, with its values in order.

    `cells` are the values as the index has them, `numbers` are the values in `unit`; None unless all are numbers.
    """

    path: str
    title: str
    cells: Sequence[str]
    texts: Sequence[str]
    numbers: Sequence[float] | None
    unit: Unit

    @property
    def column(self) -> str:
        """Return the column of the key in the index."""
        return index_column(self.path)

    @property
    def named_texts(self) -> list[str]:
        """Return each value with the title of the key; a name, such as that of a method, stands for itself."""
        if self.path in NAMES:
            return list(self.texts)
        return [f"{self.title} {text}" for text in self.texts]

    @property
    def has_range(self) -> bool:
        """Return whether the key has several numbers."""
        return self.numbers is not None and len(self.numbers) > 1


class StudyPoint(NamedTuple):
    """One setting of all keys: for each key [keys] the index of its value, and the rows of its runs in the index."""

    label: str
    value_indices: tuple[int, ...]
    rows: Sequence[int]


@dataclass(frozen=True)
class Study:
    """A sweep; `texts` and `numbers` are columns [runs] of ``index.csv``.

    `keys` are those that tell points apart, `key_columns` the columns of all swept keys: a key that the label of a
    method determines, or that a choice has fixed, is only among the latter.
    """

    folder: Path
    name: str
    keys: Sequence[SweptKey]
    points: Sequence[StudyPoint]
    texts: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Floats]
    key_columns: Sequence[str]
    question: Question = NO_QUESTION  # what the numbers answer besides the index
    missed: str = ""  # a sentence, where no run reached any target and another one is shown

    @cached_property
    def finished_rows(self) -> list[list[int]]:
        """Return the rows of the finished runs of each point."""
        status = self.texts["status"]
        return [[row for row in point.rows if status[row] == FINISHED_STATUS] for point in self.points]

    @property
    def every_finished_row(self) -> list[int]:
        """Return the rows of all finished runs, point by point."""
        return [row for rows in self.finished_rows for row in rows]

    @property
    def span(self) -> str:
        """The rounds that count, in words."""
        return self.question.end.title if self.question.end else "the whole run"

    @property
    def has_accuracy(self) -> bool:
        """Return whether any run measured an accuracy."""
        return bool(np.isfinite(self.numbers["final_accuracy"]).any())

    @cached_property
    def targets(self) -> list[str]:
        """Return the targets as columns name them, lowest first; of accuracies none if none was measured."""
        found = filter(None, map(TARGET_TIME.fullmatch, self.numbers))
        targets = [target_of(name[1]) for name in found]
        measured = [target for target in targets if target.column != ACCURACY or self.has_accuracy]
        return [target.name for target in sorted(measured, key=lambda target: (target.column, target.limit))]

    @cached_property
    def quantities(self) -> Sequence[Quantity]:
        """Return the quantities of its runs, those of members from outside included, which their summaries declare."""
        known = {column.name for column in INDEX_COLUMNS}
        if all(name in known or name.startswith("target_") for name in self.numbers):
            return SUMMARY
        for row in self.every_finished_row:
            folder = self.run_folder(row)
            if (folder / SUMMARY_FILE).is_file():
                return declared_in(folder, json_of(folder, SUMMARY_FILE))
        return SUMMARY

    @property
    def method(self) -> int | None:
        """Return the number of the key whose values are the methods; None if all keys are numbers.

        It is the label, else the algorithm, else the first key without numbers.
        """
        paths = [key.path for key in self.keys]
        for path in (LABEL, ALGORITHM):
            if path in paths:
                return paths.index(path)
        return next((number for number, key in enumerate(self.keys) if key.numbers is None), None)

    @cached_property
    def has_deadline(self) -> bool:
        """Return whether the rounds of the first finished run ended at a deadline, so that its time says little."""
        if not self.every_finished_row:
            return False
        folder = self.run_folder(self.every_finished_row[0])
        if not (folder / SCENARIO_FILE).is_file():
            return False
        scenario = yaml_of(folder, SCENARIO_FILE, text_of(folder, SCENARIO_FILE))
        return has_deadline(scenario)

    def run_folder(self, row: int) -> Path:
        """Return the result folder of a run, given by its row; refuse one outside the folder of the sweep.

        Raises:
            InputError: it lies outside the sweep's folder.
        """
        name = self.texts["folder"][row]
        folder = self.folder / name
        # A sweep's folder may come from elsewhere: its index must not lead to other files.
        if not folder.resolve().is_relative_to(self.folder.resolve()):
            where = f"{self.folder}/{INDEX_FILE}: row {row + 1}"
            raise InputError(f"{where}: folder: must lie within the sweep's folder, got {name!r}")
        return folder

    def point_text(self, point: int) -> str:
        """Return the values of a point, such as ``bandwidth 50 MHz · participants 10``."""
        indices = self.points[point].value_indices
        return " · ".join(key.named_texts[index] for key, index in zip(self.keys, indices, strict=True))


def is_sweep(folder: Path) -> bool:
    """Return whether a folder is a sweep's."""
    return (folder / CONTENT_FILE).is_file()


def load(folder: Path) -> Study:
    """Read a sweep's folder.

    Raises:
        InputError: a file is missing or unreadable, in one line.
    """
    name, paths = _read_content(folder)
    key_columns = [index_column(path) for path in paths]
    header, lines = _read_index(folder, key_columns)
    texts = {column: [line[place] for line in lines] for place, column in enumerate(header)}
    not_numbers = {*TEXT_COLUMNS, *key_columns}
    numbers = {column: _numbers(folder, column, texts[column]) for column in header if column not in not_numbers}
    _check_runs(folder, texts, numbers)
    return study_of(folder, name, paths, texts, numbers)


def study_of(
    folder: Path, name: str, paths: Sequence[str], texts: Mapping[str, Sequence[str]], numbers: Mapping[str, Floats]
) -> Study:
    """Return the study of the columns [runs] of an index, given the paths of the swept keys."""
    key_columns = [index_column(path) for path in paths]
    keys = []
    indices_by_key = []
    for path, title, column in zip(paths, _titles(paths), key_columns, strict=True):
        key, value_indices = _swept_key(path, title, texts[column])
        keys.append(key)
        indices_by_key.append(value_indices)
    runs = zip(*(texts[column] for column in key_columns), strict=True)
    shown = beside_label([dict(zip(paths, cells, strict=True)) for cells in runs])
    kept = [paths.index(path) for path in shown]
    points = _points(texts["point"], [indices_by_key[number] for number in kept])
    return Study(folder, name, [keys[number] for number in kept], points, texts, numbers, key_columns)


def name_and_folders(folder: Path) -> tuple[str, set[str]]:
    """Return the name of a sweep, and the folders of its runs, relative to its own.

    Raises:
        InputError: the file of the sweep is missing or damaged.
    """
    name, _ = _read_content(folder)
    return describe.cut(name), set(swept_values(folder))


def swept_values(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the values of the swept keys of each run of a sweep, by the run's folder as the index names it.

    Raises:
        InputError: the file of the sweep is missing or damaged.
    """
    content = yaml_of(folder, CONTENT_FILE, text_of(folder, CONTENT_FILE))
    try:
        return {str(point["folder"]): dict(point["values"]) for point in content["points"]}
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{folder / CONTENT_FILE}: points: must be a list, as edgefl sweep writes it") from None


def swept_paths(folder: Path) -> list[str]:
    """Return the paths of the swept keys of a sweep.

    Raises:
        InputError: the file of the sweep is missing or damaged.
    """
    return _read_content(folder)[1]


def _read_content(folder: Path) -> tuple[str, list[str]]:
    content = yaml_of(folder, CONTENT_FILE, text_of(folder, CONTENT_FILE))
    keys = content.get("keys")
    if not isinstance(keys, list):
        raise InputError(f"{folder / CONTENT_FILE}: keys: must be a list, as edgefl sweep writes it")
    return str(content.get("name")), [str(key) for key in keys]


def _read_index(folder: Path, key_columns: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    file = folder / INDEX_FILE
    try:
        rows = list(csv.reader(text_of(folder, INDEX_FILE).splitlines(keepends=True)))
    except csv.Error as error:
        raise InputError(f"{file}: {error}") from None
    if not rows:
        raise InputError(f"{file}: the file is empty")
    header = rows[0]
    lines = rows[1:]
    for column in (*REQUIRED_COLUMNS, *key_columns):
        if column not in header:
            raise InputError(f"{file}: column {column} is missing")
    for number, line in enumerate(lines, 1):
        if len(line) != len(header):
            raise InputError(f"{file}: row {number} has {len(line)} cells, must have {len(header)}")
    if not lines:
        raise InputError(f"{file}: lists no run")
    return header, lines


def _numbers(folder: Path, column: str, cells: Sequence[str]) -> Floats:
    values = []
    for row, cell in enumerate(cells, 1):
        value: float | None = np.nan
        if cell:
            value = as_number(cell)
        if value is None:
            raise InputError(f"{folder / INDEX_FILE}: row {row}: {column}: must be a number, got {cell!r}")
        values.append(value)
    return np.array(values, np.float64)


def _check_runs(folder: Path, texts: Mapping[str, Sequence[str]], numbers: Mapping[str, Floats]) -> None:
    seen = set()
    for row, status in enumerate(texts["status"]):
        where = f"{folder / INDEX_FILE}: row {row + 1}"
        point = texts["point"][row]
        seed = float(numbers["seed"][row])
        if (point, seed) in seen:
            raise InputError(f"{where}: point {point} has a second run with seed {seed:g}")
        seen.add((point, seed))
        if status != FINISHED_STATUS:
            continue
        for name in TOTALS:
            if np.isnan(numbers[name][row]):
                raise InputError(f"{where}: {name}: must be a number, as the run has finished")


def _titles(paths: Sequence[str]) -> list[str]:
    short = ["method" if path == LABEL else describe.bare(path) for path in paths]
    titles = []
    for path, title in zip(paths, short, strict=True):
        # Keys of different sections may share their last part, such as training.lr and algorithm.lr.
        if short.count(title) > 1:
            titles.append(path)
        else:
            titles.append(title)
    return titles


def _swept_key(path: str, title: str, cells: Sequence[str]) -> tuple[SweptKey, list[int]]:
    """Return a key, and for each run [runs] the index of its value."""
    values = list(dict.fromkeys(cells))
    parsed = [as_number(value) for value in values]
    numbers = [number for number in parsed if number is not None]
    if len(numbers) < len(values):
        # One non-numeric value makes the key a category, whose values keep the order of the file.
        key = SweptKey(path, title, values, _category_texts(path, values), None, PLAIN[0])
    else:
        values.sort(key=float)
        units = units_of_key(path)
        unit = fitting(max(map(abs, numbers)), units)
        in_unit = [float(value) / unit.size for value in values]
        key = SweptKey(path, title, values, describe.readable(path, values), in_unit, unit)
    return key, [values.index(cell) for cell in cells]


def _category_texts(path: str, values: Sequence[str]) -> list[str]:
    """Return non-numeric values as short texts: members by their names, with the keys that tell them apart."""
    contents = [parsed(value) for value in values]
    if catalogue_at(path) is not None and all(values):
        scenarios = [tree_of({path: value}) for value in contents]
        names = labels(scenarios)
        if path not in SELF_EXPLAINING:  # the title of the key stands beside its values
            names = [name.removeprefix(f"{describe.bare(path)} ") for name in names]
        if len(set(names)) == len(names):
            return names
    texts = [describe.block(value) or NO_NUMBER for value in contents]
    # A short text of a block omits its texts and switches, so two may look alike.
    if len(set(texts)) == len(texts):
        return texts
    return list(values)


def parsed(cell: str) -> Any:
    """Return the block that a cell holds as JSON; any other cell as it stands."""
    # A sweep writes a block of the scenario, such as an algorithm with its keys, as JSON into one cell.
    if not cell.startswith("{"):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def _points(labels: Sequence[str], indices_by_key: Sequence[Sequence[int]]) -> list[StudyPoint]:
    """Group the runs [runs] by point, in the order of the index."""
    # Runs of one point differ in their seeds only, so the first run has the values of all.
    rows_by_label: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        rows_by_label.setdefault(label, []).append(row)
    points = []
    for label, rows in rows_by_label.items():
        first_row = rows[0]
        value_indices = tuple(indices[first_row] for indices in indices_by_key)
        points.append(StudyPoint(label, value_indices, rows))
    return points
