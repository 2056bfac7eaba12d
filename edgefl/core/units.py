"""Numbers for people: units that fit the size of a value, and few digits."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats

NO_NUMBER = "–"  # instead of an unknown number
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Unit(NamedTuple):
    """A unit of ``size`` base units, used for values from ``least`` base units on."""

    name: str
    size: float
    least: float


MOST_IN_UNIT = 1e3  # of two quantities that share a unit
PLAIN = (Unit("", 1, 0),)
PERCENT = (Unit("%", 0.01, 0),)  # of fractions
TIME = (
    Unit("µs", 1e-6, 0),
    Unit("ms", 1e-3, 1e-3),
    Unit("s", 1, 1),
    Unit("min", 60, 120),
    Unit("h", 3600, 7200),
    Unit("d", 86400, 4 * 86400),
)
ENERGY = (Unit("µJ", 1e-6, 0), Unit("mJ", 1e-3, 1e-3), Unit("J", 1, 1), Unit("kJ", 1e3, 1e3), Unit("MJ", 1e6, 1e6))
MASS = (Unit("µg", 1e-6, 0), Unit("mg", 1e-3, 1e-3), Unit("g", 1, 1), Unit("kg", 1e3, 1e3), Unit("t", 1e6, 1e6))
BYTES = (Unit("B", 1, 0), Unit("kB", 1e3, 1e3), Unit("MB", 1e6, 1e6), Unit("GB", 1e9, 1e9), Unit("TB", 1e12, 1e12))
BITS = (Unit("bit", 1, 0), Unit("kbit", 1e3, 1e3), Unit("Mbit", 1e6, 1e6), Unit("Gbit", 1e9, 1e9))
BIT_RATE = tuple(Unit(f"{unit.name}/s", unit.size, unit.least) for unit in BITS)
RATE = (Unit("/s", 1, 0),)
HERTZ = (Unit("Hz", 1, 0), Unit("kHz", 1e3, 1e3), Unit("MHz", 1e6, 1e6), Unit("GHz", 1e9, 1e9))


# By the ending of a key's name; the first that fits counts, so longer endings come first.
UNITS_OF_KEYS: dict[str, Sequence[Unit]] = {
    "_per_s": RATE,
    "_dbm_hz": (Unit("dBm/Hz", 1, 0),),
    "_bps_hz": (Unit("bit/s/Hz", 1, 0),),
    "_hz": HERTZ,
    "_s": TIME,
    "_j": ENERGY,
    "_dbm": (Unit("dBm", 1, 0),),
    "_dbi": (Unit("dBi", 1, 0),),
    "_db": (Unit("dB", 1, 0),),
    "_deg": (Unit("°", 1, 0),),
    "_mps": (Unit("m/s", 1, 0),),
    "_m": (Unit("m", 1, 0),),
    "_w": (Unit("W", 1, 0),),
    "_g_kwh": (Unit("g/kWh", 1, 0),),
    "_bits": BITS,
    "_bps": BIT_RATE,
}


def units_of_key(key: str) -> Sequence[Unit]:
    """Return the units of a key of a scenario, by the ending of its name."""
    return UNITS_OF_KEYS.get(unit_ending(key), PLAIN)


def units_of(symbol: str) -> Sequence[Unit]:
    """Return the units of a quantity whose numbers are in one of them, such as `J`."""
    for units in (TIME, ENERGY, MASS, BYTES):
        if any(unit.name == symbol and unit.size == 1 for unit in units):
            return units
    return (Unit(symbol, 1, 0),)


def unit_ending(key: str) -> str:
    """Return the ending of a key's name that names its unit, or an empty text."""
    return next((ending for ending in UNITS_OF_KEYS if key.endswith(ending)), "")


def fitting(value: float, units: Sequence[Unit]) -> Unit:
    """Return the largest unit that ``value`` reaches; the base unit for zero and for numbers that are not finite."""
    if not value or not math.isfinite(value):  # "0 µs" would read oddly
        return next((unit for unit in units if unit.size == 1), units[0])
    return [unit for unit in units if unit.least <= abs(value)][-1]


def top(columns: Sequence[Floats]) -> float:
    """Return the largest finite value of all columns; 0 without any."""
    largest = [column[np.isfinite(column)].max(initial=-np.inf) for column in columns]
    return float(max((value for value in largest if np.isfinite(value)), default=0.0))


def quantity(value: Any, units: Sequence[Unit] = PLAIN) -> str:
    """Return ``value`` with three digits and a fitting unit, such as ``"12.4 min"``."""
    number = as_number(value)
    if number is None:
        return NO_NUMBER
    unit = fitting(number, units)
    return f"{digits(number / unit.size)} {unit.name}".rstrip()


def instead(own: float, other: float, units: Sequence[Unit]) -> str:
    """Return two quantities in one unit: ``14.3 s instead of 163 s``."""
    smaller, larger = sorted((own, other))
    unit = fitting(smaller, units)
    if larger >= MOST_IN_UNIT * unit.size:
        unit = fitting(larger, units)
    texts = [f"{digits(value / unit.size)} {unit.name}".rstrip() for value in (own, other)]
    return " instead of ".join(texts)


def with_unit(name: str, unit: Unit) -> str:
    """Return the name of an axis or a column with its unit, if it has one: ``"energy [kJ]"``."""
    if unit.name:
        return f"{name} [{unit.name}]"
    return name


def seconds(value: float) -> str:
    """Return a duration [s] such as ``"3.25 min"``."""
    return quantity(value, TIME)


def energy(value: float) -> str:
    """Return an energy [J] such as ``"12.3 kJ"``."""
    return quantity(value, ENERGY)


def percent(value: Any) -> str:
    """Return a given fraction, such as a target: ``"80 %"``."""
    number = as_number(value)
    if number is None:
        return NO_NUMBER
    return f"{digits(100 * number, 1)} %"


def score(value: Any, places: int = 1) -> str:
    """Return a measured fraction with a fixed number of decimals: ``"94.0 %"``."""
    number = as_number(value)
    if number is None:
        return NO_NUMBER
    return f"{100 * number:.{places}f} %"


def spread(mean: Any, std: Any) -> str:
    """Return measured fractions as mean and standard deviation, if it is known: ``"98.08 ± 0.03 %"``."""
    if as_number(std) is None or as_number(mean) is None:
        return score(mean, 2)
    return f"{score(mean, 2).removesuffix(' %')} ± {score(std, 2)}"


def points(value: Any) -> str:
    """Return a difference in percentage points, with its sign: ``"+1.20"``."""
    number = as_number(value)
    if number is None:
        return NO_NUMBER
    return _with_minus(f"{number:+,.2f}")


def digits(value: float, most: int = 2) -> str:
    """Return three significant digits, with at most ``most`` decimals; fewer if the number has fewer.

    Very large and very small numbers get a power of ten.
    """
    # Formatting rounds first, so 999.6 has the size of 1,000.
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    size = int(exponent)
    if not -4 < size < 9:
        return _with_minus(f"{mantissa}·{power_of_ten(size)}")
    places = 2 - size
    if size >= 0:
        places = max(0, min(most, places))
    text = _with_minus(f"{value:,.{places}f}")
    # Trailing zeros of a rounded number are significant digits; those of an exact number say nothing.
    shows_all = math.isclose(round(value, places), value, rel_tol=1e-9, abs_tol=0)
    if shows_all and places:
        return text.rstrip("0").rstrip(".")
    return text


def _with_minus(text: str) -> str:
    """Return the text with minus signs, which are as wide as plus signs, instead of hyphens."""
    return text.replace("-", "−")


def power_of_ten(exponent: int) -> str:
    """Return ``"10⁻³"``; 1 and 10 without a power."""
    if exponent in {0, 1}:
        return str(10**exponent)
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def as_number(value: Any) -> float | None:
    """Return ``value`` as a finite float, also from text such as ``3.5e9``; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if not math.isfinite(number):
        return None
    return number


def short(values: Floats, figures: int = 4) -> list[float | int | None]:
    """Return values [n] for JSON: few digits, whole numbers without a point, None for values that are not finite."""
    return [_short(value, figures) for value in values.tolist()]


def _short(value: float, figures: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{figures}g}")
    if rounded.is_integer() and abs(rounded) < 1e15:
        return int(rounded)
    return rounded
