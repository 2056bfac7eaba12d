"""The points of a sweep as a table, and the runs that failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from edgefl.results.report.shared.tables import table
from edgefl.results.report.sweep.estimates import SIGNIFICANCE_LEVEL, EstimateColumn
from edgefl.results.report.sweep.links import run_links
from edgefl.results.report.sweep.measures import ACCURACY_TITLES, SPREAD_TITLES, Goal
from edgefl.results.report.sweep.study import FAILED_STATUS, Study
from edgefl.results.report.sweep.texts import difference_text, estimate_text, p_text

MOST_FAILED_SHOWN = 100
SORTS_LAST = 1e300  # of cells without a number: JavaScript does not read Python's "inf"
POINTS_LEGEND = (
    "A cell shows the mean ± half of the 95 % confidence interval over seeds (Student's t). If some runs missed a "
    "target, there is no mean: the cell shows the median of all runs (Kaplan–Meier) and how many of them reached the "
    "target; “>” is a lower bound of an unknown median. The best point of each column is bold. The small line under "
    "each other point is its mean difference from the best, over pairs of runs with the same seed, with the p-value of "
    "the paired t-test, corrected for the number of points (Holm). Grey differences are not significant (p ≥ 0.05)."
)


def points_table(
    study: Study, columns: Mapping[str, EstimateColumn], goals: Sequence[Goal], run_pages: Mapping[int, str]
) -> str:
    """Return a table with a row for each point, which the script filters and sorts.

    Args:
        study: the sweep.
        columns: the estimates of all measures.
        goals: of which time and energy are shown.
        run_pages: the addresses of the pages of runs, by their rows in the index.
    """
    shown = _shown_columns(columns, goals)
    titles = [key.title for key in study.keys]
    titles.append("runs")
    titles += [column.measure.title for column in shown]
    head = "".join(f'<th scope="col"><button type="button">{escape(title)}</button></th>' for title in titles)
    rows = [
        f'<tr data-point="{point}">{_row(study, shown, run_pages, point)}</tr>' for point in range(len(study.points))
    ]
    body = "".join(rows)
    return (
        '<div class="scroll"><table class="points"><caption class="unseen">Points</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _shown_columns(columns: Mapping[str, EstimateColumn], goals: Sequence[Goal]) -> list[EstimateColumn]:
    """Return time and energy of each goal, then the accuracies where they were measured."""
    shown = []
    for goal in goals:
        shown.append(columns[goal.time])
        shown.append(columns[goal.energy])
    shown += [columns[name] for name in ACCURACY_TITLES if name in columns]
    # Where everybody takes part in every round, there is nothing to compare.
    spread = [columns[name] for name in SPREAD_TITLES if name in columns]
    if any(column.best is not None for column in spread):
        shown += spread
    return shown


def _row(study: Study, shown: Sequence[EstimateColumn], run_pages: Mapping[int, str], point: int) -> str:
    """Return the cells of a point: its values, its runs with links to their pages, its estimates."""
    cells = []
    for key, index in zip(study.keys, study.points[point].value_indices, strict=True):
        # The index, as texts would sort 100 MHz before 50 MHz.
        cells.append(f'<td data-sort="{index}">{escape(key.texts[index])}</td>')
    finished = len(study.finished_rows[point])
    runs = len(study.points[point].rows)
    text = str(finished)
    if finished < runs:
        text += f" of {runs}"
    cells.append(f'<td data-sort="{finished}">{text}{run_links(study, run_pages, point)}</td>')
    cells += [_cell(column, point) for column in shown]
    return "".join(cells)


def _cell(column: EstimateColumn, point: int) -> str:
    """Return an estimate, and how it compares with the best point."""
    estimate = column.estimates[point]
    text = escape(estimate_text(estimate, column.measure))
    order = estimate.central if math.isfinite(estimate.central) else SORTS_LAST
    if point == column.best:
        content = f"<b>{text}</b>"
    else:
        content = f"{text}{_difference_from_best(column, point)}"
    return f'<td data-sort="{order:.6g}">{content}</td>'


def _difference_from_best(column: EstimateColumn, point: int) -> str:
    """Return the small line under an estimate; nothing where the difference is unknown."""
    if not column.against:
        return ""
    paired = column.against[point]
    if not math.isfinite(paired.mean):
        return ""
    p = column.p[point]
    text = escape(difference_text(paired, column.measure))
    if math.isfinite(p):
        text += f"; {p_text(p)}"
    # Equal values have no p-value, and no difference that could be significant.
    if p >= SIGNIFICANCE_LEVEL or paired.mean == 0:
        return f'<small class="same">{text}</small>'
    return f"<small>{text}</small>"


def failed_section(study: Study) -> str:
    """Return a section with the runs that failed and their errors; nothing where none has."""
    rows = [row for row, status in enumerate(study.texts["status"]) if status == FAILED_STATUS]
    if not rows:
        return ""
    names = ["point", "seed", "error"]
    body = [[escape(study.texts[name][row]) for name in names] for row in rows[:MOST_FAILED_SHOWN]]
    note = ""
    left_out = len(rows) - MOST_FAILED_SHOWN
    if left_out > 0:
        note = f'<p class="note">index.csv lists {left_out:,} more.</p>'
    content = table(names, body, "failed", "Failed runs")
    return f'<section id="failed"><h2>Failed runs</h2><div class="card">{content}{note}</div></section>'
