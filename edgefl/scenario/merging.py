"""Merge nested keys: those of a preset or of an extended scenario with the keys that override them."""

from collections.abc import Mapping
from typing import Any

from edgefl.core.per_device import PerDevice

# Keys for one quantity: a key that is given above takes these others away.
SAME_QUANTITY = {"capacity_j": ("capacity_mah", "voltage_v"), "capacity_mah": ("capacity_j",)}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of both, those of `above` where both have them; parts of the same kind are merged in turn.

    Lists, distributions, and parts of another kind are replaced as a whole. A key without a value takes the key away.
    """
    result = dict(below)
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
            continue
        for other in SAME_QUANTITY.get(key, ()):
            result.pop(other, None)
        part = below.get(key)
        if isinstance(part, str):
            part = {"kind": part}  # a member by its name
        if isinstance(part, Mapping) and isinstance(value, Mapping) and _are_alike(part, value):
            result[key] = merged(part, value)
        else:
            result[key] = value
    return result


def _are_alike(below: Mapping[str, Any], above: Mapping[str, Any]) -> bool:
    """Return whether two mappings describe the same kind of part, so that their keys may be merged."""
    if PerDevice.kinds.keys() & {*below, *above}:
        return False  # a distribution is replaced as a whole
    kind = below.get("kind")
    return bool(above.get("kind", kind) == kind)
