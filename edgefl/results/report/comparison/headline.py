"""The top of the page: tiles with the main results of one run, or a table of several."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, TIME, Unit, as_number, digits, percent, quantity, score
from edgefl.results.progress import TIME_LEFT
from edgefl.results.report.comparison.pooled_seeds import PooledRuns, main_results
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.error_bars import bar_text
from edgefl.results.report.shared.read import Run, energy_of, reached
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.tables import NOT_REACHED, Cell, table
from edgefl.results.report.shared.templates import Html, macro, render

TILES_IN_A_ROW = 6
NAMES = ("name", "label")  # keys that only say what a run is called
STATUS_TEXTS = {
    "interrupted": "was interrupted after",
    "failed": "failed after",
    "running": "was killed, or its machine went down, and `edgefl run --resume` continues it; it had written",
}


class Tile(NamedTuple):
    """A result in large type."""

    title: str
    values: Sequence[str]
    note: str
    css_class: str = ""


def tiles(run: Run) -> Html:
    """Return the tiles of one run; the targets have a row of their own where one row is too short for all tiles."""
    time_s = run.total("time_s")
    energy_j = run.total("energy_j")
    candidates = [
        _result_tile(run),
        Tile("Virtual time", [quantity(time_s, TIME)], _note_of_total(run, "time_s", TIME)),
        Tile(energy_of([run]).capitalize(), [quantity(energy_j, ENERGY)], _note_of_total(run, "energy_j", ENERGY)),
        *_more_tiles(run),
        Tile("Rounds", [f"{run.length:,}"], _stopped(run) + _extra_rounds(run) + _traffic(run)),
    ]
    general = [tile for tile in candidates if tile]
    targets = [_target_tile(target) for target in run.targets]
    rows = [general, targets]
    if len(general) + len(targets) <= TILES_IN_A_ROW:
        rows = [general + targets]
    return render("comparison/tiles.html.j2", rows=rows)


def banner(run: Run, name: str) -> Html:
    """Return a line about a run that did not finish; an empty text for others."""
    status = str(run.manifest.get("status"))
    if status == "finished":
        return Html()
    if run.under_way:
        facts = [_rounds_of(run), run.summary.get(TIME_LEFT)]
        text = f"{name} is still running: {', '.join(fact for fact in facts if fact)}."
    else:
        ended = STATUS_TEXTS.get(status, f"has the status {status!r} after")
        text = f"{name} {ended} {_rounds_of(run)}."
    return macro("banner", text, status == "failed", run.manifest.get("error"))


def _rounds_of(run: Run) -> str:
    rounds = f"{run.length}"
    planned_rounds = describe.at(run.scenario, "rounds")
    is_planned = not describe.app(run.scenario)  # the number of rounds of an app is not known
    if is_planned and type(planned_rounds) is int:  # a folder of another version may hold something else
        rounds += f" of {planned_rounds}"
    return f"{rounds} rounds"


def _result_tile(run: Run) -> Tile | None:
    if run.final_accuracy is not None:
        # A run leaves its last model; a better one on the way is worth a note.
        best = run.summary.get("best_accuracy")
        note = ""
        if best is not None:
            note = f"best {score(best)}"
        if kept := describe.best_model(run):
            note = f"best model: {kept}"
        title = "Accuracy so far" if run.under_way else "Final accuracy"
        return Tile(title, [score(run.final_accuracy)], note)
    distance = run.last("distance_to_optimum")
    if distance is not None:
        return Tile("Distance to the optimum", [digits(distance)], "after the last round")
    loss = run.last("test_loss")
    if loss is None:
        return None
    return Tile("Final test loss", [digits(loss)], "after the last round")  # of a regression


def _note_of_total(run: Run, name: str, units: Sequence[Unit]) -> str:
    """Return the error bar of a total, or without one its mean over rounds."""
    value = run.total(name)
    if text := bar_text(run.summary, name, units):
        return text
    if value is None or not run.length:
        return ""
    return f"{quantity(value / run.length, units)} a round"


def _more_tiles(run: Run) -> list[Tile]:
    """Return a tile for each quantity that only some runs have, with the terms that it adds up."""
    tiles = []
    for one in run.quantities:
        value = run.value(one)
        if one.when and value and not one.end_of:
            names = one.sums if one.terms else ()
            terms = [
                f"{quantity(run.sum(name), one.units)} {title}" for name, title in zip(names, one.terms, strict=True)
            ]
            tiles.append(Tile(one.title.capitalize(), [one.text(value)], ", ".join(terms)))
    return tiles


def _stopped(run: Run) -> str:
    if run.stopped_before is None:
        return ""
    return f"of {run.stopped_before:,}, ended by stop; "


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


def _target_tile(target: Mapping[str, Any]) -> Tile:
    title = f"To {percent(target['accuracy'])} accuracy"
    if not reached(target):
        return Tile(title, [NOT_REACHED], "", "target missed")
    time = quantity(target.get("time_s"), TIME)
    energy = quantity(target.get("energy_j"), ENERGY)
    notes = [f"round {quantity(target['round'])}", bar_text(target, "time_s", TIME)]
    return Tile(title, [time, energy], ", ".join(filter(None, notes)), "target")


def runs_table(runs: Sequence[StyledRun]) -> Html:
    """Return a table of the main results, a row for each run, and below it those that are the same in all runs.

    Columns that no run has a value for are left out.
    """
    targets = sorted({target["accuracy"] for run in runs for target in run.data.targets})
    results = main_results([run.data for run in runs])
    columns = [(result.title, [result.text_of(result.value_of(run.data)) for run in runs]) for result in results]
    # Runs may have targets of their own: every target of any run has a column.
    columns += [(f"to {percent(target)}", [_cost_of_target(run.data, target) for run in runs]) for target in targets]

    head = ["run"]
    body: list[list[Cell]] = [[run] for run in runs]
    same = {}
    for title, texts in columns:
        if set(texts) == {NO_NUMBER}:  # such as accuracies of priced runs
            continue
        if len(set(texts)) == 1:
            same[title] = texts[0]
            continue
        head.append(title)
        for row, text in zip(body, texts, strict=True):
            row.append(text)
    return table(head, body, "runs", "Runs") + macro("shared_note", same)


def _cost_of_target(run: Run, accuracy: float) -> str:
    for target in run.targets:
        # Equal, not close: the accuracy comes from one of these very targets.
        if target["accuracy"] != accuracy:
            continue
        if not reached(target):
            return NOT_REACHED
        return f"{quantity(target.get('time_s'), TIME)} · {quantity(target.get('energy_j'), ENERGY)}"
    return NO_NUMBER


def differences_table(runs: Sequence[StyledRun]) -> Html:
    """Return a table of the scenario keys that differ between the runs."""
    keys = describe.differences([run.data.scenario for run in runs])
    # Name and label are only what the runs are called.
    body = [[Html("<code>{}</code>").format(key), *texts] for key, texts in keys.items() if key not in NAMES]
    return render("comparison/differences.html.j2", keys=keys, head=["key", *runs], body=body)


def differences_of_groups(groups: Sequence[PooledRuns]) -> Html:
    """Return a table of the scenario keys that differ between groups of runs with only different seeds."""
    if len(groups) == 1:
        return Html("<p>Only the seed: {}.</p>").format(", ".join(groups[0].seeds))
    return differences_table([group.look for group in groups])
