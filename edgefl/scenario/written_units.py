"""The units that people write after numbers, such as MHz, and those that the endings of keys name, such as `_hz`."""

import math
from itertools import chain

from edgefl.core.words import words_of

FILE = "units.yaml"
MOST_LEVEL = 3000  # dB; 10^300 is near the largest float


def unit_of(key: str) -> str:
    """Return the unit that the ending of a key names, such as Hz; "" if it names none."""
    for ending, unit in words_of(__file__, FILE)["of_keys"].items():
        if f"_{key}".endswith(ending):
            return str(unit)
    return ""


def stem_and_unit(key: str) -> tuple[str, str]:
    """Return a key's name without its unit, and the unit, such as bandwidth and MHz of bandwidth_mhz; else "" twice."""
    for ending, unit in words_of(__file__, FILE)["of_keys"].items():
        if key.endswith(ending):
            return key.removesuffix(ending), unit
    stem, _, ending = key.rpartition("_")
    units = words_of(__file__, FILE)
    names = chain(*units["sizes"], units["levels_w"])
    return next(((stem, name) for name in names if ending == name.lower()), ("", ""))


def converted(number: float, written: str, wanted: str) -> float | None:
    """Return a number in a unit as a number in another one; None if the units do not measure the same."""
    if written == wanted:
        return number
    levels_w = words_of(__file__, FILE)["levels_w"]
    if written in levels_w:
        if number > MOST_LEVEL:
            return None
        number = levels_w[written] * math.pow(10, number / 10)
        written = "W"
    if wanted in levels_w:
        watts = converted(number, written, "W")
        if watts is None or watts <= 0:
            return None
        return float(f"{10 * math.log10(watts / levels_w[wanted]):.4g}")
    for sizes in words_of(__file__, FILE)["sizes"]:
        if written in sizes and wanted in sizes:
            return float(number * sizes[written] / sizes[wanted])
    return None
