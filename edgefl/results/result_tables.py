"""All files that a result folder may have: those of every run, and the tables of measures, also from outside."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.plugins import is_outside
from edgefl.learning.measures import MEASURES
from edgefl.learning.report_section import ReportSection
from edgefl.records.columns import TYPES, ResultColumn
from edgefl.records.result_files import RESULT_FILES, ResultFile

ROUNDS_FILE = "rounds.csv"
MEASURED_TABLES = "measured_tables"  # in the manifest: the tables of measures from outside
TABLE_NAME = r"[a-z][a-z0-9_]*\.csv"


@cache
def result_files() -> tuple[ResultFile, ...]:
    """Return the files that a run without code from outside may write, in the order of the pages about them."""
    more = tuple(column for name in MEASURES.members for column in MEASURES.load(name).round_columns)
    files = [replace(file, columns=file.columns + more) if file.name == ROUNDS_FILE else file for file in RESULT_FILES]
    return (*files, *measured_tables())


@cache
def measured_tables() -> tuple[ResultFile, ...]:
    """Return the tables of the measures in the catalogue."""
    tables = [MEASURES.load(name).table() for name in MEASURES.members]
    return tuple(table for table in tables if table is not None)


@cache
def columns_of_files() -> Mapping[str, tuple[ResultColumn, ...]]:
    """Return the columns of each table by its file."""
    return {file.name: file.columns for file in result_files() if file.columns}


def own_tables(report: ReportSection) -> list[ResultFile]:
    """Return the tables of the measures from outside that a report asks for."""
    tables = [asked.measure.table() for asked in report.asked if is_outside(type(asked.measure))]
    return [table for table in tables if table is not None]


def description_of(table: ResultFile) -> dict[str, Any]:
    """Return the manifest's description of a table of a measure from outside."""
    columns = [
        {"name": column.name, "type": column.type.__name__, "unit": column.unit, "meaning": column.meaning}
        for column in table.columns
    ]
    return {"file": table.name, "meaning": table.meaning, "columns": columns}


def described_in(manifest: Mapping[str, Any], folder: Path) -> list[ResultFile]:
    """Return the tables of measures from outside that the manifest of a folder describes.

    Raises:
        InputError: the manifest is damaged.
    """
    try:
        return [_described(table) for table in manifest.get(MEASURED_TABLES, ())]
    except (KeyError, TypeError, AttributeError):
        text = "is damaged: restore the manifest, or run the scenario again"
        raise InputError(f"{folder}/manifest.json: {MEASURED_TABLES}: {text}") from None


def _described(table: Mapping[str, Any]) -> ResultFile:
    columns = [
        ResultColumn(str(column["name"]), TYPES[column["type"]], str(column["unit"]), str(column["meaning"]))
        for column in table["columns"]
    ]
    if not re.fullmatch(TABLE_NAME, table["file"]):
        raise TypeError
    return ResultFile(table["file"], str(table["meaning"]), columns=tuple(columns))
