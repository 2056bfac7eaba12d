"""The rows of a sweep's points, and the runs that failed."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgefl.results.participation import LOSS_CAUSES
from edgefl.results.report.sweep.estimates import SIGNIFICANCE_LEVEL, EstimateColumn, more_columns, updates_are_lost
from edgefl.results.report.sweep.links import Link, run_links
from edgefl.results.report.sweep.measures import (
    ACCURACIES,
    RECEIVED,
    SPREAD,
    WASTED,
    Goal,
    difference_text,
    estimate_text,
    p_text,
)
from edgefl.results.report.sweep.study import FAILED_STATUS, Study

SORTS_LAST = 1e300  # of cells without a number: JavaScript does not read Python's "inf"


class PointCell(NamedTuple):
    """A cell of a point: the number that the script sorts by, its text, what stands below it."""

    sorts_as: str
    text: str
    best: bool = False
    difference: str = ""  # from the best point
    same: bool = False  # whether the difference may be chance
    links: Sequence[Link] = ()


class PointsTable(NamedTuple):
    """The titles of the columns, and the cells of each point [points]."""

    head: Sequence[str]
    rows: Sequence[Sequence[PointCell]]


def points_table(
    study: Study, columns: Mapping[str, EstimateColumn], goals: Sequence[Goal], run_pages: Mapping[int, str]
) -> PointsTable:
    """Return a row for each point, which the script filters and sorts; `run_pages` has addresses by rows."""
    shown = _shown_columns(columns, goals)
    head = [*(key.title for key in study.keys), "runs", *(column.measure.title for column in shown)]
    return PointsTable(head, [_row(study, shown, run_pages, point) for point in range(len(study.points))])


def _shown_columns(columns: Mapping[str, EstimateColumn], goals: Sequence[Goal]) -> list[EstimateColumn]:
    shown = []
    for goal in goals:
        shown.append(columns[goal.time])
        shown.append(columns[goal.energy])
    shown += [columns[name] for name in ACCURACIES if name in columns]
    if updates_are_lost(columns):
        shown += [columns[name] for name in (RECEIVED, *LOSS_CAUSES, WASTED) if name in columns]
    # If every device takes part in every round, there is nothing to compare.
    spread = [columns[name] for name in SPREAD if name in columns]
    if any(column.best is not None for column in spread):
        shown += spread
    return shown + [columns[name] for name in more_columns(columns)]


def _row(study: Study, shown: Sequence[EstimateColumn], run_pages: Mapping[int, str], point: int) -> list[PointCell]:
    cells = []
    for key, index in zip(study.keys, study.points[point].value_indices, strict=True):
        # The index, as texts would sort 100 MHz before 50 MHz.
        cells.append(PointCell(str(index), key.texts[index]))
    finished = len(study.finished_rows[point])
    runs = len(study.points[point].rows)
    text = str(finished)
    if finished < runs:
        text += f" of {runs}"
    cells.append(PointCell(str(finished), text, links=run_links(study, run_pages, point)))
    cells += [_cell(column, point) for column in shown]
    return cells


def _cell(column: EstimateColumn, point: int) -> PointCell:
    estimate = column.estimates[point]
    sorts_as = estimate.central
    if not math.isfinite(sorts_as):
        sorts_as = SORTS_LAST
    cell = PointCell(f"{sorts_as:.6g}", estimate_text(estimate, column.measure), best=point == column.best)
    if cell.best or not column.against or not math.isfinite(column.against[point].mean):
        return cell
    paired = column.against[point]
    p = column.p[point]
    difference = difference_text(paired, column.measure)
    if math.isfinite(p):
        difference += f"; {p_text(p)}"
    # Equal values have no p-value, and no difference that could be significant.
    return cell._replace(difference=difference, same=p >= SIGNIFICANCE_LEVEL or paired.mean == 0)


def failed_runs(study: Study) -> list[list[str]]:
    """Return point, seed and error of each run that failed."""
    rows = [row for row, status in enumerate(study.texts["status"]) if status == FAILED_STATUS]
    return [[study.texts[name][row] for name in ("point", "seed", "error")] for row in rows]
