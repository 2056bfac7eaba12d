"""A card: a figure with its title, its key and a line of text; the macro ``card`` of ``macros.html.j2`` shows it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from edgefl.results.report.shared.style import Figure, StyledRun


class Coloured(Protocol):
    """An entry of a key to colours."""

    @property
    def name(self) -> str:
        """What the colour stands for."""

    @property
    def colour(self) -> str:
        """The colour on light pages."""


class Slice(NamedTuple):
    """A part of a bar; `number` is written on it."""

    name: str
    colour: str
    share: float
    number: str


class ShareBar(NamedTuple):
    """A bar of `width` (0 to 1) of the page, split by share, below the run and the text that it is about."""

    slices: Sequence[Slice]
    width: float = 1.0
    text: str = ""
    run: StyledRun | None = None


class Extra(NamedTuple):
    """A trace that is hidden until the reader asks for it."""

    trace: str  # its name
    label: str  # of the box to tick


class Card(NamedTuple):
    """A figure with its title, a line of text, and its key and bars above it."""

    name: str
    title: str
    figure: Figure
    note: str = ""
    key: Sequence[Coloured] = ()
    bars: Sequence[ShareBar] = ()
    height: int = 0  # pixels; the style sheet's where 0
    extra: Extra | None = None
