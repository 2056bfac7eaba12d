"""The card that holds a run's radios and processors against published ones."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from edgefl.core.units import NO_NUMBER, digits
from edgefl.results.published_ranges import PublishedRange
from edgefl.results.report.run.plausibility import Plausible, plausibility
from edgefl.results.report.shared.card import titled_card
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.tables import swatch, table

TITLE = "Plausible?"
OUTSIDE = '<b class="outside" title="outside of what was published">{value} outside</b>'


def card(styled_runs: Sequence[StyledRun]) -> str:
    """Return the card, with a column for every run; an empty text where no run has anything to compare."""
    columns = [{each.published: each for each in plausibility(styled.data)} for styled in styled_runs]
    quantities = list(dict.fromkeys(published for column in columns for published in column))
    if not quantities:
        return ""
    runs = ["this run"]
    if len(styled_runs) > 1:
        runs = [swatch(styled) for styled in styled_runs]
    body = [_row(published, [column.get(published) for column in columns]) for published in quantities]
    rows = table(["", *runs, "published"], body, "facts", TITLE)
    note = '<p class="note">Medians over participations, beside the least and the largest published value.</p>'
    return titled_card(TITLE, f"{rows}{note}{_sources(quantities)}")


def _row(published: PublishedRange, values: Sequence[Plausible | None]) -> list[str]:
    """Return the cells of a quantity."""
    name = escape(f"{published.name} [{published.unit}]")
    ranges = Plausible(published, published.most).range_text
    return [name, *map(_cell, values), escape(ranges)]


def _cell(value: Plausible | None) -> str:
    if value is None:
        return NO_NUMBER
    text = escape(digits(value.value))
    if value.within:
        return text
    return OUTSIDE.format(value=text)


def _sources(quantities: Sequence[PublishedRange]) -> str:
    """Return where the ranges come from, folded."""
    items = ""
    for published in quantities:
        least = f"{digits(published.least, 4)}: {published.least_source}"
        most = f"{digits(published.most)}: {published.most_source}"
        items += f"<li>{escape(f'{published.name} [{published.unit}]: {least}; {most}')}</li>"
    return f"<details><summary>Sources</summary><ul>{items}</ul></details>"
