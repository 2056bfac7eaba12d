"""Values of Python and of its libraries as a YAML file would have them: numbers and arrays of NumPy, enums, tuples."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.section import KeyPath, OneOrThousand, dotted, shown

_PLAIN = {str, bool, int, float, type(None), OneOrThousand}
_TIMES = {"m", "M"}  # NumPy's kinds of durations and dates, which it makes mere whole numbers


def as_in_yaml(value: Any, where: str, path: KeyPath = ()) -> Any:
    """Return a value from Python as a YAML file has it; a value that YAML does not have is returned unchanged.

    Mappings, sequences and arrays become dicts and lists, and scalars Python's own: np.int64(5) becomes 5. A float
    stays one, as only its key tells whether 1e3 is meant as a whole number.

    Args:
        value: of a mapping that describes a scenario or a sweep, or that mapping.
        where: begins messages, such as "scenario".
        path: its key there.

    Raises:
        InputError: it is a set, whose order may differ between runs.
    """
    if type(value) in _PLAIN:  # most values
        return value
    if isinstance(value, Enum):
        return as_in_yaml(value.value, where, path)
    if isinstance(value, Mapping):
        return {key: as_in_yaml(item, where, (*path, key)) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        place = ": ".join(filter(None, [where, dotted(path)]))
        raise InputError(f"{place}: must be a list, got the set {shown(value)}, which has no order")
    if _is_array(value):
        return as_in_yaml(value.tolist(), where, path)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [as_in_yaml(item, where, (*path, number)) for number, item in enumerate(value)]
    return _scalar(value)


def _is_array(value: Any) -> bool:
    """Return whether a value is an array of plain numbers or texts, from NumPy, PyTorch, pandas or others."""
    if isinstance(value, type | np.generic) or not (hasattr(value, "tolist") and hasattr(value, "dtype")):
        return False
    return getattr(value.dtype, "kind", "") not in _TIMES and not _has_unit(value)


def _has_unit(value: Any) -> bool:
    """Return whether a value is a quantity, such as astropy's and pint's: its mere number would lose the unit."""
    return hasattr(value, "unit") or hasattr(value, "units")


def _scalar(value: Any) -> Any:
    """Return a number or text in Python's own type; anything else unchanged."""
    if _has_unit(value) or isinstance(value, np.timedelta64):  # which counts as a whole number
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        return float(value)
    return value
