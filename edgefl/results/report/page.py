"""The page: figures and tables put into the template, with scripts and styles inside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from string import Template

from edgefl.core.units import ENERGY, NO_NUMBER, TIME, quantity
from edgefl.results.reader import ColumnArrays
from edgefl.results.report import comparison, curves, describe, details, headline, labels, phases, story, tables, views
from edgefl.results.report.details import Card, card, frame, plot
from edgefl.results.report.read import Run
from edgefl.results.report.resources import as_json, plotly, resource
from edgefl.results.report.style import ENERGY_PHASES, TIME_PHASES, Figure, Shown, prose, shown, template

FEW = 4  # so many runs are all unfolded from the start, of more runs the first two
CURVES = {"accuracy": "Test accuracy", "distance": "Distance to the optimum", "loss": "Loss"}
STATUS = {
    "interrupted": "was interrupted after",
    "failed": "failed after",
    "running": "had not finished when this page was made: it stood at",
}


def render(runs: Sequence[Run]) -> str:
    """The complete page for one or several runs."""
    names = describe.labels(runs)
    every = [shown(run, name, place) for place, (run, name) in enumerate(zip(runs, names, strict=True))]
    learning = curves.figures(every)
    world = [details.world(run, place) for place, run in enumerate(runs)]
    costs = [details.costs(run, place, runs) for place, run in enumerate(runs)]
    holders = labels.groups(every)
    holdings = {f"labels-{place}": labels.figure(table) for place, (table, _) in enumerate(holders)}
    figures = learning | holdings | {card.name: card.figure for part in (*world, *costs) for card in part}
    title, subtitle = _heading(runs)
    values = {
        "title": escape(title),
        "subtitle": escape(subtitle),
        "banners": "".join(_banner(one, alone=len(every) == 1) for one in every),
        "headline": _headline(every),
        "learning": _learning(every, learning) + _comparison(every),
        "details": _sections(every, world, costs, _holdings(every, holders, holdings)),
        "results": tables.results(every),
        "sources": "".join(_source(one, alone=len(every) == 1) for one in every),
        "footer": escape(_footer(runs)),
        "style": resource("style.css"),
        "plotly": plotly(),
        "figures": as_json({"template": template(), "figures": figures}),
        "script": resource("page.js") + resource("print.js"),
    }
    return Template(resource("template.html")).substitute(values)


def _heading(runs: Sequence[Run]) -> tuple[str, str]:
    """Title and subtitle; for several runs the subtitle keeps to what they share."""
    names = list(dict.fromkeys(describe.name(run) for run in runs))
    facts = [describe.facts(run.scenario) for run in runs]
    shared = [fact for fact in facts[0] if all(fact in other for other in facts)]
    if len(runs) == 1:
        return names[0], " · ".join(shared)
    if len(names) == 1:
        return f"{names[0]}: {len(runs)} runs", " · ".join(shared)
    return " / ".join([*names[:3], *(["…"] if names[3:] else [])]), " · ".join([f"{len(runs)} runs", *shared])


def _banner(one: Shown, *, alone: bool) -> str:
    """A line for a run that did not finish."""
    manifest = one.run.manifest
    status = str(manifest.get("status"))
    if status == "finished":
        return ""
    rounds, planned = one.run.length, describe.at(one.run.scenario, "rounds")
    of = f" of {planned}" if type(planned) is int else ""
    who = "This run" if alone else one.label
    error = f' <span class="error">{escape(str(manifest["error"]))}</span>' if manifest.get("error") else ""
    text = f"{who} {STATUS.get(status, f'has the status {status!r} after')} {rounds}{of} rounds."
    return f'<p class="banner {"bad" if status == "failed" else ""}" role="status">{escape(text)}{error}</p>'


def _headline(every: Sequence[Shown]) -> str:
    if len(every) == 1:
        run, sessions = every[0].run, _sessions(every[0].run)
        return headline.tiles(run) + _story(run) + (f"<section>{sessions}</section>" if sessions else "")
    return (
        f'<section><h2>Runs</h2><div class="card">{headline.comparison(every)}</div></section>'
        f'<section><h2>What differs</h2><div class="card">{headline.differing(every)}</div></section>'
    )


def _learning(every: Sequence[Shown], figures: Mapping[str, Figure]) -> str:
    """The learning curves with the choice of the horizontal axis, or a line on why there are none."""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in _notes(every))
    if not figures:
        return f"<section><h2>Learning</h2>{notes}</section>"
    key = (
        ""
        if len(every) == 1
        else f'<div class="key">{"".join(f"<span>{tables.swatch(one)}</span>" for one in every)}</div>'
    )
    cards = "".join(frame(CURVES[name], plot(name)) for name in figures)
    return (
        f'<section id="learning"><div class="head"><h2>Learning</h2>{_toggle(alone=len(every) == 1)}</div>{notes}{key}'
        f'<div class="grid lead">{cards}</div></section>'
    )


def _comparison(every: Sequence[Shown]) -> str:
    """Several runs against the first: accuracies, and what the targets took."""
    runs = [comparison.of_run(one.run, one.label) for one in every]
    blocks = comparison.learning(comparison.compare(runs, comparison.Wanted())) if len(runs) > 1 else []
    if not blocks:
        return ""
    cards = "".join(frame(block.title, tables.block(block, every)) for block in blocks)
    return (
        f'<section id="comparison"><h2>Comparison with {tables.swatch(every[0])}</h2>'
        f'<p class="note">{escape(comparison.LEGEND)}</p><div class="grid">{cards}</div></section>'
    )


def _toggle(*, alone: bool) -> str:
    """The choice of the horizontal axis; runs are compared over time first: over rounds they may well be equal."""
    first = "round" if alone else "time"
    buttons = [
        f'<button type="button" data-view="{name}" aria-pressed="{str(name == first).lower()}">{text}</button>'
        for name, text in (("round", "Rounds"), ("time", "Virtual time"), ("energy", "Energy"))
    ]
    return f'<div class="toggle" role="group" aria-label="Horizontal axis">{"".join(buttons)}</div>'


def _notes(every: Sequence[Shown]) -> list[str]:
    """Why a run has no learning curve, and what marks sessions."""
    legend = views.legend(every[0].run) if len(every) == 1 else ""
    notes = [legend] if legend else []
    for one in every:
        who = "This run" if len(every) == 1 else one.label
        if not one.run.length:
            notes.append(f"{who} ended no round: there is nothing to draw.")
        elif not one.run.learned:
            notes.append(f"{who} was priced without learning (--no-train): there is no accuracy and no loss.")
    return notes


def _sections(every: Sequence[Shown], world: Sequence[list[Card]], costs: Sequence[list[Card]], holdings: str) -> str:
    """What happened in the world, where time and energy went, who holds what; of several runs one by one."""
    some = [one for one, cards in zip(every, costs, strict=True) if cards]
    if not some:
        return holdings
    spent = phases.present([one.run for one in some], ENERGY_PHASES)
    time, energy = tables.share_bars(some, TIME_PHASES, TIME), tables.share_bars(some, spent, ENERGY)
    if len(every) == 1:
        first, second, *rest = costs[0]
        cards = [card(first, "Time", time), card(second, "Energy", energy), *map(card, rest)]
        return _grid("In the world", map(card, world[0])) + _grid("Where a round goes", cards) + holdings
    blocks = [_run_of(every, place, [*costs[place], *world[place]]) for place in range(len(every)) if costs[place]]
    shares = _grid("Where a round goes", [frame("Time", time), frame("Energy", energy)])
    return shares + holdings + _grid("Run by run", blocks)


def _grid(title: str, blocks: Iterable[str]) -> str:
    return f'<section><h2>{title}</h2><div class="grid whole">{"".join(blocks)}</div></section>'


def _run_of(every: Sequence[Shown], place: int, cards: Sequence[Card]) -> str:
    """One of several runs, folded where there are many."""
    one, opened = every[place], " open" if len(every) <= FEW or place < 2 else ""
    inner = _story(one.run) + _sessions(one.run) + "".join(map(card, cards))
    return f'<details class="run"{opened}><summary>{tables.swatch(one)}</summary>{inner}</details>'


def _story(run: Run) -> str:
    text = prose(" ".join(story.sentences(run)))
    return f'<p class="story">{text}</p>' if text else ""


def _sessions(run: Run) -> str:
    table = tables.sessions(run)
    return frame("Sessions", table) if table else ""


def _holdings(
    every: Sequence[Shown], holders: Sequence[tuple[ColumnArrays, Sequence[Shown]]], figures: Mapping[str, Figure]
) -> str:
    """Who holds which labels: once for all runs that have the same data, folded where there are many that have not."""
    blocks = []
    for place, (table, runs) in enumerate(holders):
        drawn = plot(f"labels-{place}", labels.height(figures[f"labels-{place}"]))
        block = f'<div class="card"><p class="note">{escape(labels.caption(table))}</p>{drawn}</div>'
        if len(runs) < len(every):
            opened = " open" if len(holders) <= FEW or place < 2 else ""
            key = "".join(f"<span>{tables.swatch(one)}</span> " for one in runs)
            block = f'<details class="run"{opened}><summary>{key}</summary>{block}</details>'
        blocks.append(block)
    return f'<section id="labels"><h2>Who holds what</h2>{"".join(blocks)}</section>' if blocks else ""


def _source(one: Shown, *, alone: bool) -> str:
    """The complete scenario and the manifest, folded."""
    name = "" if alone else f": {tables.swatch(one)}"
    manifest = json.dumps(one.run.manifest, indent=2, ensure_ascii=False)
    return (
        f"<details><summary>Scenario and manifest{name}</summary>"
        f'<div class="grid"><div><h3>scenario.yaml</h3><pre>{escape(one.run.scenario_text)}</pre></div>'
        f"<div><h3>manifest.json</h3><pre>{escape(manifest)}</pre></div></div></details>"
    )


def _footer(runs: Sequence[Run]) -> str:
    """Which versions made the results, and when."""
    facts = [
        [f"{name} {run.manifest.get(name, NO_NUMBER)}" for name in ("edgefl", "python", "numpy", "torch")]
        + [
            f"on {run.manifest.get('device', NO_NUMBER)}",
            f"{quantity(run.manifest.get('wall_s'), TIME)} of wall-clock time",
        ]
        + [f"started {run.manifest.get('started', NO_NUMBER)}"]
        for run in runs
    ]
    return " · ".join(fact for fact in facts[0] if all(fact in other for other in facts))
