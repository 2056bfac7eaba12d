"""Published ranges of radios and processors, to compare runs with.

A value outside is not wrong, but no measured or standardised device has it, so it deserves a second look.
"""

from typing import NamedTuple

from edgefl.core.words import words_of


class PublishedRange(NamedTuple):
    """A quantity of a run, and its least and largest published values."""

    said: str  # the unit and quantity after a number
    name: str  # the heading of a row
    unit: str
    least: float
    most: float
    least_source: str
    most_source: str


RANGES = {
    name: PublishedRange(name=name, **facts) for name, facts in words_of(__file__, "published_ranges.yaml").items()
}
