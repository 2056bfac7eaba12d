"""The keys that a sweep varies, as results show them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

LABEL = "label"  # the key that names a method


def beside_label(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the swept keys of points that are shown: a swept `label` first, without the keys that it determines."""
    keys = list(dict.fromkeys(key for point in points for key in point))
    if LABEL not in keys:
        return keys
    shown = [LABEL]
    for key in keys:
        pairs = {(str(point.get(LABEL)), json.dumps(point.get(key), default=str)) for point in points}
        if key != LABEL and len(pairs) > len({label for label, _ in pairs}):
            shown.append(key)
    return shown
