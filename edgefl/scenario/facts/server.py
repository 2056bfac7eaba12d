"""Facts about the server, its rounds, its sessions and its backhaul."""

from edgefl.coordination.selection import SELECTIONS
from edgefl.learning.algorithms import properties
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.sections import Sections


def _describes_backhaul(scenario: Sections) -> bool:
    star = scenario.server.policy.star_backhaul
    return star is not None and bool(star.rate_bps or star.delay_s)


# The policy

splits_model = Fact(
    "the policy splits the model between devices and the server", lambda scenario: scenario.server.policy.splits_model
)
rounds_overlap = Fact(
    "the policy lets a device be under way when the next round begins",
    lambda scenario: scenario.server.policy.overlapping,
)
links_are_direct = Fact(
    "the policy lets devices send the model to each other", lambda scenario: scenario.server.policy.direct_links
)
links_are_relayed = Fact(
    "the policy lets devices exchange the model with base stations only",
    lambda scenario: not scenario.server.policy.direct_links,
)
averages_nothing = Fact(
    "the policy lets devices train one model in turn, so that nothing is averaged",
    lambda scenario: not scenario.server.policy.averages,
)
has_edge_models = Fact(
    "the policy keeps a model at each base station", lambda scenario: scenario.server.policy.edge_models
)
app_drives_rounds = Fact(
    "the policy leaves the rounds to a program outside the scenario", lambda scenario: scenario.server.policy.exchanges
)
is_not_all_at_once = Fact(
    "the policy does not let all participants of a round begin together, or does not wait for all",
    lambda scenario: not scenario.server.policy.waits_for_all,
)
trains_one_by_one = Fact(
    "the policy sends the model from device to device, or splits it",
    lambda scenario: links_are_direct(scenario) or splits_model(scenario),
)
rounds_are_unplanned = Fact(
    "the policy has rounds whose participants do not begin together, or that it cannot plan",
    lambda scenario: any(
        fact(scenario) for fact in (links_are_direct, averages_nothing, splits_model, rounds_overlap, app_drives_rounds)
    ),
)
rounds_train_several_models = Fact(
    "the policy has rounds in which not all participants train one model together",
    lambda scenario: any(fact(scenario) for fact in (averages_nothing, rounds_overlap, has_edge_models, splits_model)),
)
updates_stay_apart = Fact(
    "the policy does not aggregate the updates of a round together",
    lambda scenario: has_edge_models(scenario) or averages_nothing(scenario),
)
policy_describes_backhaul = Fact("the policy's own keys describe a backhaul", _describes_backhaul)

# The rest of the section server

has_deadline = Fact("the policy ends rounds at a deadline", lambda scenario: scenario.server.policy.has_deadline)
has_no_deadline = Fact("there is no `server.deadline_s`", lambda scenario: scenario.server.deadline_s is None)
polls = Fact("the selection polls devices before it chooses", lambda scenario: scenario.server.selection.polls)
batteries_are_modelled = Fact(
    "batteries are modelled: devices talk to base stations only, and none is polled",
    lambda scenario: links_are_relayed(scenario) and not polls(scenario),
)
polls_training = Fact(
    "the selection lets devices train before it chooses", lambda scenario: scenario.server.selection.polls_training
)
selection_needs_reports = Fact(
    "the selection needs a report with each update", lambda scenario: scenario.server.selection.report_floats > 0
)
selection_needs_csi = Fact("the selection needs to know channels", lambda scenario: scenario.server.selection.needs_csi)
selection_needs_no_csi = Fact(
    "the selection does not need to know channels", lambda scenario: not scenario.server.selection.needs_csi
)
selects_by_power_of_choice = Fact(
    "the selection is `power_of_choice`, which has a variant that asks for reports instead",
    lambda scenario: SELECTIONS.name_of(scenario.server.selection) == "power_of_choice",
)
selection_needs_batteries = Fact(
    "the selection looks at batteries", lambda scenario: scenario.server.selection.needs_batteries
)
channels_are_known = Fact("`server.csi` lets the server know channels", lambda scenario: scenario.server.csi.known)
channels_are_unknown = Fact(
    "`server.csi` tells the server nothing about channels", lambda scenario: not scenario.server.csi.known
)
csi_is_requested = Fact(
    "`server.csi` requests reports from candidates before they are chosen",
    lambda scenario: scenario.server.csi.known and scenario.server.csi.request_bits > 0,
)
optimiser_decides = Fact("there is a `server.optimiser`", lambda scenario: scenario.server.optimiser.decides)
optimiser_needs_shannon = Fact(
    "the optimiser's equations hold only for Shannon's rate",
    lambda scenario: scenario.server.optimiser.decides and scenario.server.optimiser.needs_shannon,
)
optimiser_weighs_clocks = Fact(
    "the optimiser weighs a clock's time against its energy, without static power",
    lambda scenario: scenario.server.optimiser.decides and scenario.server.optimiser.weighs_clocks,
)
allocation_is_not_the_optimisers = Fact(
    "`radio.allocation` is not the one that the optimiser needs",
    lambda scenario: ALLOCATIONS.name_of(scenario.radio.allocation) != scenario.server.optimiser.allocation,
)
devices_evaluate = Fact(
    "devices evaluate new models before rounds end", lambda scenario: scenario.server.device_evaluation is not None
)
departures_complete = Fact(
    "devices that depart complete their participation",
    lambda scenario: scenario.server.on_departure == "completes",
)
departed_lose_state = Fact(
    "devices that depart lose their state", lambda scenario: scenario.server.departed_state != "kept"
)
departed_are_forgotten = Fact(
    "the server, too, forgets devices that depart", lambda scenario: scenario.server.departed_state == "forgotten"
)

# Churn, sessions, backhaul

churn_is_by_round = Fact(
    "the churn draws the present devices for each round number", lambda scenario: scenario.churn.by_round
)
no_device_departs = Fact(
    "devices miss rounds, but never depart: by the churn, or as groups that take turns",
    lambda scenario: scenario.churn.by_round and scenario.groups == 1,
)
no_device_arrives = Fact(
    "no device arrives over time", lambda scenario: scenario.churn.always_present or scenario.churn.by_round
)
has_sessions = Fact("the run has sessions", lambda scenario: scenario.sessions is not None)
has_several_sessions = Fact("the run has several sessions", lambda scenario: scenario.in_sessions.several)
has_trigger = Fact(
    "arrivals of devices end a session",
    lambda scenario: scenario.sessions is not None and scenario.sessions.trigger is not None,
)
has_groups = Fact(
    "groups of devices take turns from session to session",
    lambda scenario: scenario.sessions is not None and (scenario.sessions.groups or 1) > 1,
)
groups_take_turns = Fact(
    "groups of devices, those of the partition or of `sessions.groups`, take turns from session to session",
    lambda scenario: scenario.groups > 1,
)
initialisation_has_own_loss = Fact(
    "the algorithm, or the initial model of sessions, adds a loss to the task's",
    lambda scenario: properties.has_own_loss(scenario.learning),
)
extra_rounds_keep_state = Fact(
    "the server's state outlives sessions that begin with extra rounds",
    lambda scenario: scenario.sessions is not None and scenario.sessions.keep_state and scenario.sessions.extra > 0,
)
has_backhaul = Fact("there is a section `backhaul`", lambda scenario: scenario.backhaul is not None)
