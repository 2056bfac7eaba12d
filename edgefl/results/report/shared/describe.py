"""Names of runs and the keys that differ between their scenarios, as texts for headings and tables."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from edgefl.core.plugin_import import Access
from edgefl.core.section import Section
from edgefl.core.units import HERTZ, NO_NUMBER, as_number, digits, quantity, score
from edgefl.results.report.shared.read import Run
from edgefl.results.scenario_tree import ScenarioTree, at, bare, flatten, leaf_text, with_units

Known = TypeVar("Known", bound=Section)

LONGEST = 60  # characters of a heading or a table cell

__all__ = ["at", "bare", "flatten"]


def known(section: type[Known], value: object) -> Known | None:
    """Return a section of the scenario; None where this version does not know it.

    A page runs no code that a scenario names: members from outside stay unknown.
    """
    try:
        return section.model_validate(value, context={"access": Access(mode="skip")})
    except ValidationError:
        return None


def name(run: Run) -> str:
    """Return the scenario's name."""
    return cut(str(at(run.scenario, "name") or "unnamed"))


def best_model(run: Run) -> str:
    """Return how the best evaluated model was chosen, and its test result; an empty text if the run kept none."""
    best = run.summary.get("best_model")
    if not isinstance(best, Mapping):
        return ""
    chosen_by = str(best.get("chosen_by"))
    tested = "test_accuracy"
    if best.get(tested) is None:
        tested = "test_loss"
    texts = []
    for column in dict.fromkeys([chosen_by, tested]):
        value = as_number(best.get(column))
        if value is None:  # a folder of another version may hold something else
            continue
        shown = digits(value)
        if column.endswith("_accuracy"):
            shown = score(value)
        texts.append(f"{column.replace('_', ' ')} {shown}")
    where = f"round {best.get('round')}"
    if "session" in best:
        where = f"session {best['session']}, {where}"
    return ", ".join([where, *texts])


def differences(scenarios: Sequence[ScenarioTree]) -> dict[str, list[str]]:
    """Return the dotted keys whose values are not the same in all scenarios, with one text for each scenario."""
    flat = [dict(flatten(scenario)) for scenario in scenarios]
    keys = dict.fromkeys(key for values in flat for key in values)  # in the order of the scenarios
    no_value = {NO_NUMBER, "null"}  # a key without a value counts as missing
    differing = {}
    # As texts, since a key may be a number in one scenario and a block in another.
    for key in keys:
        texts = [values.get(key, NO_NUMBER) for values in flat]
        if len(set(texts)) > 1 and not no_value.issuperset(texts):
            differing[key] = readable(key, texts)
    return differing


def shared(scenarios: Sequence[ScenarioTree]) -> ScenarioTree:
    """Return the part of the first scenario that all others have, too: the keys whose values are the same in all."""
    first, *others = scenarios
    return _shared_part(first, others)


def _shared_part(block: ScenarioTree, others: Sequence[Any]) -> ScenarioTree:
    """Return the keys of a block that all others have with the same value, also in blocks inside it."""
    part: dict[str, Any] = {}
    for key, value in block.items():
        values = [other.get(key) if isinstance(other, Mapping) else None for other in others]
        if isinstance(value, Mapping):
            inner = _shared_part(value, values)
            if inner:
                part[key] = inner
        elif all(leaf_text(value) == leaf_text(other) for other in values):
            part[key] = value
    return part


def readable(key: str, texts: Sequence[str]) -> list[str]:
    """Return the values of a key with their unit, unless rounding would make two of them look the same."""
    return [cut(text) for text in with_units(key, texts)]


def facts(scenario: ScenarioTree) -> list[str]:
    """Return the few facts that say what was emulated: the parts of the page's subtitle."""
    learning = [_member(scenario, "algorithm"), _data(scenario), _member(scenario, "model")]
    policy = _policy(scenario)
    if app(scenario):  # it brings all three, and chooses its participants
        learning = [f"Flower app {app(scenario)}"]
        policy = ""
    candidates = [*learning, _devices(scenario), policy, _radio(scenario)]
    if at(scenario, "seed") is not None:
        candidates.append(f"seed {at(scenario, 'seed')}")
    return [cut(fact) for fact in candidates if fact]


def app(scenario: ScenarioTree) -> str:
    """Return the name of the Flower app that drove the run; an empty text for a run of our own."""
    return _text(at(scenario, "server.policy.app"))


def _data(scenario: ScenarioTree) -> str:
    dataset = _text(at(scenario, "data.dataset"))
    partition = _member(scenario, "data.partition")
    if not partition:
        return dataset
    return f"{dataset} ({partition})".strip()


def _devices(scenario: ScenarioTree) -> str:
    """Return how many devices take part: ``10 of 100 devices a round``."""
    count = at(scenario, "devices.count")
    participants = at(scenario, "server.participants")
    if count is None:
        return ""
    devices = f"{quantity(count)} devices"
    if as_number(participants) is None:
        return devices
    return f"{quantity(participants)} of {devices} a round"


def _policy(scenario: ScenarioTree) -> str:
    policy = _member(scenario, "server.policy")
    if policy == "synchronous":
        return ""
    return policy


def _radio(scenario: ScenarioTree) -> str:
    """Return bandwidth and carrier frequency: ``100 MHz at 3.5 GHz``."""
    bandwidth_hz = at(scenario, "radio.bandwidth_hz")
    carrier_hz = at(scenario, "radio.carrier_hz")
    if as_number(bandwidth_hz) is None:
        return ""
    bandwidth = quantity(bandwidth_hz, HERTZ)
    if as_number(carrier_hz) is None:
        return bandwidth
    return f"{bandwidth} at {quantity(carrier_hz, HERTZ)}"


def kind(scenario: ScenarioTree, path: str) -> str:
    """Return the name of the member chosen at a dotted path, written as text or as a ``{kind: ...}`` block."""
    value = at(scenario, path)
    if isinstance(value, Mapping):
        value = value.get("kind")
    return _text(value)


def _member(scenario: ScenarioTree, path: str) -> str:
    """Return a member with its plain numbers; an empty text where its kind is not known."""
    if not kind(scenario, path):
        return ""
    return block(at(scenario, path))


def block(value: Any) -> str:
    """Return a ``{kind: ...}`` block as its kind and its plain numbers: ``dirichlet, alpha 0.3``."""
    if not isinstance(value, Mapping):
        return _text(value)
    parts = [_text(value.get("kind"))]
    for key, inner in value.items():
        if type(inner) in {int, float}:  # not bool, which is an int to isinstance
            parts.append(f"{key} {inner:g}")
    return ", ".join(parts)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value)


def cut(text: str, longest: int = LONGEST) -> str:
    """Return the text, with an ellipsis where it is too long for a heading or a table."""
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"
