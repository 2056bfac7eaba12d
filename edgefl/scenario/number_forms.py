"""Remedies for numbers in a scenario such as "20,000,000", "0,1", "20 MHz" and "10 %".

None of these is accepted: a comma separates thousands in some countries and decimals in others, and a key has its unit
in its name.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgefl.core.section import KeyPath, OneOrThousand, shown
from edgefl.scenario.written_units import converted, unit_of

# The beginnings of messages about wrong numbers, and about values that are numbers or were meant as one.
A_NUMBER = "must be a number"
A_WHOLE_NUMBER = "must be a whole number"
A_TRUTH = "must be true or false"
A_TEXT = "must be text"
NUMBERS = (A_NUMBER, A_WHOLE_NUMBER, "must be an accuracy", "must be a finite number")
A_DISTRIBUTION = "{uniform"  # in messages about numbers that may differ between devices

LEAST_PERCENT = 5  # below which a value above 1 is hardly a percentage
COUNTS = {"participants", "count", "depleted"}  # keys with a number of devices, often mistaken for a share of them
TRUTHS = {"yes": "true", "on": "true", "1": "true", "true": "true"}
TRUTHS |= {"no": "false", "off": "false", "0": "false", "false": "false"}

DIGITS = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
WORDS = (
    (DIGITS, "it is text: write {} without quotes, or convert what yaml.safe_load has read as text to a number"),
    (rf"{DIGITS}(?:\s*[;|]\s*{DIGITS})+", "commas separate the entries of a list"),
    (r"\d+(:\d\d){1,2}(\.\d+)?", "write seconds"),
    (rf"{DIGITS} - {DIGITS}", 'begin each "- " of a list in one column'),
    (r"[-+*/^() 0-9.eE]*[*/^()][-+*/^() 0-9.eE]*", "formulas are not computed: write the number"),
    (r".*(?:\$\{|\$\w|\{\{|%\w+%).*", "variables and templates are not filled in: write the value itself"),
    (r"(?i)none|\.?nan|n/?a", "write null, or leave the key out"),
    (r"(?i)[-+]?inf(?:inity|inite)?", "write a finite number"),
)
"""Forms of a text, and what to write instead."""
_TYPOGRAPHY = str.maketrans({"−": "-", "–": "-", "—": "-"} | dict.fromkeys("“”‘’„«»'\""))
_READINGS: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
    (r"0[oO][0-7]+|0[bB][01]+", lambda text: [str(int(text, 0))]),
    (DIGITS, lambda text: [text]),
    (r"[-+]?[0-9]{1,3},[0-9]{3}", lambda text: [text.replace(",", ""), text.replace(",", ".")]),
    (r"[-+]?[0-9]{1,3}([ _,])[0-9]{3}(\1[0-9]{3})*(\.[0-9]+)?", lambda text: [re.sub(r"[ _,]", "", text)]),
    (r"[-+]?[0-9]{1,3}(\.[0-9]{3}){2,}", lambda text: [text.replace(".", "")]),
    (r"[-+]?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?", lambda text: [text.replace(",", ".")]),
)
"""Forms of a number, and what each may stand for."""
_CALL = re.compile(r"(uniform|normal|lognormal|choice)\s*\((.+)\)")
_WITH_UNIT = re.compile(r"(.*?[0-9.])[\s_]*((?![eE][-+0-9])[A-Za-zµ%].*|1/s)")


def with_remedy(text: str, path: KeyPath, value: Any) -> str:
    """Return a message about a wrong number with what to write instead, if that is known; other messages unchanged."""
    if (
        re.match(r"must be (?:<=?|from \S+ to) 1, got", text)
        and isinstance(value, int | float)
        and LEAST_PERCENT <= value <= 100
    ):
        return f"{text}: {value:g} % are written {plain(value / 100)}"
    if text.startswith(A_TRUTH) and str(value).lower() in TRUTHS:
        return f"{text}: write {TRUTHS[str(value).lower()]}"
    if text.startswith(A_TEXT) and isinstance(value, bool | int | float):
        return f"{text}: write it in quotes, as in '{shown(value)}'"
    instead = None
    if text.startswith(NUMBERS):
        instead = _instead(text, path, value)
    if instead is None:
        return text
    if A_DISTRIBUTION in text:  # all forms of a distribution would be a long line
        text = f"must be a number or a distribution, got {shown(value)}"
    return f"{text}: {instead}"


def _instead(text: str, path: KeyPath, value: Any) -> str | None:
    """Return what to write instead of a wrong number; None if that is unknown."""
    names = [part for part in path if isinstance(part, str)]
    if isinstance(value, list):
        return _instead_of_list(text, path)
    if isinstance(value, dict):
        return _instead_of_keys(text, value)
    if isinstance(value, str):
        return _instead_of_text(text, names, value)
    if isinstance(value, OneOrThousand):
        return f"write {value:.0f}, or {1000 * value:.0f} if the point separates thousands"
    if isinstance(value, float) and names[-1:] and names[-1] in COUNTS and 0 < value < 1:
        return f"it is a number of devices, not a share: of 100 devices {value:g} are {100 * value:g}"
    return None


def _instead_of_list(text: str, path: KeyPath) -> str | None:
    if A_DISTRIBUTION in text:
        of_file = f"{{file: x.csv, column: {path[-1]}}}"
        return f"write {{uniform: [a, b]}} for a range, {{choice: [..]}} to draw one of several, or {of_file}"
    if not text.startswith((A_NUMBER, A_WHOLE_NUMBER)):
        return None
    instead = "one value is needed; a sweep file runs several"
    if path == ("seed",):
        return f"{instead}, as seeds: [...]"
    if all(isinstance(part, str) for part in path):
        return f"{instead}, as grid: {{{'.'.join(map(str, path))}: [...]}}"
    return instead


def _instead_of_text(text: str, names: Sequence[str], value: str) -> str | None:
    if names[-1:] == ["participants"] and value.lower() in {"all", "max"}:
        return "write the number of devices"
    # The key that names the unit may have numbers in a list or in a distribution below it.
    key = next((name for name in reversed(names) if unit_of(name)), "")
    drawn = _distribution(value) if A_DISTRIBUTION in text else None
    return drawn or remedy(value.strip(" \n"), key, whole=text.startswith(A_WHOLE_NUMBER))


def _instead_of_keys(text: str, value: Mapping[Any, Any]) -> str | None:
    """Return what to write instead of keys such as {min: 1, max: 2}: a range if devices may differ, else a number."""
    numbers = [plain(item) for item in value.values() if isinstance(item, int | float) and not isinstance(item, bool)]
    if A_DISTRIBUTION not in text:
        return f"write one number, as in {numbers[0]}" if numbers else None
    if len(numbers) == 2 and value.keys() & {"std", "sigma", "stddev", "scale", "mu", "mean"}:
        return f"write {{normal: [{', '.join(numbers)}]}}"
    if len(numbers) == 2:
        return f"write {{uniform: [{', '.join(numbers)}]}}"
    return None


def _distribution(text: str) -> str | None:
    """Return how a text such as uniform(1e9, 2e9) or 1e9-2e9 is written; None for others."""
    call = _CALL.fullmatch(text.strip())
    if call is not None:
        return f"write {{{call[1]}: [{call[2].replace(';', ',')}]}}"
    ends = re.fullmatch(rf"({DIGITS})\s*(?:-|–|to|\.\.+)\s*({DIGITS})", text.strip())
    return f"write {{uniform: [{ends[1]}, {ends[2]}]}}" if ends else None


def remedy(text: str, key: str, *, whole: bool = False) -> str | None:
    """Return what to write instead of a text that was meant as a number, such as "write 20e6"; None if unknown.

    The ending of the `key` names the unit; "" if it has none.
    """
    for form, words in WORDS:
        if re.fullmatch(form, text):
            return words.format(text)
    numbers = [number for number in _readings(text) if not whole or float(number).is_integer()]
    if len(numbers) == 2 and not whole:
        return f"write {numbers[0]}, or {numbers[1]} if the comma begins the decimals"
    if numbers:
        return f"write {numbers[0]}"
    match = _WITH_UNIT.fullmatch(text)
    if match is None and re.fullmatch(rf"{DIGITS}(?:\s+{DIGITS})+", text):
        return "commas separate the entries of a list"
    if match is None or not _readings(match[1]):
        return None
    return _without_unit(_readings(match[1]), match[2], unit_of(key), whole=whole)


def _readings(text: str) -> list[str]:
    """Return the numbers that a text may stand for, as YAML has them: none, one, or two where a comma has two meanings.

    A comma separates thousands before three digits, and begins the decimals before any other number of them.
    """
    text = re.sub(r"\s*(?://.*|[,;]+)$", "", text.translate(_TYPOGRAPHY))  # comments and ends of other languages
    text = re.sub(r"\s", " ", unicodedata.normalize("NFKC", text).strip())
    return next((read(text) for form, read in _READINGS if re.fullmatch(form, text)), [])


def _without_unit(numbers: Sequence[str], written: str, unit: str, *, whole: bool) -> str:
    """Return what to write instead of a number with a unit, or what the key is in if the two do not go together."""
    if not unit and written == "%" and whole:
        return "it is a number, not a share"
    if not unit and written == "%" and len(numbers) == 1:
        return f"write {plain(float(numbers[0]) / 100)}"
    if not unit:
        return "the key has no unit: write only the number"
    found = None
    if len(numbers) == 1:
        found = converted(float(numbers[0]), written, unit)
    if found is None or not math.isfinite(found) or (whole and not found.is_integer()):
        return f"the key is in {unit}: write the number in that unit, without the unit"
    return f"the key is in {unit}: write {plain(found)}"


def plain(number: float) -> str:
    """Return a number as a scenario has it: 20e6 instead of 20000000.0."""
    for exponent in (12, 9, 6):
        mantissa = f"{number / 10**exponent:.12g}"
        if abs(number) >= 10**exponent and float(f"{mantissa}e{exponent}") == number:
            return f"{mantissa}e{exponent}"
    return f"{number:.12g}"
