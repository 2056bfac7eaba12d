"""Numbers for people: units that fit the size of a value, and few digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats

NOTHING = "–"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Unit(NamedTuple):
    """A unit of ``size`` base units, used from ``least`` base units on."""

    name: str
    size: float
    least: float


PLAIN = (Unit("", 1, 0),)
TIME = (
    Unit("µs", 1e-6, 0),
    Unit("ms", 1e-3, 1e-3),
    Unit("s", 1, 1),
    Unit("min", 60, 120),
    Unit("h", 3600, 7200),
    Unit("d", 86400, 4 * 86400),
)
ENERGY = (Unit("µJ", 1e-6, 0), Unit("mJ", 1e-3, 1e-3), Unit("J", 1, 1), Unit("kJ", 1e3, 1e3), Unit("MJ", 1e6, 1e6))
BYTES = (Unit("B", 1, 0), Unit("kB", 1e3, 1e3), Unit("MB", 1e6, 1e6), Unit("GB", 1e9, 1e9), Unit("TB", 1e12, 1e12))
RATE = (Unit("/s", 1, 0),)
HERTZ = (Unit("Hz", 1, 0), Unit("kHz", 1e3, 1e3), Unit("MHz", 1e6, 1e6), Unit("GHz", 1e9, 1e9))


def fitting(value: float, units: Sequence[Unit]) -> Unit:
    """The largest unit that ``value`` reaches; zero is told in the base unit."""
    if not value or not math.isfinite(value):
        return next(unit for unit in units if unit.size == 1)
    return [unit for unit in units if unit.least <= abs(value)][-1]


def top(columns: Sequence[Floats]) -> float:
    """The largest finite value of all columns, 0 where there is none."""
    finite = [column[np.isfinite(column)] for column in columns]
    return float(max((part.max() for part in finite if part.size), default=0.0))


def quantity(value: Any, units: Sequence[Unit] = PLAIN) -> str:
    """``value`` with three digits and a fitting unit, such as ``"12.4 min"``."""
    number = as_number(value)
    if number is None:
        return NOTHING
    unit = fitting(number, units)
    return f"{digits(number / unit.size)} {unit.name}".rstrip()


def seconds(value: float) -> str:
    """A duration [s] such as ``"3.25 min"``."""
    return quantity(value, TIME)


def energy(value: float) -> str:
    """An energy [J] such as ``"12.3 kJ"``."""
    return quantity(value, ENERGY)


def percent(value: Any) -> str:
    """A fraction as given, such as a target: ``"80 %"``."""
    number = as_number(value)
    return NOTHING if number is None else f"{digits(100 * number, 1)} %"


def score(value: Any, places: int = 1) -> str:
    """A measured fraction, always with so many decimals: ``"94.0 %"``."""
    number = as_number(value)
    return NOTHING if number is None else f"{100 * number:.{places}f} %"


def spread(mean: Any, std: Any) -> str:
    """Measured fractions as mean and, where it is known, standard deviation: ``"98.08 ± 0.03 %"``."""
    if as_number(std) is None or as_number(mean) is None:
        return score(mean, 2)
    return f"{score(mean, 2).removesuffix(' %')} ± {score(std, 2)}"


def points(value: Any) -> str:
    """A difference in percentage points, with its sign: ``"+1.20"``."""
    number = as_number(value)
    return NOTHING if number is None else f"{number:+,.2f}".replace("-", "−")


def digits(value: float, most: int = 2) -> str:
    """Three significant digits, fewer where the number has no more; powers of ten for the very large and small."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    size = int(exponent)
    if not -4 < size < 9:
        return f"{mantissa}·{power_of_ten(size)}".replace("-", "−")
    places = max(0, min(most, 2 - size) if size >= 0 else 2 - size)
    text = f"{value:,.{places}f}".replace("-", "−")
    exact = math.isclose(round(value, places), value, rel_tol=1e-9, abs_tol=0)
    return text.rstrip("0").rstrip(".") if exact and places else text


def power_of_ten(exponent: int) -> str:
    """``"10⁻³"``; 1 and 10 as they are."""
    return str(10**exponent) if exponent in {0, 1} else f"10{str(exponent).translate(_SUPERSCRIPT)}"


def as_number(value: Any) -> float | None:
    """``value`` as a finite float, also from text such as ``3.5e9``, which YAML 1.1 does not take for a number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def short(values: Floats, figures: int = 4) -> list[float | int | None]:
    """The values for JSON: few digits, whole numbers without a point, null for what is not finite."""
    return [_short(value, figures) for value in values.tolist()]


def _short(value: float, figures: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{figures}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
