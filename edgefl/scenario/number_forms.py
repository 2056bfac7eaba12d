"""What to write in a scenario in place of numbers such as "20,000,000", "0,1", "20 MHz" and "10 %".

None of these is accepted: a comma separates thousands in some countries and decimals in others, and a key has its unit
in its name.
"""

import math
import re
from typing import Any, NamedTuple

from edgefl.core.section import shown

# The beginnings of messages about wrong numbers.
A_NUMBER = "must be a number"
A_WHOLE_NUMBER = "must be a whole number"

COUNTS = {"participants", "count"}  # keys with a number of devices, often mistaken for a share of them

_DIGITS = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(_DIGITS)
_WITH_UNIT = re.compile(rf"({_DIGITS})\s*([A-Za-zµ%].*)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:([ _,'’])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_QUOTED = re.compile(rf"[\"'“”„‘’«»]\s*({_DIGITS})\s*[\"'“”„‘’«»]|({_DIGITS})\s*[;,]")
_FRACTION = re.compile(rf"({_DIGITS})\s*/\s*({_DIGITS})")
_POWER_OF_TEN = re.compile(rf"({_DIGITS})\s*[*x×]\s*10\s*(?:\^|\*\*)\s*([-+]?\d+)")
_BETWEEN = re.compile(rf"({_DIGITS})\s*(?:-|–|\.\.|to)\s*({_DIGITS})")

# Units of which no multiples are known: only the number alone can be written
_COMPOUND = {
    "dbm_hz": "dBm/Hz", "dbi": "dBi", "deg": "degrees", "j_per_mbit": "J/Mbit", "flops_per_s": "operations/s",
    "bytes_per_s": "B/s", "per_s": "1/s", "bps_hz": "bit/s/Hz", "ms": "ms", "ns": "ns", "px": "pixels",
}  # fmt: skip

_PREFIXES = {"": 1.0, "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
LARGE_PREFIXES = {"k", "M", "G", "T"}  # alone, they stand for no unit
_PREFIXED = {"hz": "Hz", "s": "s", "m": "m", "w": "W", "j": "J", "bits": "bit", "bps": "bit/s"}


LONGEST_DECIMAL = 8  # characters of a fraction that is written as a decimal number
WATTS = {"W": 1.0, "mW": 1e-3, "kW": 1e3, "µW": 1e-6}  # people know powers in them


class _UnitOfKey(NamedTuple):
    """The unit that the ending of a key names."""

    name: str
    sizes: dict[str, float]  # the units that people write, in units of the key


def _unit_of(key: str) -> _UnitOfKey | None:
    """Return the unit that the ending of a key names; None if it names none."""
    for compound, name in _COMPOUND.items():
        if key.endswith(f"_{compound}"):
            return _UnitOfKey(name, {})
    _, underscore, ending = key.rpartition("_")
    if not underscore:
        return None
    if ending in _PREFIXED:
        symbol = _PREFIXED[ending]
        sizes = {f"{prefix}{symbol}": size for prefix, size in _PREFIXES.items()}
        # Others write "20MHZ", "3 sec" or "5 min" for the same.
        if ending == "s":
            sizes |= {"sec": 1.0, "second": 1.0, "seconds": 1.0}
            sizes |= {"min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}
        if ending == "bps":
            sizes |= {f"{prefix}bps": size for prefix, size in _PREFIXES.items()}
        if ending == "j":
            sizes |= {"Wh": 3600.0, "kWh": 3.6e6}
        return _UnitOfKey(symbol, sizes)
    others = {
        "h": _UnitOfKey("h", {"h": 1.0, "hours": 1.0, "min": 1 / 60}),
        "mps": _UnitOfKey("m/s", {"m/s": 1.0, "km/h": 1 / 3.6, "kmh": 1 / 3.6}),
        "dbm": _UnitOfKey("dBm", {"dBm": 1.0, "dbm": 1.0}),
        "db": _UnitOfKey("dB", {"dB": 1.0, "db": 1.0}),
    }
    return others.get(ending)


def unit_of(key: str) -> str:
    """Return the unit that the ending of a key names, such as Hz; "" if it names none."""
    unit = _unit_of(key)
    return "" if unit is None else unit.name


def with_remedy(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return a message about a wrong number with what to write instead, if that is known; other messages unchanged.

    Args:
        text: the message.
        path: the path of the key.
        value: the value in the file.
    """
    if re.match(r"must be (?:<=|from \S+ to) 1, got", text) and isinstance(value, int | float) and 1 < value <= 100:
        return f"{text}: {value:g} % are written {_plain(value / 100)}"
    if not text.startswith((A_NUMBER, A_WHOLE_NUMBER)):
        return text
    if "{uniform" in text:
        bounds = _bounds(value)
        if bounds is not None:
            return f"must be a number or a distribution, got {shown(value)}: write {{uniform: [{bounds}]}}"
    if isinstance(value, list) and text.startswith((A_NUMBER, A_WHOLE_NUMBER)):
        return f"{text}: one value is needed; a sweep file runs several{_in_sweep(path)}"
    names = [part for part in path if isinstance(part, str)]
    # The key that names the unit may have numbers in a list or in a distribution below it.
    key = next((name for name in reversed(names) if _unit_of(name)), "")
    instead = None
    if isinstance(value, str):
        instead = remedy(value.strip(), key, whole=text.startswith(A_WHOLE_NUMBER))
    elif isinstance(value, float) and names[-1:] and names[-1] in COUNTS and 0 < value < 1:
        instead = f"it is a number of devices, not a share: of 100 devices {value:g} are {100 * value:g}"
    if instead is None:
        return text
    return f"{text}: {instead}"


def _bounds(value: Any) -> str | None:
    """Return the bounds that a list or a text such as 1-5 gives, as "1, 5"; None if it gives none."""
    if isinstance(value, str) and (match := _BETWEEN.fullmatch(value.strip())):
        value = [float(match[1]), float(match[2])]
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    if not is_pair or not all(type(bound) in {int, float} for bound in value):
        return None
    return ", ".join(_plain(bound) for bound in sorted(value))


def _in_sweep(path: tuple[str | int, ...]) -> str:
    """Return the key under which a sweep file has several values of a key."""
    if path == ("seed",):
        return ", as seeds: [...]"
    if all(isinstance(part, str) for part in path):
        return f", as grid: {{{'.'.join(map(str, path))}: [...]}}"
    return ""


def remedy(text: str, key: str, *, whole: bool = False) -> str | None:
    """Return what to write in place of a text that was meant as a number, such as "write 20e6"; None if unknown.

    Args:
        text: the text in the file.
        key: the name of its key, whose ending names the unit; "" if it has none.
        whole: only whole numbers are allowed.
    """
    if _NUMBER.fullmatch(text):  # in quotes, or from a reader that takes 20e6 for text, as PyYAML does
        return f"it is text: write {text} without quotes, or convert what yaml.safe_load has read as text to a number"
    meant = _meant(text)
    if meant is not None:
        return f"write {meant}"
    with_commas = _with_commas(text, whole=whole)
    if with_commas is not None:
        return with_commas
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        return None
    return _without_unit(float(match[1]), match[2].strip(), _unit_of(key), whole=whole)


def _meant(text: str) -> str | None:
    """Return the number that a text stands for: in quotes, before a semicolon, a fraction, a power of ten."""
    if match := _QUOTED.fullmatch(text):
        return match[1] or match[2]
    if match := _POWER_OF_TEN.fullmatch(text):
        return f"{match[1]}e{match[2]}"
    match = _FRACTION.fullmatch(text)
    if match is None or float(match[2]) == 0:
        return None
    value = _plain(float(match[1]) / float(match[2]))
    return value if len(value) <= LONGEST_DECIMAL else None  # 1/3 has no end


def _with_commas(text: str, *, whole: bool) -> str | None:
    """Return what to write in place of a number with separators or a decimal comma; None for others."""
    if _GROUPED.fullmatch(text):
        digits = re.sub(r"[ _,'’]", "", text)
        if text.count(",") == 1 and "." not in text and not whole:  # in some countries 1,000 means one
            return f"write {digits}, or {text.replace(',', '.')} if the comma begins the decimals"
        return f"write {digits}"
    if _DECIMAL_COMMA.fullmatch(text):
        return f"decimals begin with a point: write {text.replace(',', '.')}"
    return None


def _without_unit(number: float, written: str, unit: _UnitOfKey | None, *, whole: bool) -> str:
    """Return what to write in place of a number with a unit."""
    if written == "%":
        if whole:
            return f"it is a number, not a share: {number:g} % of 100 are {number:g}"
        return f"write {_plain(number / 100)}"
    if unit is None:
        return f"the key has no unit: write the number alone, such as {_plain(number)}"
    if unit.name == "dBm" and written in WATTS and number > 0:
        return f"the key is in dBm: write {_plain(round(10 * math.log10(number * WATTS[written]) + 30, 2))}"
    alike = [name for name in unit.sizes if name.lower() == written.lower()]
    if written in unit.sizes:
        alike = [written]
    elif written in LARGE_PREFIXES and f"{written}{unit.name}" in unit.sizes:  # 20M
        alike = [f"{written}{unit.name}"]
    if len(alike) == 1:
        return f"the key is in {unit.name}: write {_plain(number * unit.sizes[alike[0]])}"
    # Unknown, or a milliwatt and a megawatt in the same letters.
    return f"the key is in {unit.name}: write the number in that unit, without the unit"


def _plain(number: float) -> str:
    """Return a number as a scenario has it: 20e6 in place of 20000000.0."""
    for exponent in (12, 9, 6):
        mantissa = f"{number / 10**exponent:.12g}"
        if abs(number) >= 10**exponent and float(f"{mantissa}e{exponent}") == number:
            return f"{mantissa}e{exponent}"
    return f"{number:.12g}"
