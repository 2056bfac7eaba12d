"""Facts about the server, and about how its rounds, sessions and wires are."""

from __future__ import annotations

from edgefl.coordination.selection import SELECTIONS
from edgefl.learning.algorithms import properties
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.scenario.sections import Sections

# The policy


def splits_model(scenario: Sections) -> bool:
    """Return whether the policy splits the model between devices and the server."""
    return scenario.server.policy.splits_model


def rounds_overlap(scenario: Sections) -> bool:
    """Return whether the policy lets a device be under way when the next round begins."""
    return scenario.server.policy.overlapping


def links_are_direct(scenario: Sections) -> bool:
    """Return whether the policy lets devices send the model to each other."""
    return scenario.server.policy.direct_links


def links_are_relayed(scenario: Sections) -> bool:
    """Return whether the policy lets devices exchange the model with base stations alone."""
    return not scenario.server.policy.direct_links


def averages_nothing(scenario: Sections) -> bool:
    """Return whether the policy lets devices train one model in turn, so that nothing is averaged."""
    return not scenario.server.policy.averages


def has_edge_models(scenario: Sections) -> bool:
    """Return whether the policy gives each base station a model of its own."""
    return scenario.server.policy.edge_models


def app_drives_rounds(scenario: Sections) -> bool:
    """Return whether the policy leaves the rounds to a program outside the scenario."""
    return scenario.server.policy.exchanges


def is_not_all_at_once(scenario: Sections) -> bool:
    """Return whether the policy does not let all participants of a round begin together and wait for each."""
    return not scenario.server.policy.waits_for_all


def trains_one_by_one(scenario: Sections) -> bool:
    """Return whether the policy sends the model from device to device, or splits it."""
    return links_are_direct(scenario) or splits_model(scenario)


def rounds_are_unplanned(scenario: Sections) -> bool:
    """Return whether the policy has rounds whose participants do not begin together, or that it cannot plan."""
    alone = links_are_direct(scenario) or averages_nothing(scenario)
    return alone or splits_model(scenario) or rounds_overlap(scenario) or app_drives_rounds(scenario)


def rounds_train_several_models(scenario: Sections) -> bool:
    """Return whether the policy has rounds in which not all participants train one model together."""
    apart = rounds_overlap(scenario) or has_edge_models(scenario) or splits_model(scenario)
    return averages_nothing(scenario) or apart


def updates_stay_apart(scenario: Sections) -> bool:
    """Return whether the policy does not aggregate the updates of a round together."""
    return has_edge_models(scenario) or averages_nothing(scenario)


def policy_describes_backhaul(scenario: Sections) -> bool:
    """Return whether the policy's own keys describe a backhaul."""
    star = scenario.server.policy.star_backhaul
    return star is not None and bool(star.rate_bps or star.delay_s)


# The rest of the section server


def has_deadline(scenario: Sections) -> bool:
    """Return whether the policy ends rounds at a deadline."""
    return scenario.server.policy.has_deadline


def has_no_deadline(scenario: Sections) -> bool:
    """Return whether there is no `server.deadline_s`."""
    return scenario.server.deadline_s is None


def polls(scenario: Sections) -> bool:
    """Return whether the selection polls devices before it chooses."""
    return scenario.server.selection.polls


def polls_training(scenario: Sections) -> bool:
    """Return whether the selection lets devices train before it chooses."""
    return scenario.server.selection.polls_training


def selection_needs_reports(scenario: Sections) -> bool:
    """Return whether the selection needs a report with each update."""
    return scenario.server.selection.report_floats > 0


def selection_needs_csi(scenario: Sections) -> bool:
    """Return whether the selection needs to know channels."""
    return scenario.server.selection.needs_csi


def selection_needs_no_csi(scenario: Sections) -> bool:
    """Return whether the selection needs to know nothing of channels."""
    return not scenario.server.selection.needs_csi


def selects_by_power_of_choice(scenario: Sections) -> bool:
    """Return whether the selection is `power_of_choice`, of which a variant asks for reports instead."""
    return SELECTIONS.name_of(scenario.server.selection) == "power_of_choice"


def selection_needs_batteries(scenario: Sections) -> bool:
    """Return whether the selection looks at batteries."""
    return scenario.server.selection.needs_batteries


def channels_are_known(scenario: Sections) -> bool:
    """Return whether `server.csi` lets the server know channels."""
    return scenario.server.csi.known


def channels_are_unknown(scenario: Sections) -> bool:
    """Return whether `server.csi` tells the server nothing of channels."""
    return not scenario.server.csi.known


def csi_is_requested(scenario: Sections) -> bool:
    """Return whether `server.csi` has candidates send reports before they are chosen."""
    return scenario.server.csi.known and scenario.server.csi.request_bits > 0


def optimiser_decides(scenario: Sections) -> bool:
    """Return whether there is a `server.optimiser`."""
    return scenario.server.optimiser.decides


def optimiser_needs_shannon(scenario: Sections) -> bool:
    """Return whether the optimiser's equations hold for Shannon's rate alone."""
    return scenario.server.optimiser.decides and scenario.server.optimiser.needs_shannon


def optimiser_weighs_clocks(scenario: Sections) -> bool:
    """Return whether the optimiser weighs a clock's time against its energy, without static power."""
    return scenario.server.optimiser.decides and scenario.server.optimiser.weighs_clocks


def allocation_is_not_the_optimisers(scenario: Sections) -> bool:
    """Return whether `radio.allocation` is not the one beside which the optimiser works."""
    return ALLOCATIONS.name_of(scenario.radio.allocation) != scenario.server.optimiser.allocation


def devices_evaluate(scenario: Sections) -> bool:
    """Return whether devices evaluate new models before rounds end."""
    return scenario.server.device_evaluation is not None


def departures_complete(scenario: Sections) -> bool:
    """Return whether devices that depart complete their part in the round out of sight."""
    return scenario.server.on_departure == "completes"


def departed_lose_state(scenario: Sections) -> bool:
    """Return whether devices that depart lose their state."""
    return scenario.server.departed_state != "kept"


def departed_are_forgotten(scenario: Sections) -> bool:
    """Return whether the server, too, forgets devices that depart."""
    return scenario.server.departed_state == "forgotten"


# Churn, sessions, backhaul


def churn_is_by_round(scenario: Sections) -> bool:
    """Return whether the churn draws by the number of the round who is present."""
    return scenario.churn.by_round


def no_device_departs(scenario: Sections) -> bool:
    """Return whether devices miss rounds, but never depart: by the churn, or as groups that take turns."""
    return scenario.churn.by_round and scenario.groups == 1


def no_device_arrives(scenario: Sections) -> bool:
    """Return whether no device arrives in the course of time."""
    return scenario.churn.always_present or scenario.churn.by_round


def has_sessions(scenario: Sections) -> bool:
    """Return whether the run has sessions."""
    return scenario.sessions is not None


def has_trigger(scenario: Sections) -> bool:
    """Return whether arrivals of devices end a session."""
    return scenario.sessions is not None and scenario.sessions.trigger is not None


def has_groups(scenario: Sections) -> bool:
    """Return whether groups of devices take turns from session to session."""
    return scenario.sessions is not None and (scenario.sessions.groups or 1) > 1


def initialisation_has_own_loss(scenario: Sections) -> bool:
    """Return whether the algorithm, or the initial model of sessions, trains with a loss besides the task's."""
    return properties.has_own_loss(scenario.learning)


def extra_rounds_keep_state(scenario: Sections) -> bool:
    """Return whether the server's state outlives sessions that begin with extra rounds."""
    return scenario.sessions is not None and scenario.sessions.keep_state and scenario.sessions.extra > 0


def has_backhaul(scenario: Sections) -> bool:
    """Return whether there is a section `backhaul`."""
    return scenario.backhaul is not None
