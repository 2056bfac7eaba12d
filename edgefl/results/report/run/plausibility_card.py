"""The card that compares a run's radios and processors with published ones."""

from __future__ import annotations

from collections.abc import Sequence

from edgefl.core.units import NO_NUMBER, digits
from edgefl.results.published_ranges import PublishedRange
from edgefl.results.report.run.plausibility import Plausible, plausibility
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.templates import Html, render

OUTSIDE = Html('<b class="outside" title="outside of what was published">{} outside</b>')


def card(styled_runs: Sequence[StyledRun]) -> Html:
    """Return the card, with a column for every run; an empty text where no run has anything to compare."""
    columns = [{each.published: each for each in plausibility(styled.data)} for styled in styled_runs]
    quantities = list(dict.fromkeys(published for column in columns for published in column))
    runs = styled_runs if len(styled_runs) > 1 else ["this run"]
    return render(
        "run/plausibility.html.j2",
        title="Plausible?",
        head=["", *runs, "published"],
        body=[_row(published, [column.get(published) for column in columns]) for published in quantities],
        sources=[_source(published) for published in quantities],
    )


def _row(published: PublishedRange, values: Sequence[Plausible | None]) -> list[str]:
    """Return the cells of a quantity."""
    return [_name(published), *map(_cell, values), Plausible(published, published.most).range_text]


def _name(published: PublishedRange) -> str:
    return f"{published.name} [{published.unit}]"


def _cell(value: Plausible | None) -> str:
    if value is None:
        return NO_NUMBER
    text = digits(value.value)
    return text if value.within else OUTSIDE.format(text)


def _source(published: PublishedRange) -> str:
    """Return where both ends of a range come from."""
    least = f"{digits(published.least, 4)}: {published.least_source}"
    most = f"{digits(published.most)}: {published.most_source}"
    return f"{_name(published)}: {least}; {most}"
