"""The cards of one run: where its devices were, which of them were present, and where time and energy went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from edgefl.core.units import ENERGY, TIME
from edgefl.results.report import battery, cellmap, expenses, groups, phases, population, tables, timeline
from edgefl.results.report.read import Run
from edgefl.results.report.style import ENERGY_PHASES, TIME_PHASES, Figure

MAP_HEIGHT = 540  # pixels: metres are as long upwards as to the right, and a low map would waste its width
BATTERY_HEIGHT = 460  # pixels: up to three panels


class Card(NamedTuple):
    """A figure with its title, a line of text and, as HTML, what stands between that and the figure."""

    name: str
    title: str
    figure: Figure
    note: str = ""
    above: str = ""
    height: int = 0  # pixels; the style sheet's where 0


def world(run: Run, place: int) -> list[Card]:
    """Return the cards on where devices were and what happened to them.

    Args:
        run: the run.
        place: its place among the runs of the page, which keeps the names of figures apart.
    """
    if not run.devices["row"].size:
        return []
    return list(_world_cards(run, place))


def _world_cards(run: Run, place: int) -> Iterator[Card]:
    colours = _colour_key(groups.shown(run))
    yield Card(f"map-{place}", "Map", cellmap.figure(run), cellmap.caption(run), colours, MAP_HEIGHT)

    slices = timeline.figure(run)
    height = slices["layout"]["height"]  # grows with the number of devices
    yield Card(f"timeline-{place}", "Timeline", slices, timeline.caption(run), tables.key(TIME_PHASES), height)

    presence = population.figure(run)
    if presence:
        yield Card(f"population-{place}", "Population", presence, population.caption(run))

    handovers = population.handovers(run)
    if handovers:
        yield Card(f"handovers-{place}", "Handovers", handovers, population.handovers_caption(run))

    levels = battery.figure(run)
    if levels:
        named = [group for group in groups.hardware(run) if group.name]
        yield Card(f"battery-{place}", "Batteries", levels, battery.caption(run), _colour_key(named), BATTERY_HEIGHT)


def _colour_key(of: list[groups.Group]) -> str:
    """Return the key to the colours of groups, empty where there are none."""
    if not of:
        return ""
    return tables.key(groups.colours(of))


def costs(run: Run, place: int, runs: Sequence[Run]) -> list[Card]:
    """Return the cards on time and energy by round, energy by device, and energy that was wasted.

    Args:
        run: the run.
        place: its place among the runs of the page.
        runs: all runs of the page: their charts by round share one scale, so that heights can be compared.
    """
    if not run.devices["row"].size:
        return []
    # A phase that costs nothing in any run, such as idling without batteries, is not in the stacks and the key.
    spent = phases.present(runs, ENERGY_PHASES)
    key = tables.key(spent)
    time = phases.figure(run, TIME_PHASES, TIME, phases.highest(runs, TIME_PHASES))
    energy = phases.figure(run, spent, ENERGY, phases.highest(runs, spent))
    cards = [
        Card(f"time-{place}", "Time by round", time),
        Card(f"energy-{place}", "Energy by round", energy),
        Card(f"each-{place}", "Energy by device", expenses.by_device(run), expenses.by_device_caption(run), key),
    ]
    wasted = expenses.wasted_figure(run)
    if wasted:
        causes = tables.split_bar(*expenses.causes(run))
        cards.append(Card(f"wasted-{place}", "Energy in vain", wasted, expenses.wasted_caption(run), causes))
    return cards


def card(one: Card, title: str = "", above: str = "") -> str:
    """Return a card as HTML.

    Args:
        one: the card.
        title: replaces the card's own title; empty keeps it.
        above: HTML that comes before the card's own part above the figure.
    """
    note = ""
    if one.note:
        note = f'<p class="note">{escape(one.note)}</p>'
    return frame(title or one.title, f"{note}{above}{one.above}{plot(one.name, one.height)}")


def frame(title: str, inner: str) -> str:
    """Return a titled card around HTML."""
    return f'<div class="card"><h3>{escape(title)}</h3>{inner}</div>'


def plot(name: str, height: int = 0) -> str:
    """Return the element in which the page's script draws a figure; ``height`` [pixels], the style sheet's if 0."""
    style = ""
    if height:
        style = f' style="height:{height}px"'
    return f'<div class="plot" data-figure="{name}"{style}></div>'
