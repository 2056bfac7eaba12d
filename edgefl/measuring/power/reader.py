"""What readers of power have in common."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

INPUTS = ("VDD_IN", "POM_5V_IN")  # rails through which all power of a Jetson module flows


class NotThere(Exception):  # noqa: N818 - the name says what is wrong
    """This machine has no such interface, or it may not be read; the text says how that could be had."""


class Reader(NamedTuple):
    """A source of power readings."""

    scope: str  # the parts of the device whose power it is
    read: Callable[[], float]
    is_energy: bool = False  # it reads the joules since some time, not the power [W]
    close: Callable[[], object] = lambda: None


def number_in(path: Path) -> float:
    """Return the number in a file of the system.

    Raises:
        NotThere: it cannot be read.
    """
    try:
        return float(path.read_text())
    except PermissionError:
        raise NotThere(f"{path} may be read by root only: sudo chmod a+r {path}") from None
    except (OSError, ValueError):
        raise NotThere(f"{path} cannot be read") from None


def chosen_rails(rails: Mapping[str, object]) -> list[str]:
    """Return the rails whose powers add up to that of the device: its input, or else all of them."""
    return [name for name in INPUTS if name in rails][:1] or list(rails)
