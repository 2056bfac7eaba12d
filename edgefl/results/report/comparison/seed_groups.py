"""Groups of runs that differ only in their seed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from edgefl.results.report.shared import describe
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
    labels = _labels(list(groups.values()))
    return [SeedGroup(label, group) for label, group in zip(labels, groups.values(), strict=True)]


def _labels(groups: Sequence[Sequence[Run]]) -> list[str]:
    """Return the names of the algorithms if these tell all groups apart, else the keys that differ."""
    first_runs = [group[0] for group in groups]
    algorithms = [describe.kind(run.scenario, "algorithm") for run in first_runs]
    rest = [{**run.scenario, "algorithm": None, "seed": None, "targets": None} for run in first_runs]
    other_differences = set(describe.differences(rest)) - describe.KEYS_NOT_IN_LABELS
    all_differ = len(set(algorithms)) == len(groups)
    if len(groups) > 1 and all_differ and not other_differences:
        return algorithms
    # A label does not name the seed, as a group has several.
    seedless = [replace(run, scenario={**run.scenario, "seed": None}) for run in first_runs]
    return [label.removesuffix(" · seed None") for label in describe.labels(seedless)]
