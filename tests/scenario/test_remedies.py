"""Each remedy of each rule leads to a scenario that is accepted, and never back to one that was refused."""

import json
from collections.abc import Mapping

import pytest
from pydantic import ValidationError
from scenario_features import BASE, FEATURES, Overlay, merged, pairs, singles, write_files

from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.scenario.overrides import replaced
from edgefl.scenario.rules.rule import OUT
from edgefl.scenario.rules.table import RULES
from edgefl.scenario.sections import Sections

FEW_STEPS = 6

UNBROKEN = {
    # Needs a model of other layers, a wrong file, or so many other users that no number of them is drawn
    "server.policy.cut": "cut_is_wrong",
    "radio.propagation": "losses_are_too_few",
    "radio.background": "background_fills_the_band",
    "devices.carbon_g_kwh": "carbon_of_devices_is_wrong",
    "cells.energy.carbon_g_kwh": "carbon_of_base_stations_is_wrong",
    # Another rule comes first for what the package has; these are for members from outside
    "server.departed_state": "this variant of {algorithm} keeps no mean of the devices' states",
    "server.selection": "polls devices for a loss, and devices.dvfs sets their clock for training only",
    "server.csi": "under the policy {policy} a program outside the scenario chooses devices",
}
"""By key: the rules that no two features break."""


class Follower:
    """Follows all remedies of a scenario, whichever is chosen; remembers what has arrived, and what was broken."""

    def __init__(self):
        self.arrived = set()
        self.broken = set()

    def follow(self, scenario: Overlay, sections: Sections, way: tuple[str, ...], seen: tuple[str, ...] = ()) -> None:
        state = json.dumps(scenario, sort_keys=True)
        assert state not in seen, f"goes in a circle: {' -> '.join(way)}"
        if state in self.arrived:
            return
        assert len(way) <= FEW_STEPS, " -> ".join(way)
        for number, rule in enumerate(RULES):
            refusal = rule.refusal(sections)
            if refusal is None:
                continue
            self.broken.add(number)
            assert refusal.remedies or callable(rule.reason), refusal.text
            told = f"{'.'.join(map(str, refusal.path))}: {refusal.text}"
            for changes in refusal.remedies:
                then = changed(scenario, changes)
                self.follow(then, Sections.model_validate(then), (*way, f"{told} [{changes}]"), (*seen, state))
            break
        self.arrived.add(state)


def changed(scenario: Overlay, changes: Mapping[str, object]) -> Overlay:
    """Return a scenario after a remedy."""
    for key, value in changes.items():
        keys = tuple(key.split("."))
        if value == OUT:
            scenario = without(scenario, keys)
        else:
            scenario = replaced(scenario, keys, value, "")
    return scenario


def without(scenario: Overlay, keys: tuple[str, ...]) -> Overlay:
    first, *rest = keys
    if isinstance(scenario, list):
        number = int(first)
        return [*scenario[:number], *scenario[number + 1 :]]
    if not rest:
        return {key: value for key, value in scenario.items() if key != first}
    if not isinstance(scenario.get(first), Mapping | list):
        return scenario
    return {**scenario, first: without(scenario[first], tuple(rest))}


def whole(scenario: Overlay) -> Sections | None:
    """Return the sections of a scenario, if each is valid by itself."""
    try:
        return Sections.model_validate(scenario)
    except ValidationError:
        return None


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.oracle
def test_every_remedy_of_every_pair_of_features_arrives():
    follower = Follower()
    for name, scenario in [*singles(), *pairs()]:
        sections = whole(scenario)
        if sections is not None:
            follower.follow(scenario, sections, (name,))
    unbroken = [rule for number, rule in enumerate(RULES) if number not in follower.broken]
    assert {rule.key: _about(rule) for rule in unbroken} == UNBROKEN


@pytest.mark.parametrize("policy", ["asynchronous", "buffered", {"kind": "deadline", "late": "keep"}])
@pytest.mark.parametrize("decider", ["min_time", "equal_finish"])
def test_fixed_shares_and_rounds_that_overlap_are_named_together(policy, decider):
    scenario = merged(BASE, FEATURES[decider])
    scenario["server"] |= {"policy": policy, "deadline_s": 5.0 if isinstance(policy, dict) else None}
    with pytest.raises(InputError) as caught:
        load(scenario)
    name = policy if isinstance(policy, str) else policy["kind"]
    together = "deadline" if name == "deadline" else "synchronous"
    text = f"{decider} needs shares of the band that hold for the round, and rounds of the policy {name} overlap"
    assert str(caught.value).endswith(f"{text}: leave it out, or set server.policy to {together}")


def _about(rule):
    return rule.reason.__name__ if callable(rule.reason) else rule.reason
