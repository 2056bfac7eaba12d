"""All files that a result folder may have: those of every run, and the tables of measures, also from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.plugins import is_outside
from edgefl.learning.measures import MEASURES
from edgefl.learning.report_section import ReportSection
from edgefl.records.columns import ResultColumn
from edgefl.records.result_files import RESULT_FILES, ResultFile

ROUNDS_FILE = "rounds.csv"
MEASURED_TABLES = "measured_tables"  # in the manifest: those of measures from outside, which nothing else describes
TABLE_NAME = r"[a-z][a-z0-9_]*\.csv"
_TYPES: dict[str, type[bool | int | float | str]] = {kind.__name__: kind for kind in (bool, int, float, str)}


@cache
def result_files() -> tuple[ResultFile, ...]:
    """Return the files that a run without code from outside may write, in the order of the pages about them."""
    found = []
    for file in RESULT_FILES:
        if file.name == ROUNDS_FILE:
            found.append(_with_measured_columns(file))
            continue
        found.append(file)
    return (*found, *measured_tables())


@cache
def measured_tables() -> tuple[ResultFile, ...]:
    """Return the tables of the measures in the catalogue."""
    tables = [MEASURES.load(name).table() for name in MEASURES.members]
    return tuple(table for table in tables if table is not None)


@cache
def columns_of_files() -> Mapping[str, tuple[ResultColumn, ...]]:
    """Return the columns of each table by its file."""
    return {file.name: file.columns for file in result_files() if file.columns}


def _with_measured_columns(rounds: ResultFile) -> ResultFile:
    """Return rounds.csv with the columns that measures add."""
    more = [column for name in MEASURES.members for column in MEASURES.load(name).round_columns]
    return ResultFile(rounds.name, rounds.meaning, rounds.digested, (*rounds.columns, *more))


def own_tables(report: ReportSection) -> list[ResultFile]:
    """Return the tables of the measures from outside that a report asks for."""
    tables = [asked.measure.table() for asked in report.asked if is_outside(type(asked.measure))]
    return [table for table in tables if table is not None]


def description_of(table: ResultFile) -> dict[str, Any]:
    """Return a table of a measure from outside as the manifest describes it."""
    columns = [
        {"name": column.name, "type": column.type.__name__, "unit": column.unit, "meaning": column.meaning}
        for column in table.columns
    ]
    return {"file": table.name, "meaning": table.meaning, "columns": columns}


def described_in(manifest: Mapping[str, Any], folder: Path) -> list[ResultFile]:
    """Return the tables of measures from outside that the manifest of a folder describes.

    Raises:
        InputError: it describes one wrongly.
    """
    try:
        return [_described(table) for table in manifest.get(MEASURED_TABLES, ())]
    except (KeyError, TypeError, AttributeError):
        text = "does not describe tables as edgefl does; the manifest is damaged: restore it, or run the scenario again"
        raise InputError(f"{folder}/manifest.json: {MEASURED_TABLES}: {text}") from None


def _described(table: Mapping[str, Any]) -> ResultFile:
    """Return a table that the manifest describes."""
    columns = [
        ResultColumn(str(column["name"]), _TYPES[column["type"]], str(column["unit"]), str(column["meaning"]))
        for column in table["columns"]
    ]
    if not re.fullmatch(TABLE_NAME, table["file"]):
        raise TypeError
    return ResultFile(table["file"], str(table["meaning"]), columns=tuple(columns))
