"""The scenario of a run that a Flower app drives: the world's sections, with the app as the policy."""

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

MOST_ROUNDS = 10**9  # the app decides how many there are

Said = Literal["app", "world"]


def as_world(scenario: Scenario, app: AppFolder, operations: Said) -> Scenario:
    """Return the scenario with an app instead of policy, selection and number of participants.

    Args:
        scenario: the world.
        app: chooses participants, and decides for which of them it waits.
        operations: whether operations are counted in the app or follow from the world.

    Raises:
        InputError: the scenario has a key that does not go with a Flower app.
    """
    for key, remedy in _misfits(scenario, operations):
        raise InputError(f"{key}: does not go with a Flower app: {remedy}")
    asked = scenario.server
    if asked.participants is not None or not isinstance(asked.selection, UniformSelection):
        log.warning("server.participants and server.selection: not used, as the ServerApp decides who takes part")
    groups = [group.model_copy(update={"memory_bytes": None}) for group in scenario.devices.groups]
    # Only the app knows what its ClientApp needs.
    devices = scenario.devices.model_copy(update={"memory_bytes": None, "groups": tuple(groups)})
    policy = FlowerApp(app=app.name, version=app.version, run_config=app.run_config, operations=operations)
    server = ServerSection(policy=policy, selection=UniformSelection(), on_departure=scenario.server.on_departure)
    return scenario.model_copy(update={"devices": devices, "server": server, "rounds": MOST_ROUNDS})


def with_rounds(scenario: Scenario, rounds: int) -> Scenario:
    """Return the scenario with the number of rounds that the app has run."""
    return scenario.model_copy(update={"rounds": max(rounds, 1)})


def _misfits(scenario: Scenario, operations: Said) -> list[tuple[str, str]]:
    server = scenario.server
    training = scenario.training
    is_plain = all(hardware.compute.is_plain for hardware in scenario.devices.made_of)
    # The policy FlowerApp is in the scenario.yaml of an app's results.
    other_policy = not isinstance(server.policy, (Synchronous, FlowerApp))
    choosing = "the app chooses participants: leave it out"
    optimising = "the ClientApp decides how it trains: leave it out"
    dividing = "the app decides what devices train on: leave it out"
    unsuitable = (
        (scenario.sessions is not None, "sessions", "give rounds, and let the app divide its run"),
        (scenario.stop != Stop(), "stop", "the app decides when it ends: leave it out"),
        (other_policy, "server.policy", "the ServerApp decides when rounds begin and end: leave it out"),
        (server.optimiser.decides, "server.optimiser", choosing),
        (server.csi.known, "server.csi", choosing),
        (
            server.device_evaluation is not None,
            "server.device_evaluation",
            "the ServerApp asks nodes to evaluate: leave it out",
        ),
        (server.departed_state != "kept", "server.departed_state", "a node keeps its context: leave it out"),
        (training.stragglers is not None, "training.stragglers", "the ClientApp does all of its work: leave it out"),
        (bool(training.variations), "training.variations", optimising),
        (bool(training.parameter_groups), "training.parameter_groups", optimising),
        (scenario.data.redivide is not None, "data.redivide", dividing),
        (scenario.data.drift is not None, "data.drift", dividing),
        (scenario.data.validation_share is not None, "data.validation_share", "the app validates: leave it out"),
        (scenario.report.best_model, "report.best_model", "the app holds the model: leave it out"),
        (bool(scenario.report.labels_by_round), "report.labels_by_round", dividing),
        (
            scenario.devices.dvfs.needs_deadline,
            "devices.dvfs",
            "the app has no deadline that devices know: set it to fixed",
        ),
        (
            operations == "app" and not is_plain,
            "devices.compute",
            "the app's operations are counted, not their kinds: give --operations world",
        ),
    )
    return [(key, remedy) for holds, key, remedy in unsuitable if holds]
