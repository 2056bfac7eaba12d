"""The distributions that people write, such as uniform(1e9, 2e9) and {min: 1e9, max: 2e9}, as a scenario has them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from edgefl.scenario.written_numbers import DIGITS, plain

DISTRIBUTIONS = {"uniform", "normal", "lognormal"}  # of two numbers
_NAMES = {
    "uniform": "uniform",
    "u": "uniform",
    "unif": "uniform",
    "randint": "uniform",
    "normal": "normal",
    "n": "normal",
    "norm": "normal",
    "gauss": "normal",
    "gaussian": "normal",
    "lognormal": "lognormal",
    "lognorm": "lognormal",
}
_KEYS = (
    ("uniform", ("min", "max")),
    ("uniform", ("low", "high")),
    ("uniform", ("lower", "upper")),
    ("uniform", ("a", "b")),
    ("uniform", ("from", "to")),
    ("normal", ("mean", "std")),
    ("normal", ("mean", "stddev")),
    ("normal", ("mean", "sigma")),
    ("normal", ("mu", "sigma")),
)
_NAMING = ("dist", "distribution", "type", "kind", "name")  # keys whose value is the name of a distribution
# Of NumPy and Python, too: np.random.uniform(1, 2)
_CALL = re.compile(rf"(?:\w+\.)*(\w+) ?[(\[] ?(?:\w+ ?= ?)?({DIGITS}) ?[,;] ?(?:\w+ ?= ?)?({DIGITS}) ?[)\]]")
_BETWEEN = re.compile(rf"({DIGITS})\s*(?:-|–|\.\.|to)\s*({DIGITS})")


def as_distribution(value: Any, name: str = "") -> str | None:
    """Return a distribution in another form as a scenario has it, such as {uniform: [1, 2]}; None if it is unclear.

    Args:
        value: a text, list or mapping.
        name: that of the distribution whose numbers `value` holds; "" if `value` has it, or is a range.
    """
    if isinstance(value, str):
        return _of_text(value.strip())
    if isinstance(value, Mapping):
        return _of_mapping(value, name)
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return _written(name or "uniform", value) if is_pair else None


def _of_text(text: str) -> str | None:
    if match := _BETWEEN.fullmatch(text):
        return _written("uniform", [float(match[1]), float(match[2])])
    match = _CALL.fullmatch(text)
    if match is None or match[1].lower() not in _NAMES:
        return None
    return _written(_NAMES[match[1].lower()], [float(match[2]), float(match[3])])


def _of_mapping(value: Mapping[Any, Any], name: str) -> str | None:
    keys = {str(key).lower(): item for key, item in value.items()}
    for key in _NAMING:
        if str(keys.get(key, "")).lower() in _NAMES:
            name = _NAMES[str(keys.pop(key)).lower()]
            break
    for of_keys, pair in _KEYS:
        suits = not name or (name == "uniform") == (of_keys == "uniform")
        if suits and set(keys) == set(pair):
            return _written(name or of_keys, [keys[key] for key in pair])
    if len(keys) == 1 and not name:  # {gaussian: [5, 1]}
        ((key, inner),) = keys.items()
        return as_distribution(inner, _NAMES[key]) if key in _NAMES and not isinstance(inner, str) else None
    return None


def _written(name: str, numbers: Sequence[Any]) -> str | None:
    """Return a distribution of two numbers as YAML has it; None if they are none."""
    if not all(type(number) in {int, float} for number in numbers):
        return None
    if name == "uniform":
        numbers = sorted(numbers)
    text = f"{{{name}: [{', '.join(plain(number) for number in numbers)}]}}"
    if name == "uniform":
        return text
    return f"{text}, where the second number is the standard deviation{' of the logarithm' * (name == 'lognormal')}"
