"""Trials: how long a recipe's runs take on this machine, told by the first rounds of some of them, and kept."""

from __future__ import annotations

import hashlib
import json
import statistics
from pathlib import Path

from edgefl.core.files import read_bytes, write_for_user
from edgefl.core.paths import cache_folder
from edgefl.reproductions.plan import Plan, PlannedRun
from edgefl.reproductions.scenarios import scenario_of

FILE = "reproductions.json"  # in the cache, which belongs to one machine
MOST_TRIED = 3  # runs of a recipe: its algorithms differ in what they cost


def kept_trial_s(plan: Plan) -> float | None:
    """Return how long all runs of a plan take [s], one after the other, by a trial that was made before; or None."""
    run_s = _kept().get(_key(plan))
    if run_s is None:
        return None
    return run_s * len(plan.runs)


def trial_s(plan: Plan) -> float:
    """Try some of a plan's runs, keep the result, and return how long all of them take [s], one after the other.

    Raises:
        InputError: a scenario is wrong, or its data are not here.
        RunError: one of the first rounds fails.
    """
    from edgefl.runs.emulation import Options
    from edgefl.runs.forecast import whole_run_s

    options = Options(train=plan.recipe.train)
    tried = _tried(plan)
    # The first run imports libraries and measures how to train here, which the later ones of a study do not repeat.
    whole_run_s(scenario_of(plan, tried[0]), options)
    run_s = statistics.fmean(whole_run_s(scenario_of(plan, run), options) for run in tried)
    write_for_user(_file(), json.dumps(_kept() | {_key(plan): run_s}, indent=2).encode())
    return run_s * len(plan.runs)


def _tried(plan: Plan) -> list[PlannedRun]:
    """Return the first run, the last one and one between them, of one seed."""
    points = plan.points
    places = {0, len(points) // 2, len(points) - 1}
    return [PlannedRun(points[place], plan.seeds[0]) for place in sorted(places)][:MOST_TRIED]


def _key(plan: Plan) -> str:
    """Return the recipe, its scale, and a digest of its file: an edited recipe is tried again."""
    digest = hashlib.sha256(read_bytes(plan.entry.runs_path)).hexdigest()[:16]
    return f"{plan.entry.runs_of} {plan.scale} {digest}"


def _file() -> Path:
    return cache_folder() / FILE


def _kept() -> dict[str, float]:
    """Return the trials that were made before; none if their file is damaged, as they can be made again."""
    try:
        kept = json.loads(read_bytes(_file()))
        return {str(key): float(value) for key, value in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
