"""The points of a sweep as a table, and the runs that failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from edgefl.results.report.sweep.answer import p_value
from edgefl.results.report.sweep.columns import SIGNIFICANT, Column, Goal, difference, told
from edgefl.results.report.sweep.study import Study
from edgefl.results.report.tables import table

MOST_FAILED = 100
LEGEND = (
    "Mean ± half of the 95 % confidence interval over seeds (Student's t). Where some runs never got to a target there "
    "is no mean but the median of all, with how many got there (Kaplan and Meier); “>” is what the median exceeds. "
    "Bold is the best of a column. Below the others stands how far they are from it, in pairs of runs under the same "
    "seed, and p of the paired t-test (of all points of a column at once, Holm); grey is not significant (p ≥ 0.05)."
)


def points(study: Study, found: Mapping[str, Column], goals: Sequence[Goal]) -> str:
    """A row a point, which the script filters and sorts."""
    shown = [found[name] for goal in goals for name in (goal.time, goal.energy)]
    shown += [found[name] for name in ("final_accuracy", "best_accuracy") if name in found]
    titles = [*(key.title for key in study.keys), "runs", *(column.measure.title for column in shown)]
    head = "".join(f'<th scope="col"><button type="button">{escape(title)}</button></th>' for title in titles)
    body = "".join(f'<tr data-point="{place}">{_row(study, shown, place)}</tr>' for place in range(len(study.points)))
    return (
        f'<div class="scroll"><table class="points"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _row(study: Study, shown: Sequence[Column], place: int) -> str:
    at = study.points[place].at
    keys = [
        f'<td data-sort="{value}">{escape(key.texts[value])}</td>' for key, value in zip(study.keys, at, strict=True)
    ]
    done, of = len(study.finished[place]), len(study.points[place].rows)
    runs = f'<td data-sort="{done}">{done if done == of else f"{done} of {of}"}</td>'
    return "".join([*keys, runs, *(_cell(column, place) for column in shown)])


def _cell(column: Column, place: int) -> str:
    """An estimate, and how it compares with the best."""
    one, text = column.estimates[place], escape(told(column.estimates[place], column.measure))
    value = one.central if math.isfinite(one.central) else 1e300
    if place == column.best:
        return f'<td data-sort="{value:.6g}"><b>{text}</b></td>'
    small = _against(column, place) if column.against else ""
    return f'<td data-sort="{value:.6g}">{text}{small}</td>'


def _against(column: Column, place: int) -> str:
    paired, p = column.against[place], column.p[place]
    if not math.isfinite(paired.mean):
        return ""
    certainty = f"; {p_value(p)}" if math.isfinite(p) else ""
    doubt = ' class="same"' if p >= SIGNIFICANT or paired.mean == 0 else ""
    return f"<small{doubt}>{escape(difference(paired, column.measure))}{certainty}</small>"


def failed(study: Study) -> str:
    """The runs that failed, with their errors."""
    rows = [row for row, status in enumerate(study.texts["status"]) if status == "failed"]
    if not rows:
        return ""
    columns = [study.texts[name] for name in ("point", "seed", "error")]
    body = [[escape(column[row]) for column in columns] for row in rows[:MOST_FAILED]]
    more = f'<p class="note">{len(rows) - MOST_FAILED:,} more are in index.csv.</p>' if len(rows) > MOST_FAILED else ""
    inner = table(["point", "seed", "error"], body, "failed")
    return f'<section id="failed"><h2>Failed</h2><div class="card">{inner}{more}</div></section>'
