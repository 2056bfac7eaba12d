"""Tables and share bars as HTML with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, TIME, Unit, as_number, digits, percent, quantity, score, spread
from edgefl.results.metrics import INITIAL_ROUNDS
from edgefl.results.report import expenses, groups, phases
from edgefl.results.report.comparison import Block
from edgefl.results.report.read import Run, energy_of, reached
from edgefl.results.report.style import INK, Phase, Shown

NOT_REACHED = "not reached"
AT_THE_END = {
    "train_loss": "train loss at the end",
    "test_loss": "test loss at the end",
    "parameter": "parameter at the end",
    "distance_to_optimum": "distance to the optimum",
    "sel_accuracy": "accuracy of the mean local model",
    "all_accuracy": "accuracy of all devices' mean model",
    "test_auc": "AUC",
    **{f"{name}_{k}": f"{name.upper().replace('HR', 'hit rate')} @ {k}" for k in (5, 10) for name in ("hr", "ndcg")},
}
Facts = dict[str, str]


def known(value: float | None) -> str:
    """A plain number, or a dash."""
    return NO_NUMBER if value is None else digits(value)


def swatch(one: Shown) -> str:
    """A short line in the run's colour and dash, and its label."""
    style = {"solid": "solid", "dot": "dotted"}.get(one.dash, "dashed")
    return f'<i class="swatch" style="border-top:3px {style} {one.colour}"></i>{escape(one.label)}'


def table(head: Sequence[str], body: Iterable[Sequence[str]], kind: str) -> str:
    """A table of cells that are HTML already; the first of each row is its heading."""
    titles = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    rows = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in body
    )
    top = f"<thead><tr>{titles}</tr></thead>" if head else ""
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{rows}</tbody></table></div>'


def block(block: Block, shown: Sequence[Shown]) -> str:
    """A table whose rows are the runs."""
    body = [[swatch(one), *map(escape, cells)] for one, cells in zip(shown, block.body, strict=True)]
    return table(["run", *map(escape, block.head)], body, "runs")


def share_bars(shown: Sequence[Shown], parts: Sequence[Phase], units: Sequence[Unit]) -> str:
    """A bar a run, split by share; between runs its length tells the mean per participation."""
    sums = [phases.totals(one.run, parts) for one in shown]
    means = [float(part.sum()) / max(1, one.run.devices["row"].size) for one, part in zip(shown, sums, strict=True)]
    rows = [
        f'<div class="share"><div>{"" if len(shown) == 1 else f"<span>{swatch(one)}</span>"}'
        f'<span class="mean">{escape(quantity(mean, units))} per device and round</span></div>'
        f"{_bar(parts, part, mean / (max(means) or 1.0))}</div>"
        for one, part, mean in zip(shown, sums, means, strict=True)
    ]
    return key(parts) + "".join(rows)


def split_bar(parts: Sequence[Phase], sums: Floats) -> str:
    """One bar, split by share, under its colours."""
    return f'{key(parts)}<div class="share">{_bar(parts, sums, 1.0)}</div>'


def key(parts: Sequence[Phase]) -> str:
    """The colours of the phases."""
    marks = [f'<span><i class="dot" style="background:{part.colour}"></i>{escape(part.name)}</span>' for part in parts]
    return f'<div class="key">{"".join(marks)}</div>'


def _bar(parts: Sequence[Phase], sums: Floats, width: float) -> str:
    """A bar of ``width`` (0 to 1); a slice too narrow for its number goes without."""
    shares = sums / (sums.sum() or 1.0)
    slices = [
        f'<span title="{escape(part.name)} {share:.1%}" style="width:{share:.2%};background:{part.colour};'
        f'color:{_on(part.colour)}">{f"{100 * share:.0f} %" if share * width > 0.07 else ""}</span>'
        for part, share in zip(parts, shares.tolist(), strict=True)
    ]
    return f'<div class="bar" style="width:{width:.2%}">{"".join(slices)}</div>'


def _on(colour: str) -> str:
    """The text colour that is readable on a colour."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#ffffff" if 0.3 * red + 0.59 * green + 0.11 * blue < 120 else INK


def results(shown: Sequence[Shown]) -> str:
    """Targets, totals, fairness, drops and wall-clock time: a card each, a column for every run."""
    runs = [one.run for one in shown]
    cards = {
        "Targets": [_targets(run) for run in runs[:1] if len(runs) == 1],  # several have their comparison
        "Totals": [_totals(run, energy_of(runs)) for run in runs],
        "Fairness: accuracy per device": [_fairness(run) for run in runs],
        "Rounds and drops": [_drops(run) for run in runs],
        "Wall clock": [_wall(run) for run in runs],
    }
    inner = "".join(_card(title, columns, shown) for title, columns in cards.items() if any(columns))
    return f'<div class="results {"several" if len(shown) > 1 else ""}">{inner}</div>'


def _card(title: str, columns: Sequence[Facts], shown: Sequence[Shown]) -> str:
    names = dict.fromkeys(name for column in columns for name in column)
    body = [[escape(name), *(escape(column.get(name, NO_NUMBER)) for column in columns)] for name in names]
    head = [] if len(shown) == 1 else ["", *map(swatch, shown)]
    return f'<div class="card"><h3>{escape(title)}</h3>{table(head, body, "facts")}</div>'


def _targets(run: Run) -> Facts:
    return {percent(target["accuracy"]): _target(target) for target in run.targets}


def _totals(run: Run, energy: str) -> Facts:
    facts = {
        "virtual time": quantity(run.total("time_s"), TIME),
        energy: quantity(run.total("energy_j"), ENERGY),
        "sent to devices": quantity(run.summary.get("bytes_down"), BYTES),
        "sent by devices": quantity(run.summary.get("bytes_up"), BYTES),
    }
    if run.sum("drained_j") is not None:
        facts["idled away by batteries"] = quantity(run.sum("drained_j"), ENERGY)
        facts["charged into batteries"] = quantity(run.sum("charged_j"), ENERGY)
    if run.final_accuracy is not None:
        facts["final accuracy"] = score(run.final_accuracy)
        facts["best accuracy"] = score(run.summary.get("best_accuracy"))
    return facts | {
        name: known(run.last(column)) for column, name in AT_THE_END.items() if run.last(column) is not None
    }


def _fairness(run: Run) -> Facts:
    fairness = run.summary.get("fairness") or {}
    names = {"mean": "mean", "worst_10_percent": "worst 10 %", "best_10_percent": "best 10 %"}
    variance = as_number(fairness.get("variance"))
    deviations = fairness | {"mean_std": None if variance is None else max(variance, 0.0) ** 0.5}
    return {
        name: spread(fairness[column], deviations.get(f"{column}_std"))
        for column, name in names.items()
        if column in fairness
    }


def sessions(run: Run) -> str:
    """What each session of a run took and brought; nothing where there are not several."""
    every = run.summary.get("sessions") or []
    if len(every) < 2:
        return ""
    wanted = [_goal(target) for target in every[0].get("targets") or []]  # the same in all sessions, in order
    head = ["session", "rounds", "time", "energy", f"first {INITIAL_ROUNDS} rounds", "best", "final accuracy", *wanted]
    more = _session_facts(run, every)
    body = [
        [
            escape(cell)
            for cell in (
                *_session(one),
                *map(_session_target, one.get("targets") or []),
                *(facts[place] for facts in more.values()),
            )
        ]
        for place, one in enumerate(every)
    ]
    return table(list(map(escape, [*head, *more])), body, "facts")


def _goal(target: Mapping[str, Any]) -> str:
    """What a target is called; a relative one is another accuracy in each session."""
    relative = as_number(target.get("relative"))
    return (
        f"to {percent(target['accuracy'])}" if relative is None else f"to {percent(relative)} of the reference's best"
    )


def _session_target(target: Mapping[str, Any]) -> str:
    """What it took; a relative one with its accuracy, a dash where the reference had no such session."""
    if as_number(target.get("relative")) is None:
        return _target(target)
    return NO_NUMBER if target["accuracy"] is None else f"{score(target['accuracy'])}: {_target(target)}"


def _session(one: Mapping[str, Any]) -> list[str]:
    costs = quantity(one.get("time_s"), TIME), quantity(one.get("energy_j"), ENERGY)
    scores = [score(one.get(f"{name}_accuracy")) for name in ("initial", "best", "final")]
    return [quantity(one.get("session")), quantity(one.get("rounds")), *costs, *scores]


def _session_facts(run: Run, every: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Columns that only some runs have: who was there, extra rounds, what the server kept for the sessions to come."""
    rounds, sessions = run.rounds, [one.get("session") for one in every]
    rows = [np.flatnonzero(rounds["session"] == session) for session in sessions]
    turns = [groups.turn(run, int(session or 1)) for session in sessions]
    extra = [int((rounds["round"][each] < 1).sum()) for each in rows]
    kept = [float(np.nan_to_num(rounds["history_bytes"][each]).max(initial=0)) for each in rows]
    columns = {
        "devices": [turn.name if turn else "" for turn in turns],
        "of the rounds extra": [f"{count}" if any(extra) else "" for count in extra],
        "kept by the server": [quantity(value, BYTES) if any(kept) else "" for value in kept],
    }
    return {name: cells for name, cells in columns.items() if any(cells)}


def _target(target: Mapping[str, Any]) -> str:
    if not reached(target):
        return NOT_REACHED
    costs = (quantity(target.get("time_s"), TIME), quantity(target.get("energy_j"), ENERGY))
    return f"round {quantity(target['round'])} · {' · '.join(costs)}"


def _drops(run: Run) -> Facts:
    counts = ("selected", "received", "late", "departed")
    empty = int((expenses.ends(run) == expenses.EMPTY).sum())
    sums = {name: float(np.nansum(run.rounds[name])) for name in counts}
    sums |= {"departed": sums["departed"] - empty, expenses.told(expenses.EMPTY): empty} if empty else {}
    facts = {"rounds": f"{run.length:,}"} | {name: digits(value) for name, value in sums.items()}
    drops = run.summary.get("drops") or {}
    return facts | {str(name): quantity(value) for name, value in drops.items() if name not in facts}


def _wall(run: Run) -> Facts:
    wall = run.summary.get("wall_s") or run.manifest.get("wall_s")
    parts = wall if isinstance(wall, Mapping) else {"total": wall}
    return {str(name).replace("_", " "): quantity(value, TIME) for name, value in parts.items()}
