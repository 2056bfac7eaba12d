"""Trials: the duration of a recipe's runs on this machine, estimated by the first rounds of some of them, and kept."""

import hashlib
import json
import statistics
from pathlib import Path

from edgefl.core.files import read_bytes, write_for_user
from edgefl.core.paths import cache_folder
from edgefl.reproductions.plan import Plan, PlannedRun
from edgefl.reproductions.scenarios import scenario_of

FILE = "reproductions.json"  # in the cache, which belongs to one machine
MOST_TRIED = 3  # runs of a recipe, whose algorithms differ in their cost


def kept_trial_s(plan: Plan) -> float | None:
    """Return the duration of all runs of a plan, one by one [s], by an earlier trial on `auto`; None without one."""
    run_s = _kept().get(_key(plan, "auto"))
    if run_s is None:
        return None
    return run_s * len(plan.runs)


def trial_s(plan: Plan, device: str = "auto") -> float:
    """Try some of a plan's runs, keep the result, and return the duration of all of them, one by one [s].

    Args:
        plan: the recipe at a scale.
        device: where the runs train: auto, cpu, cuda or cuda:i.

    Raises:
        InputError: a scenario is wrong, its data are not here, or there is no such device.
        RunError: one of the first rounds fails.
    """
    from edgefl.runs.emulation import Options
    from edgefl.runs.forecast import whole_run_s

    options = Options(device=device, train=plan.recipe.train)
    tried = _tried(plan)
    # The first run imports libraries and measures how to train here, which later runs do not repeat.
    whole_run_s(scenario_of(plan, tried[0]), options)
    run_s = statistics.fmean(whole_run_s(scenario_of(plan, run), options) for run in tried)
    write_for_user(_file(), json.dumps(_kept() | {_key(plan, device): run_s}, indent=2).encode())
    return run_s * len(plan.runs)


def _tried(plan: Plan) -> list[PlannedRun]:
    """Return the first run, the last one and one between them, of one seed."""
    points = plan.points
    places = {0, len(points) // 2, len(points) - 1}
    return [PlannedRun(points[place], plan.seeds[0]) for place in sorted(places)][:MOST_TRIED]


def _key(plan: Plan, device: str) -> str:
    """Return the recipe, its scale, the device, and a digest of its file, so that an edited recipe is tried again."""
    digest = hashlib.sha256(read_bytes(plan.entry.runs_path)).hexdigest()[:16]
    return f"{plan.entry.runs_of} {plan.scale} {device} {digest}"


def _file() -> Path:
    return cache_folder() / FILE


def _kept() -> dict[str, float]:
    """Return the earlier trials; none if their file is damaged, as they can be repeated."""
    try:
        kept = json.loads(read_bytes(_file()))
        return {str(key): float(value) for key, value in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
