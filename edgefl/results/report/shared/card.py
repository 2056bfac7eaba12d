"""A card: a figure with its title and a line of text, as the page shows it."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from edgefl.results.report.shared.style import Figure


class Card(NamedTuple):
    """A figure with its title, a line of text and, as HTML, what stands above and below the figure."""

    name: str
    title: str
    figure: Figure
    note: str = ""
    above: str = ""
    height: int = 0  # pixels; the style sheet's where 0
    below: str = ""


def card_html(card: Card, title: str = "", above: str = "") -> str:
    """Return a card as HTML, with another title and with more above its figure where these are given."""
    # From top to bottom: the line of text, what stands above the figure, the figure, what stands below it.
    inner = f"{above}{card.above}{plot_area(card.name, card.height)}{card.below}"
    if card.note:
        inner = f'<p class="note">{escape(card.note)}</p>{inner}'
    return titled_card(title or card.title, inner)


def titled_card(title: str, inner: str) -> str:
    """Return a card with a title around HTML."""
    return f'<div class="card"><h3>{escape(title)}</h3>{inner}</div>'


def plot_area(name: str, height: int = 0) -> str:
    """Return the element in which the page's script draws the figure of this name."""
    style = ""
    if height:
        style = f' style="height:{height}px"'
    return f'<div class="plot" data-figure="{name}"{style}></div>'
