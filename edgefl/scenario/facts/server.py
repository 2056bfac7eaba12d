"""Facts about the server, its rounds, its sessions and its backhaul."""

from edgefl.coordination.selection import SELECTIONS
from edgefl.learning.algorithms import properties
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.scenario.facts.fact import Fact, differs, either, equals, is_false, is_given, is_missing, is_true
from edgefl.scenario.sections import Sections


def _describes_backhaul(scenario: Sections) -> bool:
    star = scenario.server.policy.star_backhaul
    return star is not None and bool(star.rate_bps or star.delay_s)


# The policy

splits_model = is_true("server.policy.splits_model", "the policy splits the model between devices and the server")
rounds_overlap = is_true(
    "server.policy.overlapping", "the policy lets a device be under way when the next round begins"
)
averages_nothing = is_false(
    "server.policy.averages", "the policy lets devices train one model in turn, so that nothing is averaged"
)
has_edge_models = is_true("server.policy.edge_models", "the policy keeps a model at each base station")
app_drives_rounds = is_true("server.policy.exchanges", "the policy leaves the rounds to a program outside the scenario")
rounds_are_unplanned = either(
    "the policy has rounds whose participants do not begin together, or that it cannot plan",
    (averages_nothing, splits_model, rounds_overlap, app_drives_rounds),
)
rounds_train_several_models = either(
    "the policy has rounds where not all participants train one model together",
    (averages_nothing, rounds_overlap, has_edge_models, splits_model),
)
updates_stay_apart = either(
    "the policy does not aggregate the updates of a round together", (has_edge_models, averages_nothing)
)
policy_describes_backhaul = Fact("the policy's own keys describe a backhaul", _describes_backhaul)

# The rest of the section server

has_deadline = is_true("server.policy.has_deadline", "the policy ends rounds at a deadline")
has_no_deadline = is_missing("server.deadline_s", "there is no `server.deadline_s`")
polls = is_true("server.selection.polls", "the selection polls devices before it chooses")
polls_no_device = is_false("server.selection.polls", "the selection polls no device before it chooses")
polls_training = is_true("server.selection.polls_training", "the selection lets devices train before it chooses")
selection_needs_reports = is_true("server.selection.report_floats", "the selection needs a report with each update")
selection_needs_csi = is_true("server.selection.needs_csi", "the selection needs to know channels")
selection_needs_no_csi = is_false("server.selection.needs_csi", "the selection does not need to know channels")
selects_by_power_of_choice = Fact(
    "the selection is `power_of_choice`, which has a variant that asks for reports instead",
    lambda scenario: SELECTIONS.name_of(scenario.server.selection) == "power_of_choice",
)
selection_needs_batteries = is_true("server.selection.needs_batteries", "the selection looks at batteries")
channels_are_known = is_true("server.csi.known", "`server.csi` lets the server know channels")
channels_are_unknown = is_false("server.csi.known", "`server.csi` tells the server nothing about channels")
csi_is_requested = Fact(
    "`server.csi` requests reports from candidates before they are chosen",
    lambda scenario: scenario.server.csi.known and scenario.server.csi.request_bits > 0,
)
optimiser_decides = is_true("server.optimiser.decides", "there is a `server.optimiser`")
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
devices_evaluate = is_given("server.device_evaluation", "devices evaluate new models before rounds end")
departures_complete = equals("server.on_departure", "completes", "devices that depart complete their participation")
departed_lose_state = differs("server.departed_state", "kept", "devices that depart lose their state")
departed_are_forgotten = equals("server.departed_state", "forgotten", "the server, too, forgets devices that depart")

# Churn, sessions, backhaul

churn_is_by_round = is_true("churn.by_round", "the churn draws the present devices for each round number")
no_device_departs = Fact(
    "devices miss rounds, but never depart: by the churn, or as groups that take turns",
    lambda scenario: scenario.churn.by_round and scenario.groups == 1,
)
no_device_arrives = Fact(
    "no device arrives over time", lambda scenario: scenario.churn.always_present or scenario.churn.by_round
)
has_sessions = is_given("sessions", "the run has sessions")
has_several_sessions = is_true("in_sessions.several", "the run has several sessions")
has_trigger = is_given("sessions.trigger", "arrivals of devices end a session")
has_groups = Fact(
    "groups of devices take turns from session to session",
    lambda scenario: scenario.sessions is not None and (scenario.sessions.groups or 1) > 1,
)
groups_take_turns = Fact(
    "groups of devices, those of the partition or of `sessions.groups`, take turns from session to session",
    lambda scenario: scenario.groups > 1,
)
initialisation_adds_loss = Fact(
    "the run has sessions, and the algorithm, or their initial model, adds a loss to the task's",
    lambda scenario: scenario.sessions is not None and properties.has_own_loss(scenario.learning),
)
extra_rounds_keep_state = Fact(
    "the server's state outlives sessions that begin with extra rounds",
    lambda scenario: scenario.sessions is not None and scenario.sessions.keep_state and scenario.sessions.extra > 0,
)
has_backhaul = is_given("backhaul", "there is a section `backhaul`")
