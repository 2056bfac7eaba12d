"""Remedies for numbers in a scenario such as "20,000,000", "0,1", "20 MHz" and "10 %".

None of these is accepted: a comma separates thousands in some countries and decimals in others, and a key has its unit
in its name.
"""

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from edgefl.core.section import KeyPath, OneOrThousand, shown
from edgefl.scenario.written_distributions import DISTRIBUTIONS, as_distribution
from edgefl.scenario.written_numbers import DECIMAL_COMMA, GROUPED, NUMBER, ONE_COMMA, in_ascii, in_yaml, plain
from edgefl.scenario.written_units import Unit, UnitOfKey, factor_of_prefix, meanings_of_unit, unit_of_key

# The beginnings of messages about wrong numbers, and about values that are numbers or were meant as one.
A_NUMBER = "must be a number"
A_WHOLE_NUMBER = "must be a whole number"
A_TRUTH = "must be true or false"
A_TEXT = "must be text"
NUMBERS = (A_NUMBER, A_WHOLE_NUMBER, "must be an accuracy", "must be a finite number")

COUNTS = {"participants", "count", "depleted"}  # keys with a number of devices, often mistaken for a share of them

_WITH_UNIT = re.compile(r"(.*?[\d.])\s*((?![eE](?:[-+.\d]|$))(?:[A-Za-zµ°%]|/[A-Za-z]).*|1/[A-Za-z]+)")
_CLOCK = re.compile(r"(\d+):(\d\d)(?::(\d\d))?")
_TIME_OF_DAY = re.compile(r"(\d+)(?::(\d\d))? ?([ap])\.?m\.?", re.IGNORECASE)
# 1h30m as Go and others write durations, and PT1H30M of ISO 8601.
_PARTS_OF_TIME = re.compile(
    r"(?:P(?=\d+D|T))?(?:(\d+) ?d)?T? ?(?:(\d+) ?h)? ?(?:(\d+) ?m(?:in)?)? ?(?:(\d+) ?s)?", re.IGNORECASE
)
_SIZES_S = (86400, 3600, 60, 1)

_TEMPLATE = re.compile(r"\$\{|\$\w|\{\{|%\w+%")
_TRUTHS = {"yes": "true", "on": "true", "y": "true", "1": "true", "1.0": "true", "true": "true"}
_TRUTHS |= {"no": "false", "off": "false", "n": "false", "0": "false", "0.0": "false", "false": "false"}
_WORDS = dict.fromkeys(("none", "nan", ".nan", "na", "n/a"), "write null, or leave the key out")
_WORDS |= dict.fromkeys(("inf", "+inf", "-inf", "infinity", "-infinity", "infinite"), "write a finite number")


def unit_of(key: str) -> str:
    """Return the unit that the ending of a key names, such as Hz; "" if it names none."""
    unit = unit_of_key(key)
    if unit is None:
        return ""
    return unit.name


def with_remedy(text: str, path: KeyPath, value: Any) -> str:
    """Return a message about a wrong number with what to write instead, if that is known; other messages unchanged.

    Args:
        text: the message.
        path: the path of the key.
        value: the value in the file.
    """
    if re.match(r"must be (?:<=|from \S+ to) 1, got", text) and isinstance(value, int | float) and 1 < value <= 100:
        return f"{text}: {value:g} % are written {plain(value / 100)}"
    if text.startswith(A_TRUTH) and str(value).lower() in _TRUTHS:
        return f"{text}: write {_TRUTHS[str(value).lower()]}"
    if text.startswith(A_TEXT) and isinstance(value, bool | int | float):
        return f"{text}: write it in quotes, as in '{shown(value)}'"
    name = str(path[-1])
    if text.startswith("must be a list") and name in DISTRIBUTIONS and (distribution := as_distribution(value, name)):
        return f"{text.partition(', got')[0]}, got {shown(value)}: write {distribution}"
    instead = None
    if text.startswith(NUMBERS):
        instead = _instead(text, path, value)
    if instead is None:
        return text
    if "{uniform" in text:  # all forms of a distribution would be a long line
        text = f"must be a number or a distribution, got {shown(value)}"
    return f"{text}: {instead}"


def _instead(text: str, path: KeyPath, value: Any) -> str | None:
    """Return what to write in place of a wrong number; None if that is unknown."""
    names = [part for part in path if isinstance(part, str)]
    if "{uniform" in text and (distribution := as_distribution(value)):
        return f"write {distribution}"
    if isinstance(value, list):
        return _in_place_of_list(text, path)
    if isinstance(value, str):
        # The key that names the unit may have numbers in a list or in a distribution below it.
        key = next((name for name in reversed(names) if unit_of_key(name)), "")
        return remedy(value.strip(), key, whole=text.startswith(A_WHOLE_NUMBER))
    return _in_place_of_number(names, value)


def _in_place_of_number(names: Sequence[str], value: Any) -> str | None:
    """Return what to write in place of a number or a duration that the key cannot have; None if that is unknown.

    Args:
        names: the key and those above it.
        value: neither a list nor a text.
    """
    if isinstance(value, timedelta | np.timedelta64):
        return _of_duration(value, names[-1])
    if isinstance(value, OneOrThousand):
        return f"write {value:.0f}, or {1000 * value:.0f} if the point separates thousands"
    if isinstance(value, float) and names[-1:] and names[-1] in COUNTS and 0 < value < 1:
        return f"it is a number of devices, not a share: of 100 devices {value:g} are {100 * value:g}"
    return None


def _of_duration(value: timedelta | np.timedelta64, key: str) -> str | None:
    """Return what to write in place of a duration of Python, NumPy or pandas, whose key may be in hours."""
    unit = unit_of_key(key)
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value / np.timedelta64(1, "s"))
    if unit is None or unit.unit.quantity != "time" or not math.isfinite(seconds):
        return None
    return f"the key is in {unit.name}: write {plain(unit.unit.from_base(seconds))}"


def _in_place_of_list(text: str, path: KeyPath) -> str | None:
    if "{uniform" in text:
        return f"write {{choice: [..]}} to draw one of several, or {{file: x.csv, column: {path[-1]}}} for all devices"
    if text.startswith((A_NUMBER, A_WHOLE_NUMBER)):
        return f"one value is needed; a sweep file runs several{_in_sweep(path)}"
    return None


def _in_sweep(path: KeyPath) -> str:
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
    # In quotes, or from a reader that takes 20e6 for text, as PyYAML does.
    if NUMBER.fullmatch(text) and text.isascii():
        return f"it is text: write {text} without quotes, or convert what yaml.safe_load has read as text to a number"
    if _TEMPLATE.search(text):
        return "variables and templates are not filled in: write the value itself"
    text = in_ascii(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    unit = unit_of_key(key)
    if unit is not None and unit.unit.quantity == "time" and not whole and (found := _in_one_unit(text, unit)):
        return found
    number = in_yaml(text)
    if number is not None:
        return _in_another_notation(text, number, whole=whole)
    return _without_unit(text, unit, whole=whole)


def _suits(value: float, *, whole: bool) -> bool:
    """Return whether a key can have a number."""
    return math.isfinite(value) and (not whole or value.is_integer())


def _in_another_notation(text: str, number: str, *, whole: bool) -> str | None:
    """Return what to write in place of a text that stands for a number; None if the key cannot have it."""
    if not _suits(float(number), whole=whole):
        return None
    if ONE_COMMA.fullmatch(text) and not whole:
        return f"write {number}, or {text.replace(',', '.')} if the comma begins the decimals"
    if DECIMAL_COMMA.fullmatch(text) and not GROUPED.fullmatch(text):
        return f"decimals begin with a point: write {number}"
    return f"write {number}"


def _in_one_unit(text: str, unit: UnitOfKey) -> str | None:
    """Return what to write in place of a time such as 00:01:30, 10 pm or 1h30m; None if the text is none."""
    if match := _CLOCK.fullmatch(text):
        return _without_colons(match, unit)
    if (match := _TIME_OF_DAY.fullmatch(text)) and unit.name == "h":
        hours = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
        return f"the key is in h: write {plain(hours + int(match[2] or 0) / 60)}"
    match = _PARTS_OF_TIME.fullmatch(text)
    given = 0 if match is None else sum(part is not None for part in match.groups())
    if match is None or given == 0 or (given == 1 and text[0] not in "Pp"):  # 90s is a number with a unit
        return None
    seconds = sum(size * float(part or 0) for size, part in zip(_SIZES_S, match.groups(), strict=True))
    return f"the key is in {unit.name}: write {plain(unit.unit.from_base(seconds))}"


def _without_colons(match: re.Match[str], unit: UnitOfKey) -> str:
    """Return what to write in place of a time such as 00:01:30."""
    first = int(match[1])
    second = int(match[2])
    long_s = 3600.0 * first + 60.0 * second
    if match[3] is not None:
        return f"the key is in {unit.name}: write {plain(unit.unit.from_base(long_s + int(match[3])))}"
    short = plain(unit.unit.from_base(60.0 * first + second))
    long = plain(unit.unit.from_base(long_s))
    if unit.name == "h":  # a time of day, or hours and minutes
        return f"the key is in h: write {long}"
    return f"the key is in {unit.name}: write {short} for minutes and seconds, or {long} for hours and minutes"


def _without_unit(text: str, unit: UnitOfKey | None, *, whole: bool) -> str | None:
    """Return what to write in place of a number with a unit; None if the text is not one."""
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        return None
    digits = match[1].strip()
    written = match[2].strip()
    number = in_yaml(digits)
    if number is None:
        return None
    if ONE_COMMA.fullmatch(digits):
        return _generally(unit)
    if unit is None:
        return _for_key_without_unit(float(number), written, whole=whole)
    if written == "%":
        return f"the key is in {unit.name}, and not a share"
    meanings = meanings_of_unit(written, unit.unit.quantity)
    return _converted(float(number), meanings, unit, whole=whole) or _in_other_words(number, written, meanings, unit)


def _converted(number: float, meanings: Sequence[Unit], unit: UnitOfKey, *, whole: bool) -> str | None:
    """Return what to write in place of a number in another unit of the same quantity; None if that is unclear."""
    if len(meanings) != 1 or meanings[0].quantity != unit.unit.quantity:
        return None  # unknown, or a milliwatt and a megawatt in the same letters
    found = number
    if meanings[0] != unit.unit:
        found = unit.unit.from_base(meanings[0].in_base(number))
    if unit.unit.is_level or meanings[0].is_level:
        found = float(f"{found:.4g}")
    if not _suits(found, whole=whole):
        return None
    return f"the key is in {unit.name}: write {plain(found)}"


def _in_other_words(number: str, written: str, meanings: Sequence[Unit], unit: UnitOfKey) -> str:
    """Return a remark on a number with a unit that cannot be converted to that of the key."""
    quantities = sorted({meaning.quantity for meaning in meanings})
    if unit.unit.quantity == "time" and written == "m":
        minutes = plain(unit.unit.from_base(60 * float(number)))
        return f"the key is in {unit.name}: write {minutes} for {number} minutes"
    if quantities == ["charge"] and unit.unit.quantity == "energy":
        joules = plain(meanings[0].in_base(float(number)))
        held = f"{number} {written} hold {joules} J for each volt"
        return f"the key is in J: {held}: write {joules} times the voltage; batteries take capacity_mah and voltage_v"
    if quantities and unit.unit.quantity not in quantities:
        return f"the key is in {unit.name}, and {_stands_for(written, quantities)}"
    return _generally(unit)


def _generally(unit: UnitOfKey | None) -> str:
    """Return what to write in place of a number with a unit that is unclear."""
    if unit is None:
        return "the key has no unit: write the number alone"
    return f"the key is in {unit.name}: write the number in that unit, without the unit"


def _stands_for(unit: str, quantities: Sequence[str]) -> str:
    return f"{unit} stands for {' or '.join(map(_with_article, quantities))}"


def _with_article(quantity: str) -> str:
    article = "an" if quantity[0] in "aeiou" else "a"
    return f"{article} {quantity}"


def _for_key_without_unit(number: float, written: str, *, whole: bool) -> str | None:
    """Return what to write in place of a number with a unit where the key has none."""
    if written == "%":
        if whole:
            return f"it is a number, not a share: {number:g} % of 100 are {number:g}"
        return f"write {plain(number / 100)}"
    factor = factor_of_prefix(written)
    if factor is not None:
        return _multiple(number * factor, whole=whole)
    quantities = sorted({meaning.quantity for meaning in meanings_of_unit(written)})
    if quantities:
        return f"the key has no unit, and {_stands_for(written, quantities)}"
    such_as = ""
    if _suits(number, whole=whole):
        such_as = f", such as {plain(number)}"
    return f"{_generally(None)}{such_as}"


def _multiple(number: float, *, whole: bool) -> str | None:
    if not _suits(number, whole=whole):
        return None
    return f"write {plain(number)}"
