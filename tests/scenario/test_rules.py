"""Checks between sections read flags, so that members from outside the package get the same checks."""

import ast
import inspect
from typing import ClassVar

import pytest
from pydantic import ValidationError

from edgefl.coordination.policies import Policy
from edgefl.coordination.selection import Selection
from edgefl.coordination.server_section import ServerSection
from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.scenario import Scenario
from edgefl.scenario.facts import learning, radio, server, world
from edgefl.scenario.facts.fact import Fact
from edgefl.world.devices_section import Devices
from edgefl.world.dvfs import Dvfs


class OwnSplit(Policy):
    """A policy from outside that splits the model."""

    splits_model: ClassVar[bool] = True


class OwnRolling(Policy):
    """A policy from outside without rounds."""

    @property
    def overlapping(self):
        return True


class OwnPolling(Selection):
    """A selection from outside that polls devices."""

    @property
    def polls(self):
        return True


class OwnClock(Dvfs):
    """A clock rule from outside."""


class Momentum(Algorithm):
    """An algorithm from outside that keeps more than a mean."""

    def server_state(self, w):
        return {"w": w, "momentum": 0 * w}


class ProximalFedAvg(FedAvg):
    """FedAvg from outside, with another gradient."""

    def correct(self, gradient, w, local):
        return gradient + 0.1 * (w - local.start)


def fault(**sections):
    with pytest.raises(ValidationError) as caught:
        Scenario(**sections)
    (error,) = caught.value.errors()
    return ".".join(map(str, error["loc"])), error["msg"]


@pytest.mark.parametrize("algorithm", [Momentum(), ProximalFedAvg()])
def test_splitting_policies_need_plain_sgd(algorithm):
    key, text = fault(server=ServerSection(policy=OwnSplit()), algorithm=algorithm)
    assert key == "algorithm"
    assert "plain SGD" in text


def test_rolling_policies_need_shares_that_change():
    key, text = fault(server=ServerSection(policy=OwnRolling()), radio={"sharing": "fixed"})
    assert key == "radio.sharing"
    assert "set it to processor" in text


def test_rolling_policies_choose_such_shares_themselves():
    assert Scenario(server={"policy": OwnRolling()}).radio.sharing == "processor"
    assert Scenario(server={"policy": "buffered"}).radio.sharing == "processor"
    assert Scenario(server={"policy": "synchronous"}).radio.sharing == "fixed"


def test_polls_need_a_fixed_clock():
    key, text = fault(server=ServerSection(selection=OwnPolling()), devices=Devices(dvfs=OwnClock()))
    assert key == "server.selection"
    assert "dvfs" in text


@pytest.mark.parametrize("module", [learning, radio, server, world])
def test_each_fact_has_an_answer(module):
    scenario = Scenario()
    facts = [value for value in vars(module).values() if isinstance(value, Fact)]
    assert facts
    assert {type(fact(scenario)) for fact in facts} == {bool}


@pytest.mark.parametrize("module", [learning, server, world])
def test_no_fact_asks_for_a_class(module):
    calls = [node.func for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
    assert not {call.id for call in calls if isinstance(call, ast.Name)} & {"isinstance", "type"}
