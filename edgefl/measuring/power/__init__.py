"""Sources of power, one file each."""

from collections.abc import Callable, Mapping
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.measuring.power import ina3221, meter_file, rapl, tegrastats, zeus
from edgefl.measuring.power.source import NO_POWER, NotThere, Source

SOURCES: Mapping[str, Callable[[], Source]] = {
    "ina3221": ina3221.source,
    "tegrastats": tegrastats.source,
    "zeus": zeus.source,
    "rapl": rapl.source,
}
"""Those of whole boards come first: `auto` takes the first that is there."""


def opened(choice: str, here: Path) -> tuple[Source, list[str]]:
    """Return the source of the option --power, and what is missing for those that `auto` has tried.

    Raises:
        InputError: there is no such source, or this machine does not have it.
    """
    if choice == NO_POWER:
        return Source(), []
    if choice.endswith(".csv"):
        return meter_file.source(here / choice), []
    if choice not in {"auto", *SOURCES}:
        raise InputError(f"--power {choice}: must be none, auto, {', '.join(SOURCES)} or a .csv file")
    missing: list[str] = []
    for name in SOURCES if choice == "auto" else [choice]:
        try:
            return SOURCES[name](), missing
        except NotThere as error:
            missing.append(f"{name}: {error}")
    if choice != "auto":
        raise InputError(f"--power {missing[0]}; or write --power none")
    return Source(), missing
