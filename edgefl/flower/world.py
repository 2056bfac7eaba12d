"""The scenario of a run that a Flower app drives: the world's sections, and the app in the place of the policy."""

from __future__ import annotations

import logging
from typing import Literal

from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.coordination.server_section import ServerSection
from edgefl.core.errors import InputError
from edgefl.flower.app_folder import AppFolder
from edgefl.flower.policy import FlowerApp
from edgefl.scenario import Scenario
from edgefl.scenario.sections import Stop

log = logging.getLogger(__name__)

MOST_ROUNDS = 10**9  # nobody knows how many there will be until the app ends

Said = Literal["app", "world"]


def as_world(scenario: Scenario, app: AppFolder, operations: Said) -> Scenario:
    """Return the scenario with an app in the place of policy, selection and number of participants.

    Args:
        scenario: the world.
        app: decides who takes part, and waits for whom it likes.
        operations: who says how much devices compute.

    Raises:
        InputError: the scenario has something that a Flower app has no place for.
    """
    for key, remedy in (*_misfits(scenario), *_uncounted(scenario, operations)):
        raise InputError(f"{key}: does not go with a Flower app: {remedy}")
    asked = scenario.server
    if asked.participants is not None or not isinstance(asked.selection, UniformSelection):
        log.warning("server.participants and server.selection: not used, as the ServerApp decides who takes part")
    policy = FlowerApp(app=app.name, version=app.version, run_config=app.run_config, operations=operations)
    server = ServerSection(policy=policy, selection=UniformSelection(), on_departure=scenario.server.on_departure)
    return scenario.model_copy(update={"server": server, "rounds": MOST_ROUNDS})


def with_rounds(scenario: Scenario, rounds: int) -> Scenario:
    """Return the scenario with the number of rounds that the app has run."""
    return scenario.model_copy(update={"rounds": max(rounds, 1)})


def _misfits(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the keys that a Flower app has no place for, each with what to do instead."""
    found = []
    policy = scenario.server.policy
    labels_by_round = scenario.report.labels_by_round
    if scenario.sessions is not None:
        found.append(("sessions", "give rounds, and let the app divide its own run"))
    if scenario.stop != Stop():
        found.append(("stop", "the app itself decides when it ends: leave it out"))
    if not isinstance(policy, (Synchronous, FlowerApp)):  # the latter in the scenario.yaml of an app's own results
        found.append(("server.policy", "the ServerApp decides who waits for whom: leave it out"))
    found += _choosing(scenario)
    if scenario.server.device_evaluation is not None:
        found.append(("server.device_evaluation", "the ServerApp itself asks nodes to evaluate: leave it out"))
    if scenario.server.departed_state != "kept":
        found.append(("server.departed_state", "a node keeps its context: leave it out"))
    if scenario.training.stragglers is not None:
        found.append(("training.stragglers", "the ClientApp does all of its work: leave it out"))
    for key, value in (("data.redivide", scenario.data.redivide), ("report.labels_by_round", labels_by_round)):
        if value:
            found.append((key, "the app decides what devices train on: leave it out"))
    return [*found, *_misfits_of_the_world(scenario)]


def _misfits_of_the_world(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the keys of devices and radio that a Flower app has no place for."""
    found = []
    if scenario.radio.uplink.receives_sum:
        found.append(("radio.uplink", "the ServerApp gets each message by itself: set it to orthogonal"))
    if scenario.devices.dvfs.needs_deadline:
        found.append(("devices.dvfs", "the app has no deadline that devices know: choose fixed"))
    return found


def _uncounted(scenario: Scenario, operations: Said) -> list[tuple[str, str]]:
    """Return the keys that need operations by kind, where the app's own operations are counted."""
    laws = any(not hardware.compute.is_plain for hardware in scenario.devices.made_of)
    if laws and operations == "app":
        return [("devices.compute", "the app's operations are counted, not their kinds: give --operations world")]
    return []


def _choosing(scenario: Scenario) -> list[tuple[str, str]]:
    """Return the keys of what a server decides, and knows when it does, each with what to do instead."""
    server = scenario.server
    remedy = "the app decides who takes part, and when: leave it out"
    uses = {"server.optimiser": server.optimiser.decides, "server.csi": server.csi.known}
    return [(key, remedy) for key, used in uses.items() if used]
