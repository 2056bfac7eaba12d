"""The scenarios of a plan's runs: a base, and the recipe's overrides for each run."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.reproductions.caveats import is_one_of
from edgefl.reproductions.library import Entry
from edgefl.reproductions.plan import Plan, PlannedRun
from edgefl.reproductions.recipe import BASE, Scale, as_tuple
from edgefl.scenario import Scenario, load, shipped
from edgefl.scenario.overlays import read_extended
from edgefl.scenario.overrides import Override, replaced


def scenarios_of(plan: Plan) -> dict[tuple[str, ...], Scenario]:
    """Return the scenario of each run, by the run's key.

    Raises:
        InputError: a scenario is wrong, one line for every fault.
    """
    found: dict[tuple[str, ...], Scenario] = {}
    faults: list[str] = []
    for run in plan.runs:
        try:
            found[run.key] = scenario_of(plan, run)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(*dict.fromkeys(faults))  # without duplicates: points share most of their faults
    return found


def scenario_of(plan: Plan, run: PlannedRun) -> Scenario:
    """Return the scenario of a run.

    Raises:
        InputError: it is wrong, one line for every fault.
    """
    return load(*_settings(plan, run))


def settings_digest(plan: Plan, run: PlannedRun) -> str:
    """Return a digest of the keys that base and recipe give a run, without defaults of other keys.

    It changes with the recipe, and not when a later edgefl has more keys.

    Raises:
        InputError: the base does not exist, or cannot be read.
    """
    base, overrides = _settings(plan, run)
    return _digest([_content(base), [[*override.keys, override.value] for override in overrides]])


def run_digest(plan: Plan, run: PlannedRun) -> str:
    """Return a digest of a run's keys, which is the same whichever recipe, and which of its keys, gives them.

    Raises:
        InputError: the base does not exist, or cannot be read.
    """
    base, overrides = _settings(plan, run)
    merged: Any = _content(base)
    for override in overrides:
        merged = replaced(merged, override.keys, override.value, override.where)
    return _digest(merged)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _content(path: Path) -> dict[str, Any]:
    content, _ = read_extended(path)
    return content


def _settings(plan: Plan, run: PlannedRun) -> tuple[Path, list[Override]]:
    """Return the base of a run, and its overrides, the strongest last."""
    recipe = plan.recipe
    entry = plan.entry
    base = recipe.base
    layers: list[tuple[Mapping[str, Any], tuple[str | int, ...]]] = [(recipe.set, ("set",))]
    for axis, value in run.point.items():
        of_value = dict(recipe.axes[axis][value])
        base = of_value.pop(BASE, base)
        layers.append((of_value, ("axes", axis, value)))
    for number, case in enumerate(recipe.cases):
        if all(is_one_of(run.point[axis], as_tuple(wanted)) for axis, wanted in case.when.items()):
            layers.append((case.set, ("cases", number, "set")))
    layers.append((recipe.scales.get(plan.scale, Scale()).set, ("scales", plan.scale, "set")))
    overrides = []
    for keys, path in layers:
        for key, value in keys.items():
            where = f"{entry.runs_source.name}:{entry.runs_source.line((*path, key))}"
            overrides.append(Override(tuple(key.split(".")), value, where))
    overrides.append(Override(("seed",), run.seed, f"{entry.runs_source.name}:{entry.runs_source.line(('seeds',))}"))
    return _base_file(entry, base), overrides


@cache
def _found(base: str, folder: Path) -> Path:
    """Return the file of a base, as `shipped.find`, which looks at many files."""
    return shipped.find(base, folder)


def _base_file(entry: Entry, base: str | None) -> Path:
    """Return the scenario file that a recipe names as its base."""
    if base is None:
        raise InputError(entry.runs_source.fault(("base",), "is required: some points have none of their own"))
    try:
        path = _found(base, entry.runs_path.parent)
    except InputError as error:
        raise InputError(*(entry.runs_source.fault(("base",), text) for text in error.faults)) from None
    if not path.is_file():
        raise InputError(entry.runs_source.fault(("base",), f"{path} does not exist: name a scenario file"))
    return path
