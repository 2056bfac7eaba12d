"""The scenario of a run that a Flower app drives: the world's sections, with the app as the policy."""

import logging
from typing import Literal

from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.coordination.server_section import ServerSection
from edgefl.core.errors import InputError
from edgefl.core.words import words_of
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
        app: chooses participants, and decides which of them it waits for.
        operations: whether operations are counted in the app or follow from the world.

    Raises:
        InputError: the scenario has a key that does not go with a Flower app.
    """
    for key in _misfits(scenario, operations):
        raise InputError(f"{key}: does not go with a Flower app: {words_of(__file__, 'misfits.yaml')[key]}")
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


def _misfits(scenario: Scenario, operations: Said) -> list[str]:
    """Return the keys of `misfits.yaml` that the scenario has."""
    server = scenario.server
    training = scenario.training
    unsuitable = {
        "sessions": scenario.sessions is not None,
        "stop": scenario.stop != Stop(),
        # The policy FlowerApp is in the scenario.yaml of an app's results.
        "server.policy": not isinstance(server.policy, (Synchronous, FlowerApp)),
        "server.optimiser": server.optimiser.decides,
        "server.csi": server.csi.known,
        "server.device_evaluation": server.device_evaluation is not None,
        "server.departed_state": server.departed_state != "kept",
        "training.stragglers": training.stragglers is not None,
        "training.variations": bool(training.variations),
        "training.parameter_groups": bool(training.parameter_groups),
        "data.redivide": scenario.data.redivide is not None,
        "data.drift": scenario.data.drift is not None,
        "data.validation_share": scenario.data.validation_share is not None,
        "report.best_model": scenario.report.best_model,
        "report.labels_by_round": bool(scenario.report.labels_by_round),
        "devices.dvfs": scenario.devices.dvfs.needs_deadline,
        "devices.compute": operations == "app"
        and not all(hardware.compute.is_plain for hardware in scenario.devices.made_of),
    }
    return [key for key, holds in unsuitable.items() if holds]
