"""What to write in a scenario in place of numbers such as "20,000,000", "0,1", "20 MHz" and "10 %".

None of these is accepted: a comma separates thousands in some countries and decimals in others, and a key has its unit
in its name.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from edgefl.core.section import OneOrThousand, shown
from edgefl.scenario.written_units import PREFIXES, UnitOfKey, meanings_of_unit, unit_of_key

# The beginnings of messages about wrong numbers.
A_NUMBER = "must be a number"
A_WHOLE_NUMBER = "must be a whole number"
A_TRUTH = "must be true or false"
A_TEXT = "must be text"
OTHER_NUMBERS = ("must be an accuracy", "must be a finite number")

COUNTS = {"participants", "count"}  # keys with a number of devices, often mistaken for a share of them

_DIGITS = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(_DIGITS)
_WITH_UNIT = re.compile(r"(.*?[\d.])\s*((?![eE](?:[-+.\d]|$))(?:[A-Za-zµ°%]|/[A-Za-z]).*|1/[A-Za-z]+)")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:([ _,'’])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[-+]?\d{1,3}(?:\.\d{3}){2,}|[-+]?\d{1,3}(?:[. ]\d{3})+,\d+")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_QUOTED = re.compile(rf"[\"'“”„‘’«»]\s*({_DIGITS})\s*[\"'“”„‘’«»]|({_DIGITS})\s*[;,]|[~≈=]\s*({_DIGITS})")
_FRACTION = re.compile(rf"({_DIGITS})\s*/\s*({_DIGITS})")
_POWER_OF_TEN = re.compile(rf"(?:({_DIGITS})\s*[*x]\s*)?10\s*(?:\^|\*\*)\s*([-+]?\d+)")
_POWER_OF_TWO = re.compile(r"2\s*(?:\^|\*\*)\s*(\d{1,2})")
_FORTRAN = re.compile(r"([-+]?\d+\.?\d*)[dD]([-+]?\d+)")
_OTHER_BASE = re.compile(r"[-+]?0(?:[oO][0-7]+|[bB][01]+|[xX][0-9a-fA-F]+)")
_OF_LIBRARY = re.compile(rf"(?:np|numpy|torch|jnp)\.\w+\(({_DIGITS})(?:,.*)?\)|tensor\(({_DIGITS})(?:,.*)?\)")
_CLOCK = re.compile(r"(\d+):(\d\d)(?::(\d\d))?")
_BETWEEN = re.compile(rf"({_DIGITS})\s*(?:-|–|\.\.|to)\s*({_DIGITS})")

_TRUTHS = {"yes": "true", "on": "true", "y": "true", "1": "true", "1.0": "true", "true": "true"}
_TRUTHS |= {"no": "false", "off": "false", "n": "false", "0": "false", "0.0": "false", "false": "false"}
_NOT_FINITE = {"inf", "infinity", "nan", "infinite"}
_NOTHING = {"none", "nan", "na", "n/a", ".nan"}  # as Python and tables have it; YAML's is null
_OTHER_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "⋅": "*", "μ": "µ", "⁄": "/", "٫": "."})
_SUPERSCRIPT = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")

LONGEST_DECIMAL = 8  # characters of a fraction that is written as a decimal number


def unit_of(key: str) -> str:
    """Return the unit that the ending of a key names, such as Hz; "" if it names none."""
    unit = unit_of_key(key)
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
    if text.startswith(A_TRUTH) and str(value).lower() in _TRUTHS:
        return f"{text}: write {_TRUTHS[str(value).lower()]}"
    if text.startswith(A_TEXT) and isinstance(value, bool | int | float):
        return f"{text}: write it in quotes, as in '{shown(value)}'"
    if not text.startswith((A_NUMBER, A_WHOLE_NUMBER, *OTHER_NUMBERS)):
        return text
    is_distribution = "{uniform" in text
    bounds = _bounds(value) if is_distribution else None
    names = [part for part in path if isinstance(part, str)]
    instead = None
    if bounds is not None:
        instead = f"write {{uniform: [{bounds}]}}"
    elif isinstance(value, list) and is_distribution:
        instead = (
            f"write {{choice: [..]}} to draw one of several, or {{file: x.csv, column: {names[-1]}}} for all devices"
        )
    elif isinstance(value, list) and text.startswith((A_NUMBER, A_WHOLE_NUMBER)):
        instead = f"one value is needed; a sweep file runs several{_in_sweep(path)}"
    elif isinstance(value, str):
        # The key that names the unit may have numbers in a list or in a distribution below it.
        key = next((name for name in reversed(names) if unit_of_key(name)), "")
        instead = remedy(value.strip(), key, whole=text.startswith(A_WHOLE_NUMBER))
    elif isinstance(value, OneOrThousand):
        instead = f"write {value:.0f}, or {1000 * value:.0f} if the point separates thousands"
    elif isinstance(value, float) and names[-1:] and names[-1] in COUNTS and 0 < value < 1:
        instead = f"it is a number of devices, not a share: of 100 devices {value:g} are {100 * value:g}"
    if instead is None:
        return text
    if is_distribution:  # all forms of one would be a long line
        text = f"must be a number or a distribution, got {shown(value)}"
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
    plain = _in_ascii(text)
    if _NUMBER.fullmatch(plain):
        if plain != text:
            return f"write {plain}"
        # In quotes, or from a reader that takes 20e6 for text, as PyYAML does.
        return f"it is text: write {text} without quotes, or convert what yaml.safe_load has read as text to a number"
    if plain.lower() in _NOTHING:
        return "write null, or leave the key out"
    if plain.lower().lstrip("+-.") in _NOT_FINITE:
        return "write a finite number"
    unit = unit_of_key(key)
    if unit is not None and unit.unit.quantity == "time" and not whole and (match := _CLOCK.fullmatch(plain)):
        return _without_colons(match, unit)
    meant = _meant(plain)
    if meant is not None:
        return f"write {meant}" if _suits(float(meant), whole=whole) else None
    with_commas = _with_commas(plain, whole=whole)
    if with_commas is not None:
        return with_commas
    match = _WITH_UNIT.fullmatch(plain)
    if match is None:
        return None
    number = _number(match[1].strip())
    if number is None:
        return _generally(unit) if _GROUPED.fullmatch(match[1].strip()) else None
    return _without_unit(number, match[2].strip(), unit, whole=whole)


def _in_ascii(text: str) -> str:
    """Return a text with ASCII's digits, signs and spaces in place of those of other alphabets and typography."""
    text = re.sub("10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"10^{found[1].translate(_SUPERSCRIPT)}", text)
    characters = []
    for character in text.translate(_OTHER_SIGNS):
        digit = unicodedata.decimal(character, None)
        if digit is not None:
            characters.append(str(digit))
        elif character.isspace():
            characters.append(" ")
        elif "！" <= character <= "～":  # as wide as Chinese characters
            characters.append(unicodedata.normalize("NFKC", character))
        else:
            characters.append(character)
    return "".join(characters).strip()


def _suits(value: float, *, whole: bool) -> bool:
    """Return whether a key can have a number."""
    return math.isfinite(value) and (not whole or value.is_integer())


def _meant(text: str) -> str | None:
    """Return the number that a text stands for, if it is not in the decimal system, or has something around it."""
    for form in (_QUOTED, _OF_LIBRARY):
        if match := form.fullmatch(text):
            return next(part for part in match.groups() if part)
    if match := _POWER_OF_TEN.fullmatch(text):
        return f"{match[1] or 1}e{int(match[2])}"
    if match := _FORTRAN.fullmatch(text):
        return f"{match[1]}e{match[2]}"
    if match := _POWER_OF_TWO.fullmatch(text):
        return str(2 ** int(match[1]))
    if _OTHER_BASE.fullmatch(text):
        return str(int(text, 0))
    if len(text) == 1 and unicodedata.numeric(text, None) is not None:  # ½
        return f"{unicodedata.numeric(text):.6g}"
    match = _FRACTION.fullmatch(text)
    if match is None or float(match[2]) == 0:
        return None
    value = _plain(float(match[1]) / float(match[2]))
    return value if len(value) <= LONGEST_DECIMAL else f"{float(value):.6g}"  # 1/3 has no end


def _without_colons(match: re.Match[str], unit: UnitOfKey) -> str:
    """Return what to write in place of a time such as 00:01:30."""
    first, second, third = int(match[1]), int(match[2]), match[3]
    if third is not None:
        written = _plain(unit.unit.from_base(3600.0 * first + 60.0 * second + int(third)))
        return f"the key is in {unit.name}: write {written}"
    short = _plain(unit.unit.from_base(60.0 * first + second))
    long = _plain(unit.unit.from_base(3600.0 * first + 60.0 * second))
    return f"the key is in {unit.name}: write {short} for minutes and seconds, or {long} for hours and minutes"


def _with_commas(text: str, *, whole: bool) -> str | None:
    """Return what to write in place of a number with separators or a decimal comma; None for others."""
    if _GROUPED.fullmatch(text):
        digits = re.sub(r"[ _,'’]", "", text)
        if not _suits(float(digits), whole=whole):
            return None
        if text.count(",") == 1 and "." not in text and not whole:  # in some countries 1,000 means one
            return f"write {digits}, or {text.replace(',', '.')} if the comma begins the decimals"
        return f"write {digits}"
    if _GROUPED_BY_POINTS.fullmatch(text):
        digits = re.sub("[. ]", "", text).replace(",", ".")
        return f"write {digits}" if _suits(float(digits), whole=whole) else None
    if _DECIMAL_COMMA.fullmatch(text):
        digits = text.replace(",", ".")
        return f"decimals begin with a point: write {digits}" if _suits(float(digits), whole=whole) else None
    return None


def _number(text: str) -> float | None:
    """Return the number before a unit; None if the text is none, or may mean two, as 1,000."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if _GROUPED.fullmatch(text) and "," not in text:
        return float(re.sub(r"[ _'’]", "", text))
    if _DECIMAL_COMMA.fullmatch(text) and not _GROUPED.fullmatch(text):
        return float(text.replace(",", "."))
    meant = _meant(text)
    return None if meant is None else float(meant)


def _without_unit(number: float, written: str, unit: UnitOfKey | None, *, whole: bool) -> str | None:
    """Return what to write in place of a number with a unit."""
    if unit is None:
        return _for_key_without_unit(number, written, whole=whole)
    in_unit = f"the key is in {unit.name}"
    if written == "%":
        return f"{in_unit}, and not a share"
    if unit.unit.quantity == "time" and written == "m" and not whole:
        return f"{in_unit}: write {_plain(unit.unit.from_base(60 * number))} for {number:g} minutes"
    meanings = meanings_of_unit(written, unit.unit.quantity)
    quantities = sorted({meaning.quantity for meaning in meanings})
    if quantities == [unit.unit.quantity] and len(meanings) == 1:
        found = number
        if meanings[0] != unit.unit:
            found = unit.unit.from_base(meanings[0].in_base(number))
        if unit.unit.is_level or meanings[0].is_level:
            found = float(f"{found:.4g}")
        if _suits(found, whole=whole):
            return f"{in_unit}: write {_plain(found)}"
    if quantities == ["charge"] and unit.unit.quantity == "energy":
        joules = _plain(meanings[0].in_base(number))
        return f"{in_unit}: {number:g} {written} hold {joules} J for each volt: write {joules} times the voltage"
    if quantities and unit.unit.quantity not in quantities:
        return f"{in_unit}, and {_stands_for(written, quantities)}"
    return _generally(unit)  # unknown, or a milliwatt and a megawatt in the same letters


def _generally(unit: UnitOfKey | None) -> str:
    """Return what to write in place of a number with a unit that is unclear."""
    if unit is None:
        return "the key has no unit: write the number alone"
    return f"the key is in {unit.name}: write the number in that unit, without the unit"


def _stands_for(unit: str, quantities: Sequence[str]) -> str:
    articles = {quantity: "an" if quantity[0] in "aeiou" else "a" for quantity in quantities}
    return f"{unit} stands for {' or '.join(f'{article} {quantity}' for quantity, article in articles.items())}"


def _for_key_without_unit(number: float, written: str, *, whole: bool) -> str | None:
    if written == "%":
        if whole:
            return f"it is a number, not a share: {number:g} % of 100 are {number:g}"
        return f"write {_plain(number / 100)}"
    prefix = "k" if written == "K" else written
    if prefix in PREFIXES:
        multiple = number * PREFIXES[prefix]
        return f"write {_plain(multiple)}" if _suits(multiple, whole=whole) else None
    quantities = sorted({meaning.quantity for meaning in meanings_of_unit(written)})
    if quantities:
        return f"the key has no unit, and {_stands_for(written, quantities)}"
    if _suits(number, whole=whole):
        return f"{_generally(None)}, such as {_plain(number)}"
    return _generally(None)


def _plain(number: float) -> str:
    """Return a number as a scenario has it: 20e6 in place of 20000000.0."""
    for exponent in (12, 9, 6):
        mantissa = f"{number / 10**exponent:.12g}"
        if abs(number) >= 10**exponent and float(f"{mantissa}e{exponent}") == number:
            return f"{mantissa}e{exponent}"
    return f"{number:.12g}"
