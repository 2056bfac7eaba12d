"""What sources of power have in common."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

INPUTS = ("VDD_IN", "POM_5V_IN")  # rails through which all power of a Jetson module flows
NO_POWER = "none"

Series = Sequence[tuple[float, float]]
"""Times [s] and readings."""


class NotThere(Exception):  # noqa: N818 - the name says what is wrong
    """This machine has no such source, or it may not be read; the text says how it could be had."""


class Source(NamedTuple):
    """A source of power; without functions there is none."""

    scope: str = NO_POWER  # the parts of the device whose power it is
    read: Callable[[], float] | None = None  # returns the power [W] now
    is_energy: bool = False  # `read` returns the joules since some time instead
    rows: Callable[[], Series] | None = None  # returns Unix times and powers [W], which another program has noted
    close: Callable[[], object] = lambda: None


def number_in(path: Path) -> float:
    """Return the number in a file of the system.

    Raises:
        NotThere: it cannot be read.
    """
    try:
        return float(path.read_text())
    except OSError as error:
        raise NotThere(f"{path} cannot be read ({error.strerror}); root can allow it: sudo chmod a+r {path}") from None


def chosen_rails(rails: Iterable[str]) -> list[str]:
    """Return the rails whose powers add up to that of the device: its input, or else all of them."""
    return [name for name in INPUTS if name in rails][:1] or list(rails)
