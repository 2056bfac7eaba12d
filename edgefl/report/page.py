"""The page: figures and tables put into the template, with scripts and styles inside."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from edgefl.report import cellmap, comparison, curves, describe, headline, labels, phases, tables, timeline
from edgefl.report.read import Run, Table
from edgefl.report.style import ENERGY_PHASES, TIME_PHASES, Figure, Shown, shown, template
from edgefl.units import ENERGY, NOTHING, TIME, quantity

FEW = 4  # so many runs are all unfolded from the start, of more runs the first two
HIGHEST_MAP = 540
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
    details = [_detail_figures(one, place, every) for place, one in enumerate(every)]
    holders = labels.groups(every)
    holdings = {f"labels-{place}": labels.figure(table) for place, (table, _) in enumerate(holders)}
    figures = learning | holdings | {name: figure for part in details for name, figure in part.items()}
    title, subtitle = _heading(runs)
    values = {
        "title": escape(title),
        "subtitle": escape(subtitle),
        "banners": "".join(_banner(one, alone=len(every) == 1) for one in every),
        "headline": _headline(every),
        "learning": _learning(every, learning) + _comparison(every),
        "costs": _costs(every, details) + _holdings(every, holders, holdings),
        "details": _details(every, details),
        "results": tables.results(every),
        "sources": "".join(_source(one, alone=len(every) == 1) for one in every),
        "footer": escape(_footer(runs)),
        "style": _resource("style.css"),
        "plotly": _plotly(),
        "figures": _json({"template": template(), "figures": figures}),
        "script": _resource("page.js"),
    }
    return Template(_resource("template.html")).substitute(values)


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
        return headline.tiles(every[0].run)
    return (
        f'<section><h2>Runs</h2><div class="card">{headline.comparison(every)}</div></section>'
        f'<section><h2>What differs</h2><div class="card">{headline.differing(every)}</div></section>'
    )


def _learning(every: Sequence[Shown], figures: Mapping[str, Figure]) -> str:
    """The learning curves with the choice of the horizontal axis, or a line on why there are none."""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in _missing(every))
    if not figures:
        return f"<section><h2>Learning</h2>{notes}</section>"
    key = (
        ""
        if len(every) == 1
        else f'<div class="key">{"".join(f"<span>{tables.swatch(one)}</span>" for one in every)}</div>'
    )
    cards = "".join(_card(CURVES[name], _plot(name)) for name in figures)
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
    cards = "".join(_card(block.title, tables.block(block, every)) for block in blocks)
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


def _missing(every: Sequence[Shown]) -> list[str]:
    """Why a run has no learning curve."""
    notes = []
    for one in every:
        who = "This run" if len(every) == 1 else one.label
        if not one.run.length:
            notes.append(f"{who} ended no round: there is nothing to draw.")
        elif not one.run.learned:
            notes.append(f"{who} was priced without learning (--no-train): there is no accuracy and no loss.")
    return notes


def _detail_figures(one: Shown, place: int, every: Sequence[Shown]) -> dict[str, Figure]:
    """The figures of one run alone, scaled like those of the other runs."""
    run, runs = one.run, [other.run for other in every]
    if not run.devices["row"].size:
        return {}
    spent = phases.present(runs, ENERGY_PHASES)
    return {
        f"time-{place}": phases.figure(run, TIME_PHASES, TIME, phases.highest(runs, TIME_PHASES)),
        f"energy-{place}": phases.figure(run, spent, ENERGY, phases.highest(runs, spent)),
        f"map-{place}": cellmap.figure(run),
        f"timeline-{place}": timeline.figure(run),
    }


def _costs(every: Sequence[Shown], details: Sequence[Mapping[str, Figure]]) -> str:
    """Shares of time and energy; a run alone has its rounds below them."""
    if not any(details):
        return ""
    some = [one for one, figures in zip(every, details, strict=True) if figures]
    spent = phases.present([one.run for one in some], ENERGY_PHASES)
    time, energy = tables.share_bars(some, TIME_PHASES, TIME), tables.share_bars(some, spent, ENERGY)
    if len(every) == 1:
        time, energy = time + _plot("time-0"), energy + _plot("energy-0")
    return (
        '<section><h2>Where a round goes</h2><div class="grid">'
        f"{_card('Time', time)}{_card('Energy', energy)}</div></section>"
    )


def _holdings(
    every: Sequence[Shown], holders: Sequence[tuple[Table, Sequence[Shown]]], figures: Mapping[str, Figure]
) -> str:
    """Who holds which labels: once for all runs that have the same data, folded where there are many that have not."""
    blocks = []
    for place, (table, runs) in enumerate(holders):
        plot = _plot(f"labels-{place}", labels.height(figures[f"labels-{place}"]))
        block = f'<div class="card"><p class="note">{escape(labels.caption(table))}</p>{plot}</div>'
        if len(runs) < len(every):
            opened = " open" if len(holders) <= FEW or place < 2 else ""
            key = "".join(f"<span>{tables.swatch(one)}</span> " for one in runs)
            block = f'<details class="run"{opened}><summary>{key}</summary>{block}</details>'
        blocks.append(block)
    return f'<section id="labels"><h2>Who holds what</h2>{"".join(blocks)}</section>' if blocks else ""


def _details(every: Sequence[Shown], details: Sequence[Mapping[str, Figure]]) -> str:
    if not any(details):
        return ""
    if len(every) == 1:
        return f'<section><h2>In the cell</h2><div class="grid">{_cell_cards(every[0], 0, details[0])}</div></section>'
    blocks = "".join(_details_of(every, place, details[place]) for place in range(len(every)) if details[place])
    return f'<section><h2>Run by run</h2><div class="grid">{blocks}</div></section>'


def _details_of(every: Sequence[Shown], place: int, figures: Mapping[str, Figure]) -> str:
    one = every[place]
    cards = _card("Time by round", _plot(f"time-{place}")) + _card("Energy by round", _plot(f"energy-{place}"))
    opened = " open" if len(every) <= FEW or place < 2 else ""
    return (
        f'<details class="run"{opened}><summary>{tables.swatch(one)}</summary>'
        f"{cards}{_cell_cards(one, place, figures)}</details>"
    )


def _cell_cards(one: Shown, place: int, figures: Mapping[str, Figure]) -> str:
    height = figures[f"timeline-{place}"]["layout"]["height"]
    area = f'<p class="note">{escape(cellmap.caption(one.run))}</p>{_plot(f"map-{place}", min(height, HIGHEST_MAP))}'
    time = (
        f'<p class="note">{escape(timeline.caption(one.run))}</p>{tables.key(TIME_PHASES)}'
        f"{_plot(f'timeline-{place}', height)}"
    )
    return _card("Map of the cell", area) + _card("Timeline", time)


def _card(title: str, inner: str) -> str:
    return f'<div class="card"><h3>{escape(title)}</h3>{inner}</div>'


def _plot(name: str, height: int = 0) -> str:
    style = f' style="height:{height}px"' if height else ""
    return f'<div class="plot" data-figure="{name}"{style}></div>'


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
        [f"{name} {run.manifest.get(name, NOTHING)}" for name in ("edgefl", "python", "numpy", "torch")]
        + [
            f"on {run.manifest.get('device', NOTHING)}",
            f"{quantity(run.manifest.get('wall_s'), TIME)} of wall-clock time",
        ]
        + [f"started {run.manifest.get('started', NOTHING)}"]
        for run in runs
    ]
    return " · ".join(fact for fact in facts[0] if all(fact in other for other in facts))


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _resource(name: str) -> str:
    return (files("edgefl.report") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Plotly's script from the installed package, whose Python part is slow to import and not needed."""
    package = importlib.util.find_spec("plotly")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("edgefl's reports need the plotly package")
    return (Path(package.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
