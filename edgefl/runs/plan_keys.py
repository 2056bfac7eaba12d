"""The training plan of a run as keys of its scenario: results name it, and a resumed run keeps it.

Plans differ by rounding, so the scenario.yaml of a result names the plan that was used. Otherwise it would not
reproduce the same bytes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from edgefl.learning.training_engines import AUTO, ENGINES
from edgefl.scenario import Scenario


class PlanKeys(NamedTuple):
    """The keys `training.engine` and `training.width`."""

    engine: str
    width: int | None


def keys_of(scenario: Scenario) -> PlanKeys:
    """Return the keys of a scenario."""
    return PlanKeys(scenario.training.engine, scenario.training.width)


def with_keys(scenario: Scenario, keys: PlanKeys) -> Scenario:
    """Return a scenario with other keys."""
    training = scenario.training.model_copy(update=keys._asdict())
    return scenario.model_copy(update={"training": training})


def keys_of_plan(plan: Mapping[str, Any]) -> PlanKeys:
    """Return the keys that select exactly one plan."""
    fitting = [name for name, row in ENGINES.items() if row.module == plan["engine"] and plan["kernel"] in row.kernels]
    # Of vmap and batched, which prefers gradients by hand, only vmap selects a plan with this kernel.
    engine = min(fitting, key=lambda name: len(ENGINES[name].kernels))
    return PlanKeys(engine, plan["width"] if ENGINES[engine].together else None)


def as_begun(scenario: Scenario, before: Any) -> Scenario:
    """Return a scenario with the plan of an earlier run, if the scenario leaves it open."""
    keys = _named(before)
    if keys is None:
        return scenario
    engine, width = keys_of(scenario)
    fits = engine == AUTO or ENGINES[engine].includes(ENGINES[keys.engine])
    if fits and width in {None, keys.width}:
        return with_keys(scenario, keys)
    return scenario


def _named(before: Any) -> PlanKeys | None:
    """Return the plan that a scenario.yaml names; None without one, as of a run without learning."""
    if not isinstance(before, dict) or not isinstance(before.get("training"), dict):
        return None
    engine = before["training"].get("engine")
    width = before["training"].get("width")
    row = ENGINES.get(engine)
    if row is None or (row.together and not isinstance(width, int)):
        return None
    return PlanKeys(engine, width if row.together else None)
