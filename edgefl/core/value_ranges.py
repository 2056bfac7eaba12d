"""Values of a key written as a range: `5e6..100e6`, or `5e6..100e6:16` for sixteen values."""

import re

USUAL_COUNT = 12  # values of a range without a count
MOST_VALUES = 200
GEOMETRIC_RATIO = 10  # of the ends, beyond which the values have equal ratios instead of equal distances
MOST_EXACT = 2**53  # beyond it a float stands for several whole numbers

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(?::\s*(\d{{1,6}})\s*)?")


def is_range(text: str) -> bool:
    """Return whether a text looks like a range."""
    return ".." in text


def values_of_range(text: str) -> list[float | int]:
    """Return the values of a range, ascending, including both ends.

    They have equal ratios if the larger end is more than ten times the smaller one, otherwise equal distances. If both
    ends are whole numbers without point and exponent, all values are whole numbers.

    Raises:
        ValueError: the text is not a range; the message ends a sentence that begins with the text.
    """
    match = _RANGE.fullmatch(text)
    if match is None or "..." in text:
        raise ValueError("must be two numbers such as 5e6..100e6, or 5e6..100e6:16 for sixteen values")
    low = float(match[1])
    high = float(match[2])
    count = int(match[3] or USUAL_COUNT)
    if not low < high:
        raise ValueError("must lead from a smaller number to a larger one")
    if high - low == float("inf"):
        raise ValueError("must have ends that are finite numbers")
    if not 2 <= count <= MOST_VALUES:
        raise ValueError(f"must have 2 to {MOST_VALUES} values, got {count}")
    geometric = low > 0 and high / low > GEOMETRIC_RATIO
    parts = [place / (count - 1) for place in range(1, count - 1)]
    if geometric:
        inner = [low * (high / low) ** part for part in parts]
    else:
        inner = [low + (high - low) * part for part in parts]
    if _is_whole(match[1]) and _is_whole(match[2]):
        inner = [float(round(value)) for value in inner]
    else:
        digits = 4 if geometric else 6  # readable, and still distinct
        inner = [float(f"{value:.{digits}g}") for value in inner]
    values = [low, *inner, high]
    # Rounding may merge values, or move the last one beyond the end.
    distinct = dict.fromkeys(value for value in values if low <= value <= high)
    return [plain(value) for value in distinct]


def plain(value: float) -> float | int:
    """Return a whole number as an integer, which all keys take."""
    if float(value).is_integer() and abs(value) <= MOST_EXACT:
        return int(value)
    return value


def _is_whole(text: str) -> bool:
    return text.lstrip("+-").isdigit()
