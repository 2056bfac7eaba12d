"""What no section of a scenario can see by itself: checks between sections, which raise the fault that they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgefl.coordination.policies import POLICIES
from edgefl.core.distributions import HEIGHT_M
from edgefl.core.section import fault_at
from edgefl.learning.algorithms import ALGORITHMS, Algorithm
from edgefl.world.churn import CHURN
from edgefl.world.dvfs import DVFS
from edgefl.world.mobility import Area

if TYPE_CHECKING:
    from edgefl.scenario.schema import Scenario


def check(scenario: Scenario) -> None:
    """All of them.

    Raises:
        ValidationError: of the first section that does not go with another.
    """
    for each in CHECKS:
        each(scenario)


def _in_two(scenario: Scenario) -> None:
    """What training a model in two halves asks of other sections."""
    policy = scenario.server.policy
    if not policy.splits_model:
        return
    if reason := scenario.model.check_cut(policy.cut_layer):
        raise fault_at(("server", "policy", "cut"), reason)
    if not (scenario.algorithm.trains_by_plain_sgd() and scenario.algorithm.only_averages()):
        raise fault_at(("algorithm",), "the policy split trains by nothing but SGD: set it to fedavg")
    if scenario.model.cost is not None:
        raise fault_at(("model", "cost"), "the policy split prices a model's halves by counting them: leave it out")
    if scenario.training.codec.compresses:
        raise fault_at(("training", "codec"), "the policy split uploads no move of the model: leave it out")
    if scenario.radio.downlink == "broadcast":
        raise fault_at(("radio", "downlink"), "with the policy split each device gets other gradients: set unicast")


def _feasible(scenario: Scenario) -> None:
    """Whether there are the devices, the rounds and the learning rate that sections ask for."""
    count, participants = scenario.devices.count, scenario.server.participants
    if participants is not None and participants > count:
        raise fault_at(("server", "participants"), f"must be <= devices.count = {count}, got {participants}")
    policy = scenario.server.policy
    if policy.overlapping and scenario.radio.downlink == "broadcast":
        raise fault_at(("radio", "downlink"), "with this server.policy nobody waits for a broadcast: set unicast")
    if policy.overlapping and scenario.radio.sharing == "fixed":
        text = "shares that hold for a round need rounds; with this server.policy set it to processor"
        raise fault_at(("radio", "sharing"), text)
    if policy.overlapping and scenario.churn.by_round:
        text = f"{CHURN.name_of(scenario.churn)} needs rounds; with this server.policy set it to none"
        raise fault_at(("churn",), text)
    if reason := scenario.churn.check(count):
        raise fault_at(("churn",), reason)
    if not scenario.training.lr and scenario.algorithm.divides_by_lr():
        text = f"{ALGORITHMS.name_of(scenario.algorithm)} divides moves by it: set it above 0"
        raise fault_at(("training", "lr"), text)
    if reason := scenario.algorithm.check(count):
        raise fault_at(("algorithm",), reason)
    if reason := scenario.server.selection.check(count, scenario.participants):
        raise fault_at(("server", "selection"), reason)


def _in_the_cell(scenario: Scenario) -> None:
    """Whether devices can move there as they should, and path losses hold wherever they come."""
    cells, radio = scenario.cells, scenario.radio
    if reason := scenario.mobility.check(Area(cells.min_distance_m, cells.coverage_m)):
        raise fault_at(("mobility",), reason)
    reach = cells.nearest_m if scenario.mobility.keeps_min_distance else 0.0, cells.farthest_m
    lowest, highest = scenario.devices.span("height_m")
    heights_m = max(lowest, HEIGHT_M.least), min(highest, HEIGHT_M.most)  # a device that draws more is refused
    if reason := radio.propagation.check(*reach, radio.carrier_hz, cells.bs_height_m, heights_m):
        raise fault_at(("radio", "propagation"), reason)
    if reason := cells.check_reuse(radio.reuse):
        raise fault_at(("radio", "reuse"), reason)


def _handed_over(scenario: Scenario) -> None:
    """What devices that change cells during their parts ask of other sections."""
    policy = scenario.server.policy
    if scenario.cells.handover is None:
        return
    if policy.splits_model or policy.direct_links:
        what = "the policy split" if policy.splits_model else "links from device to device"
        raise fault_at(("cells", "handover"), f"there is none with {what}: leave it out")
    if not scenario.radio.spatial_consistency:
        text = "cells.handover needs what a device receives to be a function of its place: set it to true"
        raise fault_at(("radio", "spatial_consistency"), text)
    if scenario.radio.sharing == "fixed":
        text = "shares that hold for a round need devices that stay in their cells; with cells.handover: processor"
        raise fault_at(("radio", "sharing"), text)


def _powered(scenario: Scenario) -> None:
    """What clocks and batteries ask of other sections."""
    devices, server = scenario.devices, scenario.server
    if devices.dvfs.needs_deadline and server.deadline_s is None:
        text = "needs server.deadline_s: set server.policy to deadline, or this to fixed"
        raise fault_at(("devices", "dvfs"), f"{DVFS.name_of(devices.dvfs)} {text}")
    if devices.dvfs.needs_deadline and server.selection.polls:
        raise fault_at(("devices", "dvfs"), "the selection polls devices before the deadline runs: set it to fixed")
    if devices.has_batteries and server.policy.direct_links:
        text = "over direct links a device receives before its part begins: leave it out, or set links to relayed"
        raise fault_at(("devices", "battery"), text)
    if devices.has_batteries and server.selection.polls:
        text = "the selection polls devices, and those that are not chosen have waited for nothing in the books"
        raise fault_at(("devices", "battery"), f"{text}: leave it out, or take another selection")


def _updates_apart(scenario: Scenario) -> None:
    """Policies under which a round's updates do not all meet: models walk, or base stations have their own."""
    algorithm, policy, name = scenario.algorithm, scenario.server.policy, POLICIES.name_of(scenario.server.policy)
    if not policy.averages and not _walks(algorithm):
        text = f"the policy {name} averages nothing: set it to {ALGORITHMS.those(_walks)}"
        raise fault_at(("algorithm",), f"{text}, without availability or mode wait")
    if policy.edge_models and not algorithm.divisible():
        text = f"under the policy {name} each base station keeps a model and nothing else"
        text = f"{text}: set it to {ALGORITHMS.those(Algorithm.divisible)}"
        raise fault_at(("algorithm",), f"{text}, without availability, mode wait or server momentum")
    if scenario.report.contributions and (policy.edge_models or not policy.averages):
        text = f"under the policy {name} a round's updates do not meet: leave it out"
        raise fault_at(("report", "contributions"), text)


def _passed_on(scenario: Scenario) -> None:
    """What direct links, over which devices pass the model on, ask of local training."""
    training = scenario.training
    if not scenario.server.policy.direct_links:
        return
    if training.stragglers and not training.stragglers.keep:
        text = "over direct links a device's work cannot be dropped after it was passed on: leave it out"
        raise fault_at(("training", "stragglers", "keep"), f"{text}, or set links to relayed")
    if training.codec.compresses:
        text = "compresses the move from a model that the next device does not have: leave it out"
        raise fault_at(("training", "codec"), f"{text}, or set links to relayed")


def _stored(scenario: Scenario) -> None:
    """What asks for, or is asked by, updates that server or devices keep."""
    algorithm, codec, wanted = scenario.algorithm, scenario.training.codec, scenario.report.contributions
    if wanted and wanted.players == "all" and not algorithm.keeps_updates():
        text = "all needs an algorithm whose server keeps each device's last update: fedar, fedvarp, mifa"
        raise fault_at(("report", "contributions", "players"), f"{text} with state server")
    lossy = codec.compresses and not codec.error_feedback
    if lossy and algorithm.uploads_changes():
        text = "devices keep what they have computed, and the server adds up what the codec leaves of it"
        raise fault_at(("algorithm", "state"), f"{text}: set it to server, or training.codec.error_feedback to true")


def _departed(scenario: Scenario) -> None:
    """What asks that devices that have left lose what they kept."""
    server, algorithm, where = scenario.server, scenario.algorithm, ("server", "departed_state")
    if server.departed_state == "kept":
        return
    if server.on_departure == "completes":
        raise fault_at(where, "who completes its part out of sight has lost nothing: set it to kept")
    if scenario.churn.by_round and scenario.groups == 1:
        name = CHURN.name_of(scenario.churn)
        raise fault_at(where, f"with the churn {name} devices miss rounds, and none departs: set it to kept")
    if server.departed_state == "lost":
        return
    if not algorithm.forgets():
        text = f"{ALGORITHMS.name_of(algorithm)}'s variant has no mean of what devices keep"
        raise fault_at(where, f"{text}: set it to lost")
    if algorithm.coupled() and scenario.training.codec.compresses:
        raise fault_at(where, "the server does not know what the codec has lost of a device's: set it to lost")


def _in_turn(scenario: Scenario) -> None:
    """What sessions ask of other sections."""
    if scenario.sessions is None:
        return
    policy, name = scenario.server.policy, POLICIES.name_of(scenario.server.policy)
    if policy.overlapping or policy.edge_models:
        text = "one global model" if policy.edge_models else "rounds that do not overlap"
        raise fault_at(("sessions",), f"need {text}, which the policy {name} does not have: leave them out")
    if policy.splits_model and scenario.learning.has_own_loss():
        text = "the policy split trains by nothing but the task's loss: take another"
        raise fault_at(("sessions", "initialisation"), text)
    if scenario.sessions.trigger and (scenario.churn.always_present or scenario.churn.by_round):
        text = f"waits for devices that arrive, and with the churn {CHURN.name_of(scenario.churn)} none does"
        raise fault_at(("sessions", "trigger"), f"{text}: set that to coverage where movement brings them, or another")
    if scenario.sessions.trigger and (scenario.sessions.groups or 1) > 1:
        text = "take turns, but a trigger leaves it to churn who comes: leave it out"
        raise fault_at(("sessions", "groups"), text)
    if scenario.groups > scenario.devices.count:
        text = f"must be <= devices.count = {scenario.devices.count}, got {scenario.groups}"
        raise fault_at(("sessions", "groups"), text)
    if scenario.sessions.first_group > scenario.groups:
        text = f"must be <= {scenario.groups}, the groups that there are, got {scenario.sessions.first_group}"
        raise fault_at(("sessions", "first_group"), text)


def _remembered(scenario: Scenario) -> None:
    """What sessions ask of an algorithm's memory."""
    if scenario.sessions is None:
        return
    if misfit := scenario.algorithm.check_sessions(scenario.groups):
        key, reason = misfit
        raise fault_at(("algorithm", key), reason)
    if scenario.sessions.keep_state and scenario.sessions.extra and scenario.algorithm.coupled():
        text = f"gradient rounds would move what devices keep for {ALGORITHMS.name_of(scenario.algorithm)}"
        raise fault_at(("sessions", "keep_state"), f"{text}, but not the server's sums of it: leave it out")


def _polled(scenario: Scenario) -> None:
    """What selections that ask devices for something need of other sections."""
    selection, policy, name = (
        scenario.server.selection,
        scenario.server.policy,
        POLICIES.name_of(scenario.server.policy),
    )
    if selection.needs_batteries and not scenario.devices.has_batteries:
        text = "no device has a battery: set devices.battery, or by to energy"
        raise fault_at(("server", "selection", "by"), text)
    if selection.polls and scenario.devices.dvfs.scales_clock:
        text = "asks devices to compute a loss, too, and dvfs sets their clock for the training: leave one out"
        raise fault_at(("server", "selection"), text)
    if selection.report_floats and policy.splits_model:
        raise fault_at(("server", "selection"), "needs a report with each update, which the policy split has not")
    if selection.polls and (policy.overlapping or policy.edge_models or not policy.averages or policy.splits_model):
        text = f"polls devices before rounds in which all train one model; the policy {name} has none"
        raise fault_at(("server", "selection"), f"{text}: set the variant to rpow-d")


def _wired(scenario: Scenario) -> None:
    """Whether the backhaul reaches all base stations, and what crosses it."""
    if scenario.backhaul is None:
        return
    if reason := scenario.backhaul.check(scenario.cells.sites):
        raise fault_at(("backhaul",), reason)
    policy, name = scenario.server.policy, POLICIES.name_of(scenario.server.policy)
    if policy.direct_links or policy.splits_model:
        raise fault_at(("backhaul",), f"is not modelled under the policy {name}: leave it out")
    if policy.star_backhaul and any(policy.star_backhaul):
        raise fault_at(("server", "policy"), "has a backhaul of its own beside the section backhaul: leave one out")


def _walks(algorithm: Algorithm) -> bool:
    """Whether it needs nothing of an aggregation but the last device's model."""
    return algorithm.only_averages() and algorithm.divisible()


CHECKS = (
    _in_two,
    _feasible,
    _in_the_cell,
    _handed_over,
    _powered,
    _updates_apart,
    _passed_on,
    _stored,
    _departed,
    _in_turn,
    _remembered,
    _polled,
    _wired,
)
