"""What stands first on the page: the tiles of one run, or several runs compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, TIME, Unit, as_number, digits, percent, quantity, score
from edgefl.results.report import describe
from edgefl.results.report.read import Run, energy_of, reached
from edgefl.results.report.style import Shown
from edgefl.results.report.tables import NOT_REACHED, known, swatch, table

IN_A_ROW = 6


def tiles(run: Run) -> str:
    """The headline figures of one run."""
    time, energy = run.total("time_s"), run.total("energy_j")
    first = [
        _goal(run),
        _tile("Virtual time", quantity(time, TIME), _each(run, time, TIME)),
        _tile(energy_of([run]).capitalize(), quantity(energy, ENERGY), _each(run, energy, ENERGY)),
        _idled(run),
        _tile("Rounds", f"{run.length:,}", _extra(run) + _traffic(run)),
    ]
    then = [_target(target) for target in run.targets]
    first = [tile for tile in first if tile]
    rows = [first + then] if len(first + then) <= IN_A_ROW else [first, then]
    return "".join(f'<div class="tiles">{"".join(row)}</div>' for row in rows)


def _goal(run: Run) -> str:
    distance = run.last("distance_to_optimum")
    if run.final_accuracy is not None:
        best = run.summary.get("best_accuracy")
        return _tile("Final accuracy", score(run.final_accuracy), f"best {score(best)}" if best is not None else "")
    return "" if distance is None else _tile("Distance to the optimum", digits(distance), "after the last round")


def _each(run: Run, value: float | None, units: Sequence[Unit]) -> str:
    return f"{quantity(value / run.length, units)} a round" if value is not None and run.length else ""


def _idled(run: Run) -> str:
    """What batteries have lost while their devices took no part."""
    drained, charged = run.sum("drained_j"), run.sum("charged_j")
    if drained is None:
        return ""
    return _tile("Batteries idled away", quantity(drained, ENERGY), f"{quantity(charged, ENERGY)} charged")


def _extra(run: Run) -> str:
    extra = int((run.rounds["round"] < 1).sum())
    return f"{extra:,} of them extra, " if extra else ""


def _traffic(run: Run) -> str:
    down, up = (run.summary.get(name) for name in ("bytes_down", "bytes_up"))
    return "" if as_number(down) is None else f"{quantity(down, BYTES)} down, {quantity(up, BYTES)} up"


def _target(target: Mapping[str, Any]) -> str:
    """Time and energy to the target's accuracy."""
    title = f"To {percent(target['accuracy'])} accuracy"
    if not reached(target):
        return _tile(title, NOT_REACHED, "", "target missed")
    time, energy = quantity(target.get("time_s"), TIME), quantity(target.get("energy_j"), ENERGY)
    return _tile(title, time, f"round {quantity(target['round'])}", "target", energy)


def _tile(title: str, value: str, note: str, kind: str = "", second: str = "") -> str:
    values = "".join(f"<strong>{_with_unit(text)}</strong>" for text in (value, second) if text)
    return (
        f'<div class="tile {kind}"><span class="name">{escape(title)}</span>'
        f'<span class="values">{values}</span><span class="note">{escape(note)}</span></div>'
    )


def _with_unit(text: str) -> str:
    """The number large, its unit small."""
    value, space, unit = text.partition(" ")
    return f"{escape(value)}<small>{escape(unit)}</small>" if space and text != NOT_REACHED else escape(text)


def comparison(shown: Sequence[Shown]) -> str:
    """The headline figures of several runs, a row each."""
    wanted = sorted({target["accuracy"] for one in shown for target in one.run.targets})
    columns: dict[str, Callable[[Run], str]] = {
        "final accuracy": lambda run: score(run.final_accuracy),
        "distance to the optimum": lambda run: known(run.last("distance_to_optimum")),
        "virtual time": lambda run: quantity(run.total("time_s"), TIME),
        "energy": lambda run: quantity(run.total("energy_j"), ENERGY),
        "rounds": lambda run: f"{run.length:,}",
    }
    columns |= {f"to {percent(value)}": partial(_reach, accuracy=value) for value in wanted}
    texts = {title: [show(one.run) for one in shown] for title, show in columns.items()}
    texts = {title: column for title, column in texts.items() if set(column) != {NO_NUMBER}}
    rows = zip(*texts.values(), strict=True)
    body = [[swatch(one), *map(escape, row)] for one, row in zip(shown, rows, strict=True)]
    return table(["run", *map(escape, texts)], body, "runs")


def _reach(run: Run, accuracy: float) -> str:
    for target in run.targets:
        if target["accuracy"] == accuracy and reached(target):
            return f"{quantity(target.get('time_s'), TIME)} · {quantity(target.get('energy_j'), ENERGY)}"
    return NOT_REACHED if run.targets else NO_NUMBER


def differing(shown: Sequence[Shown]) -> str:
    """The scenario keys in which the runs differ."""
    apart = describe.differences([one.run.scenario for one in shown])
    body = [[f"<code>{escape(key)}</code>", *map(escape, texts)] for key, texts in apart.items() if key != "name"]
    if not body:
        return "<p>Only the name.</p>" if apart else "<p>Nothing: the scenarios are the same.</p>"
    return table(["key", *map(swatch, shown)], body, "")
