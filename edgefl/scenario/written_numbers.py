"""Numbers in other notations than YAML's: decimal commas, separators, powers, fractions, digits of other alphabets."""

import re
import unicodedata
from collections.abc import Callable

DIGITS = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBER = re.compile(DIGITS)
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
GROUPED = re.compile(r"[-+]?\d{1,3}(?:([ _,'’])\d{3})(?:\1\d{3})*(?:\.\d+)?")
ONE_COMMA = re.compile(r"[-+]?\d{1,3},\d{3}")  # in some countries 1,000 means one

_GROUPED_BY_POINTS = re.compile(r"[-+]?\d{1,3}(?:\.\d{3}){2,}|[-+]?\d{1,3}(?:[. ]\d{3})+,\d+")
_QUOTED = re.compile(rf"[\"'“”„‘’«»]\s*({DIGITS})\s*[\"'“”„‘’«»]|({DIGITS})\s*[;,]|[~≈=]\s*({DIGITS})")
_BEFORE_COMMENT = re.compile(rf"({DIGITS})#.*")
_OF_LIBRARY = re.compile(rf"(?:np|numpy|torch|jnp)\.\w+\(({DIGITS})(?:,.*)?\)|tensor\(({DIGITS})(?:,.*)?\)")
_POWER_OF_TEN = re.compile(rf"(?:({DIGITS})\s*[*x]\s*)?10\s*(?:\^|\*\*)\s*([-+]?\d+)")
_POWER_OF_TWO = re.compile(r"2\s*(?:\^|\*\*)\s*(\d{1,2})")
_FORTRAN = re.compile(r"([-+]?\d+\.?\d*)[dD]([-+]?\d+)")
_OTHER_BASE = re.compile(r"[-+]?0(?:[oO][0-7]+|[bB][01]+|[xX][0-9a-fA-F]+)")
_FRACTION = re.compile(rf"({DIGITS})\s*/\s*({DIGITS})")
_ONE_SIGN = re.compile("[¼-¾⅐-⅞]")

_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "⋅": "*", "μ": "µ", "⁄": "/", "٫": "."})
_SUPERSCRIPT = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")

LONGEST_DECIMAL = 8  # characters of a fraction that is written as it is, such as 0.125


def in_ascii(text: str) -> str:
    """Return a text with ASCII's digits, signs and spaces in place of those of other alphabets and of typography."""
    text = re.sub("10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"10^{found[1].translate(_SUPERSCRIPT)}", text)
    return "".join(_character_in_ascii(character) for character in text.translate(_SIGNS)).strip()


def _character_in_ascii(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if character.isspace():
        return " "
    if "！" <= character <= "～":  # as wide as Chinese characters
        return unicodedata.normalize("NFKC", character)
    return character


def in_yaml(text: str) -> str | None:
    """Return the number that a text stands for, as a YAML file has it; None if it stands for none.

    A comma separates thousands before three digits, and begins the decimals before any other number of them.
    """
    for notation, convert in _NOTATIONS:
        if match := notation.fullmatch(text):
            return convert(match)
    return None


def plain(number: float) -> str:
    """Return a number as a scenario has it: 20e6 in place of 20000000.0."""
    for exponent in (12, 9, 6):
        mantissa = f"{number / 10**exponent:.12g}"
        if abs(number) >= 10**exponent and float(f"{mantissa}e{exponent}") == number:
            return f"{mantissa}e{exponent}"
    return f"{number:.12g}"


def _first_group(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)


def _quotient(match: re.Match[str]) -> str | None:
    if float(match[2]) == 0:
        return None
    value = float(match[1]) / float(match[2])
    exact = plain(value)
    if len(exact) <= LONGEST_DECIMAL:
        return exact
    return f"{value:.6g}"  # 1/3 has no end


_NOTATIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (NUMBER, lambda match: match[0]),
    (_QUOTED, _first_group),
    (_OF_LIBRARY, _first_group),
    (_BEFORE_COMMENT, lambda match: match[1]),
    (_POWER_OF_TEN, lambda match: f"{match[1] or 1}e{int(match[2])}"),
    (_POWER_OF_TWO, lambda match: str(2 ** int(match[1]))),
    (_FORTRAN, lambda match: f"{match[1]}e{match[2]}"),
    (_OTHER_BASE, lambda match: str(int(match[0], 0))),
    (_ONE_SIGN, lambda match: f"{unicodedata.numeric(match[0]):.6g}"),
    (_FRACTION, _quotient),
    (GROUPED, lambda match: re.sub(r"[ _,'’]", "", match[0])),
    (_GROUPED_BY_POINTS, lambda match: re.sub("[. ]", "", match[0]).replace(",", ".")),
    (DECIMAL_COMMA, lambda match: match[0].replace(",", ".")),
)
