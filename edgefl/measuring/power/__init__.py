"""Readers of power, one file each."""

from collections.abc import Callable, Mapping

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.measuring.power import ina3221, rapl, tegrastats, zeus
from edgefl.measuring.power.reader import NotThere, Reader

READERS: Mapping[str, Callable[[], Reader]] = {
    "ina3221": ina3221.reader,
    "tegrastats": tegrastats.reader,
    "zeus": zeus.reader,
    "rapl": rapl.reader,
}
"""Those of whole boards come first: `auto` takes the first that is there."""


def opened(choice: str) -> tuple[Reader | None, list[str]]:
    """Return the reader of a choice, and what is missing for those that were tried.

    Args:
        choice: a name of READERS, or auto.

    Raises:
        InputError: there is no such reader, or this machine does not have what it reads.
    """
    if choice not in {"auto", *READERS}:
        names = ["none", "auto", *READERS]
        raise InputError(f"--power {choice}: must be {', '.join(names)} or a .csv file{nearest(choice, names)}")
    missing: list[str] = []
    for name in READERS if choice == "auto" else [choice]:
        try:
            return READERS[name](), missing
        except NotThere as error:
            missing.append(f"{name}: {error}")
    if choice != "auto":
        raise InputError(f"--power {missing[0]}; or write --power none")
    return None, missing
