"""The cards of one run: where its devices were, who was there, where time and energy went."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from edgefl.core.units import ENERGY, TIME
from edgefl.results.report import battery, cellmap, expenses, groups, phases, population, tables, timeline
from edgefl.results.report.read import Run
from edgefl.results.report.style import ENERGY_PHASES, TIME_PHASES, Figure

HIGHEST_MAP = 540


class Card(NamedTuple):
    """A figure with its title, a line of text and, as HTML, what stands between that and the figure."""

    name: str
    title: str
    figure: Figure | None  # None where the run has nothing to draw
    note: str = ""
    above: str = ""
    height: int = 0  # pixels; the style sheet's where 0


def world(run: Run, place: int) -> list[Card]:
    """Where devices were and what they went through."""
    if not run.devices["row"].size:
        return []
    times = timeline.figure(run)
    height = times["layout"]["height"]
    people, charge, handed = population.figure(run), battery.figure(run), population.handovers(run)
    kinds = [group for group in groups.hardware(run) if group.name]
    cards = [
        Card(f"map-{place}", "Map", cellmap.figure(run), cellmap.caption(run), _key(groups.shown(run)), HIGHEST_MAP),
        Card(f"timeline-{place}", "Timeline", times, timeline.caption(run), tables.key(TIME_PHASES), height),
        Card(f"population-{place}", "Population", people, population.caption(run) if people else ""),
        Card(f"handovers-{place}", "Handovers", handed, population.handovers_caption(run)),
        Card(f"battery-{place}", "Batteries", charge, battery.caption(run) if charge else "", _key(kinds), 460),
    ]
    return [card for card in cards if card.figure]


def _key(every: list[groups.Group]) -> str:
    """The colours of groups, where there are any."""
    return tables.key(groups.colours(every)) if every else ""


def costs(run: Run, place: int, runs: Sequence[Run]) -> list[Card]:
    """Time and energy by round, scaled like those of the other runs; energy by device and in vain."""
    if not run.devices["row"].size:
        return []
    spent = phases.present(runs, ENERGY_PHASES)
    time = phases.figure(run, TIME_PHASES, TIME, phases.highest(runs, TIME_PHASES))
    energy = phases.figure(run, spent, ENERGY, phases.highest(runs, spent))
    vain = expenses.wasted_figure(run)
    each, key = expenses.by_device_caption(run), tables.key(spent)
    lost = expenses.wasted_caption(run)
    cards = [
        Card(f"time-{place}", "Time by round", time),
        Card(f"energy-{place}", "Energy by round", energy),
        Card(f"each-{place}", "Energy by device", expenses.by_device(run), each, key),
        Card(f"wasted-{place}", "Energy in vain", vain, lost, tables.split_bar(*expenses.causes(run))),
    ]
    return [card for card in cards if card.figure]


def card(one: Card, title: str = "", above: str = "") -> str:
    """A card as HTML, under another title and with more above its figure where these are given."""
    note = f'<p class="note">{escape(one.note)}</p>' if one.note else ""
    return frame(title or one.title, f"{note}{above}{one.above}{plot(one.name, one.height)}")


def frame(title: str, inner: str) -> str:
    """A titled card around HTML."""
    return f'<div class="card"><h3>{escape(title)}</h3>{inner}</div>'


def plot(name: str, height: int = 0) -> str:
    """Where the script draws a figure."""
    style = f' style="height:{height}px"' if height else ""
    return f'<div class="plot" data-figure="{name}"{style}></div>'
