"""The headline of the page: tiles with the figures of one run, or tables that set several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, TIME, Unit, as_number, digits, percent, quantity, score
from edgefl.results.report import describe
from edgefl.results.report.read import Run, energy_of, reached
from edgefl.results.report.style import Shown
from edgefl.results.report.tables import NOT_REACHED, known, swatch, table

TILES_IN_A_ROW = 6


def tiles(run: Run) -> str:
    """Return the headline figures of one run as HTML."""
    results = _result_tiles(run)
    targets = [_target_tile(target) for target in run.targets]
    # Tiles beyond the first row would break it anywhere: targets that do not fit get a row of their own.
    if len(results) + len(targets) <= TILES_IN_A_ROW:
        rows = [results + targets]
    else:
        rows = [results, targets]
    return "".join(f'<div class="tiles">{"".join(row)}</div>' for row in rows)


def _result_tiles(run: Run) -> list[str]:
    """Return what the run achieved and what it cost; a figure that the run does not have is left out."""
    time_s = run.total("time_s")
    energy_j = run.total("energy_j")
    tiles = [
        _quality_tile(run),
        _tile("Virtual time", quantity(time_s, TIME), _per_round(run, time_s, TIME)),
        _tile(energy_of([run]).capitalize(), quantity(energy_j, ENERGY), _per_round(run, energy_j, ENERGY)),
        _idle_tile(run),
        _tile("Rounds", f"{run.length:,}", _extra_rounds(run) + _traffic(run)),
    ]
    return [tile for tile in tiles if tile]


def _quality_tile(run: Run) -> str:
    """Return the final accuracy, or the toy problem's distance to its optimum."""
    if run.final_accuracy is not None:
        # The last model is what a run leaves behind; a better one on the way is worth a note only.
        best = run.summary.get("best_accuracy")
        note = ""
        if best is not None:
            note = f"best {score(best)}"
        return _tile("Final accuracy", score(run.final_accuracy), note)
    distance = run.last("distance_to_optimum")
    if distance is not None:
        return _tile("Distance to the optimum", digits(distance), "after the last round")
    return ""


def _per_round(run: Run, total: float | None, units: Sequence[Unit]) -> str:
    """Return the mean of a total over the rounds."""
    if total is None or not run.length:
        return ""
    return f"{quantity(total / run.length, units)} a round"


def _idle_tile(run: Run) -> str:
    """Return the energy that batteries lost while their devices took no part."""
    drained_j = run.sum("drained_j")
    if drained_j is None:  # a run without batteries
        return ""
    return _tile(
        "Batteries idled away", quantity(drained_j, ENERGY), f"{quantity(run.sum('charged_j'), ENERGY)} charged"
    )


def _extra_rounds(run: Run) -> str:
    """Return how many of the rounds were extra ones, in which a session looks for its initial model."""
    extra = int((run.rounds["round"] < 1).sum())
    if not extra:
        return ""
    return f"{extra:,} of them extra, "


def _traffic(run: Run) -> str:
    """Return the bytes that all devices received and sent."""
    # Only the summary has the totals: a run that was cut short has none.
    down = run.summary.get("bytes_down")
    up = run.summary.get("bytes_up")
    if as_number(down) is None:
        return ""
    return f"{quantity(down, BYTES)} down, {quantity(up, BYTES)} up"


def _target_tile(target: Mapping[str, Any]) -> str:
    """Return the time and the energy that it took to reach an accuracy target."""
    title = f"To {percent(target['accuracy'])} accuracy"
    if not reached(target):
        return _tile(title, NOT_REACHED, "", "target missed")
    time = quantity(target.get("time_s"), TIME)
    energy = quantity(target.get("energy_j"), ENERGY)
    return _tile(title, time, f"round {quantity(target['round'])}", "target", energy)


def _tile(title: str, value: str, note: str, kind: str = "", second: str = "") -> str:
    """Return one tile: a title, one or two values in large type, and a note.

    Args:
        title: names the values.
        value: such as ``"12.4 min"``.
        note: one line in small type.
        kind: more classes of the style sheet.
        second: another value; empty for none.
    """
    values = "".join(f"<strong>{_with_small_unit(text)}</strong>" for text in (value, second) if text)
    return (
        f'<div class="tile {kind}"><span class="name">{escape(title)}</span>'
        f'<span class="values">{values}</span><span class="note">{escape(note)}</span></div>'
    )


def _with_small_unit(text: str) -> str:
    """Return a quantity as HTML with its unit in small type."""
    number, space, unit = text.partition(" ")
    if text == NOT_REACHED or not space:  # words, or a number without a unit
        return escape(text)
    return f"{escape(number)}<small>{escape(unit)}</small>"


def comparison(shown: Sequence[Shown]) -> str:
    """Return a table with the headline figures of several runs, a row for each."""
    every = _headline_columns([one.run for one in shown])
    # A column that no run has a number for, such as accuracies of priced runs, says nothing.
    columns = {title: cells for title, cells in every.items() if set(cells) != {NO_NUMBER}}
    body = []
    for row, one in enumerate(shown):
        body.append([swatch(one), *(escape(cells[row]) for cells in columns.values())])
    return table(["run", *map(escape, columns)], body, "runs")


def _headline_columns(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return the cells of each column by its title, one cell a run."""
    columns = {
        "final accuracy": [score(run.final_accuracy) for run in runs],
        "distance to the optimum": [known(run.last("distance_to_optimum")) for run in runs],
        "virtual time": [quantity(run.total("time_s"), TIME) for run in runs],
        "energy": [quantity(run.total("energy_j"), ENERGY) for run in runs],
        "rounds": [f"{run.length:,}" for run in runs],
    }
    # Runs may have targets of their own: every target of any run gets a column.
    accuracies = {target["accuracy"] for run in runs for target in run.targets}
    for accuracy in sorted(accuracies):
        columns[f"to {percent(accuracy)}"] = [_cost_of_target(run, accuracy) for run in runs]
    return columns


def _cost_of_target(run: Run, accuracy: float) -> str:
    """Return the time and the energy that a run took to an accuracy."""
    for target in run.targets:
        # Equal, not close: the column's accuracy comes from one of these very targets.
        if target["accuracy"] == accuracy and reached(target):
            return f"{quantity(target.get('time_s'), TIME)} · {quantity(target.get('energy_j'), ENERGY)}"
    if run.targets:
        return NOT_REACHED
    return NO_NUMBER  # the run measured no accuracy, or had no targets


def differing(shown: Sequence[Shown]) -> str:
    """Return a table of the scenario keys in which the runs differ, or a sentence where there are none."""
    values_by_key = describe.differences([one.run.scenario for one in shown])
    if not values_by_key:
        return "<p>Nothing: the scenarios are the same.</p>"
    body = []
    for key, values in values_by_key.items():
        if key != "name":  # the name is only what the runs are called
            body.append([f"<code>{escape(key)}</code>", *map(escape, values)])
    if not body:
        return "<p>Only the name.</p>"
    return table(["key", *map(swatch, shown)], body, "")
