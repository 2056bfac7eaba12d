"""Runs of one scenario under different seeds, taken together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from edgefl.results.report import describe
from edgefl.results.report.read import Run

APART = ("seed", "targets")  # targets may be relative to a folder, a seed's own


class Group(NamedTuple):
    """Runs that differ in nothing but their seed, and what sets them apart from the others."""

    label: str
    runs: Sequence[Run]


def grouped(runs: Sequence[Run]) -> list[Group]:
    """In order of their first runs."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        rest = {key: value for key, value in run.scenario.items() if key not in APART}
        found.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(run)
    return [Group(label, group) for label, group in zip(_labels(list(found.values())), found.values(), strict=True)]


def _labels(groups: Sequence[Sequence[Run]]) -> list[str]:
    """The algorithms where these say it all, else what sets the scenarios apart."""
    first = [replace(group[0], scenario={**group[0].scenario, "seed": None}) for group in groups]
    algorithms = [describe.kind(run.scenario, "algorithm") for run in first]
    others = describe.differences([{**run.scenario, "algorithm": None, "targets": None} for run in first])
    if len(first) > 1 and len(set(algorithms)) == len(first) and not set(others) - {"name"}:
        return algorithms
    return [label.removesuffix(" · seed None") for label in describe.labels(first)]
