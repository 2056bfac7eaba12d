"""Groups of runs that differ only in their seed."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from edgefl.results.labels import labels
from edgefl.results.report.shared.read import Run

SEED_KEYS = ("seed", "targets")  # targets may be relative to a folder, which differs between seeds


class SeedGroup(NamedTuple):
    """Runs that differ only in their seed, and a label that sets them apart from other groups."""

    label: str
    runs: Sequence[Run]
    key_texts: Sequence[str] = ()  # of a point of a sweep: the values of the swept keys


def grouped(runs: Sequence[Run]) -> list[SeedGroup]:
    """Return the groups of runs, in order of their first runs."""
    groups: dict[str, list[Run]] = {}
    # A scenario without its seed, written in one order, is the key: equal texts are equal scenarios.
    for run in runs:
        shared = {key: value for key, value in run.scenario.items() if key not in SEED_KEYS}
        groups.setdefault(json.dumps(shared, sort_keys=True, default=str), []).append(run)
    # A label does not name the seed, as a group has several.
    shared_parts = [
        {key: value for key, value in group[0].scenario.items() if key not in SEED_KEYS} for group in groups.values()
    ]
    return [SeedGroup(label, group) for label, group in zip(labels(shared_parts), groups.values(), strict=True)]
