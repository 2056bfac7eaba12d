"""The table ``statistics.csv``: a row for each point (docs/sweep-report.md)."""

from collections.abc import Mapping, Sequence
from typing import Any

from edgefl.core.units import as_number
from edgefl.results.report.sweep.estimates import EstimateColumn
from edgefl.results.report.sweep.study import Study


def statistics_table(study: Study, columns: Mapping[str, EstimateColumn]) -> dict[str, list[Any]]:
    """Return the columns [points] of the table; None for an unknown number."""
    table: dict[str, list[Any]] = {"point": [point.label for point in study.points]}
    first_rows = [point.rows[0] for point in study.points]
    for key_column in study.key_columns:
        cells = study.texts[key_column]
        table[key_column] = [cells[row] for row in first_rows]
    table["runs"] = [len(point.rows) for point in study.points]
    table["finished"] = [len(rows) for rows in study.finished_rows]
    for name, column in columns.items():
        table |= _over_seeds(name, column)
        table |= _against_best(name, column)
    return table


def _over_seeds(name: str, column: EstimateColumn) -> dict[str, list[Any]]:
    estimates = column.estimates
    table: dict[str, list[Any]] = {}
    if column.measure.bound:
        table[f"{name}_reached"] = [estimate.reached for estimate in estimates]
    table[f"{name}_mean"] = _cells([estimate.mean for estimate in estimates])
    table[f"{name}_std"] = _cells([estimate.std for estimate in estimates])
    table[f"{name}_ci95"] = _cells([estimate.half for estimate in estimates])
    if column.measure.bound:
        table[f"{name}_median"] = _cells([estimate.median for estimate in estimates])
        table[f"{name}_above"] = _cells([estimate.above for estimate in estimates])
    return table


def _against_best(name: str, column: EstimateColumn) -> dict[str, list[Any]]:
    """Return the differences from the best point, with their intervals and p-values; nothing where none is the best."""
    if column.best is None:
        return {}
    return {
        f"{name}_difference": _cells([paired.mean for paired in column.against]),
        f"{name}_difference_ci95": _cells([paired.half for paired in column.against]),
        f"{name}_p": _cells(column.p),
    }


def _cells(values: Sequence[float]) -> list[float | None]:
    return [as_number(value) for value in values]
