"""The top of the page: tiles with the main results of one run, or a table of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, TIME, Unit, as_number, digits, percent, quantity, score
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run, energy_of, reached
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.tables import NOT_REACHED, number_or_dash, shared_note, swatch, table

TILES_IN_A_ROW = 6
STATUS_TEXTS = {
    "interrupted": "was interrupted after",
    "failed": "failed after",
    "running": "was killed, or its machine went down, and `edgefl run --resume` goes on with it; it had written",
}


def tiles(run: Run) -> str:
    """Return the tiles of one run; the targets have a row of their own where one row is too short for all tiles."""
    time_s = run.total("time_s")
    energy_j = run.total("energy_j")
    candidates = [
        _result_tile(run),
        _tile("Virtual time", quantity(time_s, TIME), _per_round(run, time_s, TIME)),
        _tile(energy_of([run]).capitalize(), quantity(energy_j, ENERGY), _per_round(run, energy_j, ENERGY)),
        _base_station_tile(run),
        _battery_tile(run),
        _tile("Rounds", f"{run.length:,}", _extra_rounds(run) + _traffic(run)),
    ]
    general = [tile for tile in candidates if tile]
    targets = [_target_tile(target) for target in run.targets]
    # Tiles beyond the first row would break it anywhere.
    if len(general) + len(targets) <= TILES_IN_A_ROW:
        return _tile_row(general + targets)
    return _tile_row(general) + _tile_row(targets)


def banner(run: Run, name: str) -> str:
    """Return a line about a run that did not finish, under its name in that line; an empty text for others."""
    status = str(run.manifest.get("status"))
    if status == "finished":
        return ""
    if run.under_way:
        text = f"{name} is still running: {_rounds_of(run)}."
    else:
        ended = STATUS_TEXTS.get(status, f"has the status {status!r} after")
        text = f"{name} {ended} {_rounds_of(run)}."
    text = escape(text)
    error = run.manifest.get("error")
    if error:
        text += f' <span class="error">{escape(str(error))}</span>'
    severity = "bad" if status == "failed" else ""
    return f'<p class="banner {severity}" role="status">{text}</p>'


def _rounds_of(run: Run) -> str:
    """Return how many rounds have ended, and of how many, as far as anybody knows."""
    rounds = f"{run.length}"
    planned_rounds = describe.at(run.scenario, "rounds")
    is_planned = not describe.app(run.scenario)  # nobody knows how many rounds an app would have run
    if is_planned and type(planned_rounds) is int:  # a folder of another version may hold something else
        rounds += f" of {planned_rounds}"
    return f"{rounds} rounds"


def _tile_row(row: Sequence[str]) -> str:
    return f'<div class="tiles">{"".join(row)}</div>'


def _result_tile(run: Run) -> str:
    """Return the tile of the accuracy, or of the toy problem's distance; an empty text where nothing was learned."""
    if run.final_accuracy is not None:
        # The last model is what a run leaves behind; a better one on the way is worth a note.
        best = run.summary.get("best_accuracy")
        note = "" if best is None else f"best {score(best)}"
        title = "Accuracy so far" if run.under_way else "Final accuracy"
        return _tile(title, score(run.final_accuracy), note)
    distance = run.last("distance_to_optimum")
    if distance is not None:
        return _tile("Distance to the optimum", digits(distance), "after the last round")
    loss = run.last("test_loss")
    if loss is None:
        return ""
    # A regression, or what else has no classes.
    return _tile("Final test loss", digits(loss), "after the last round")


def _per_round(run: Run, value: float | None, units: Sequence[Unit]) -> str:
    if value is None or not run.length:
        return ""
    return f"{quantity(value / run.length, units)} a round"


def _battery_tile(run: Run) -> str:
    """Return the tile of what batteries lost to other things than taking part."""
    drained_j = run.sum("drained_j")
    if drained_j is None:  # a run without batteries
        return ""
    charged_j = run.sum("charged_j")
    return _tile("Drained besides learning", quantity(drained_j, ENERGY), f"{quantity(charged_j, ENERGY)} charged")


def _base_station_tile(run: Run) -> str:
    """Return the tile of what base stations drew, beside the energy of devices."""
    static_j = run.sum("bs_static_energy_j")
    if static_j is None:  # a run that does not account for them
        return ""
    load_j = run.sum("bs_load_energy_j") or 0.0
    return _tile("Energy of base stations", quantity(static_j + load_j, ENERGY), f"{quantity(load_j, ENERGY)} to send")


def _extra_rounds(run: Run) -> str:
    count = int((run.rounds["round"] < 1).sum())
    if not count:
        return ""
    return f"{count:,} of them extra, "


def _traffic(run: Run) -> str:
    downlink_bytes = run.summary.get("bytes_down")
    uplink_bytes = run.summary.get("bytes_up")
    if as_number(downlink_bytes) is None:  # a run that was cut short has no summary
        return ""
    return f"{quantity(downlink_bytes, BYTES)} down, {quantity(uplink_bytes, BYTES)} up"


def _target_tile(target: Mapping[str, Any]) -> str:
    """Return the tile of the time and the energy to a target's accuracy."""
    title = f"To {percent(target['accuracy'])} accuracy"
    if not reached(target):
        return _tile(title, NOT_REACHED, "", "target missed")
    time = quantity(target.get("time_s"), TIME)
    energy = quantity(target.get("energy_j"), ENERGY)
    return _tile(title, time, f"round {quantity(target['round'])}", "target", energy)


def _tile(title: str, value: str, note: str, css_class: str = "", second_value: str = "") -> str:
    """Return a tile with one value, or two, in large type."""
    values = f"<strong>{_with_small_unit(value)}</strong>"
    if second_value:
        values += f"<strong>{_with_small_unit(second_value)}</strong>"
    return (
        f'<div class="tile {css_class}"><span class="name">{escape(title)}</span>'
        f'<span class="values">{values}</span><span class="note">{escape(note)}</span></div>'
    )


def _with_small_unit(text: str) -> str:
    """Return a number as HTML in which the unit is small."""
    if text == NOT_REACHED or " " not in text:
        return escape(text)
    number, _, unit = text.partition(" ")
    return f"{escape(number)}<small>{escape(unit)}</small>"


def runs_table(runs: Sequence[StyledRun]) -> str:
    """Return a table of the main results, a row for each run, and below it those that are the same in all runs.

    Columns that no run has a value for are left out.
    """
    targets = sorted({target["accuracy"] for run in runs for target in run.data.targets})
    columns: dict[str, Callable[[Run], str]] = {
        "final accuracy": _final_accuracy,
        "distance to the optimum": _distance,
        "virtual time": _time,
        "energy": _energy,
        "rounds": _rounds,
    }
    for accuracy in targets:
        # Runs may have targets of their own: every target of any run has a column.
        columns[f"to {percent(accuracy)}"] = partial(_cost_of_target, accuracy=accuracy)

    head = ["run"]
    body = [[swatch(run)] for run in runs]
    same = {}
    for title, text_of in columns.items():
        texts = [text_of(run.data) for run in runs]
        if set(texts) == {NO_NUMBER}:  # such as accuracies of priced runs
            continue
        if len(set(texts)) == 1:
            same[title] = texts[0]
            continue
        head.append(escape(title))
        for row, text in zip(body, texts, strict=True):
            row.append(escape(text))
    return table(head, body, "runs", "Runs") + shared_note(same)


def _final_accuracy(run: Run) -> str:
    return score(run.final_accuracy)


def _distance(run: Run) -> str:
    return number_or_dash(run.last("distance_to_optimum"))


def _time(run: Run) -> str:
    return quantity(run.total("time_s"), TIME)


def _energy(run: Run) -> str:
    return quantity(run.total("energy_j"), ENERGY)


def _rounds(run: Run) -> str:
    return f"{run.length:,}"


def _cost_of_target(run: Run, accuracy: float) -> str:
    """Return what a target took; a dash for a run that does not have this target."""
    for target in run.targets:
        # Equal, not close: the accuracy comes from one of these very targets.
        if target["accuracy"] != accuracy:
            continue
        if not reached(target):
            return NOT_REACHED
        return f"{quantity(target.get('time_s'), TIME)} · {quantity(target.get('energy_j'), ENERGY)}"
    return NO_NUMBER


def differences_table(runs: Sequence[StyledRun]) -> str:
    """Return a table of the scenario keys in which the runs differ."""
    differing = describe.differences([run.data.scenario for run in runs])
    if not differing:
        return "<p>Nothing: the scenarios are the same.</p>"
    body = []
    for key, texts in differing.items():
        if key != "name":  # which is only what the runs are called
            body.append([f"<code>{escape(key)}</code>", *map(escape, texts)])
    if not body:
        return "<p>Only the name.</p>"
    return table(["key", *map(swatch, runs)], body, "", "What differs")


def differences_of_groups(groups: Sequence[PooledRuns]) -> str:
    """Return a table of the scenario keys in which groups differ whose runs differ in their seeds alone."""
    if len(groups) == 1:
        return f"<p>Only the seed: {escape(', '.join(groups[0].seeds))}.</p>"
    return differences_table([group.look for group in groups])
