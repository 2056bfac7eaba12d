"""Features of scenarios as small overlays over one small scenario: whatever a rule between sections may refuse.

`pairs` puts every two of them together. A test follows the remedies of what is refused, to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

Overlay = Mapping[str, Any]

RECORDED_RATES = "device,time_s,downlink_bps,uplink_bps\n" + "".join(
    f"{device},0,20e6,10e6\n{device},10,30e6,5e6\n" for device in range(10)
)
RECORDED_SNRS = "device,time_s,downlink_snr_db,uplink_snr_db\n" + "".join(
    f"{device},0,20,10\n{device},10,30,5\n" for device in range(10)
)

BASE: Overlay = {"rounds": 5, "devices": {"count": 10}, "server": {"participants": 4}}


FEATURES: dict[str, Overlay] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def write_files(folder: Path) -> None:
    """Write the files that features name into a folder."""
    (folder / "rates.csv").write_text(RECORDED_RATES)
    (folder / "snrs.csv").write_text(RECORDED_SNRS)


def singles() -> Iterator[tuple[str, Overlay]]:
    """Return each feature in the small scenario."""
    for name, overlay in FEATURES.items():
        yield name, merged(BASE, overlay)


def pairs() -> Iterator[tuple[str, Overlay]]:
    """Return each two features that do not claim the same key, together in the small scenario."""
    for (first, one), (second, other) in combinations(FEATURES.items(), 2):
        if not _collide(one, other):
            yield f"{first} + {second}", merged(merged(BASE, one), other)


def merged(below: Overlay, above: Overlay) -> dict[str, Any]:
    """Return `below` overridden by `above`, mapping by mapping; what has a kind is replaced as a whole."""
    result = dict(below)
    for key, value in above.items():
        covered = below.get(key)
        if isinstance(value, Mapping) and isinstance(covered, Mapping) and "kind" not in value:
            result[key] = merged(covered, value)
        else:
            result[key] = value
    return result


def _collide(one: Overlay, other: Overlay) -> bool:
    """Return whether two overlays give a key different values."""
    for key in one.keys() & other.keys():
        left = one[key]
        right = other[key]
        mappings = isinstance(left, Mapping) and isinstance(right, Mapping) and "kind" not in {*left, *right}
        if mappings and _collide(left, right):
            return True
        if not mappings and left != right:
            return True
    return False
