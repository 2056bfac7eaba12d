"""Features of scenarios that exclude others, and how to do without each of them."""

from edgefl.scenario.facts import learning, radio, server, world
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.rules.rule import OUT, Feature, Remedy, leave_out, set_to

# Remedies of several features

# A policy with a deadline keeps it: other sections may depend on it.
ROUNDS_TOGETHER = (
    set_to("server.policy", "synchronous", offered=server.has_no_deadline),
    set_to("server.policy", "deadline", offered=server.has_deadline),
)
"""Let all participants of a round begin together, and train one model."""

NO_CSI = (
    leave_out("server.csi", offered=server.selection_needs_no_csi),
    Remedy({"server.csi": OUT, "server.selection": OUT}, offered=server.selection_needs_csi),
)
"""Let the server know nothing about channels; rules about other features that need them come first."""

BATTERY = set_to("devices.battery", {"capacity_j": 1000.0}, "set devices.battery", offered=server.polls_no_device)
NO_OVERLAP = set_to("radio.uplink", "orthogonal")
HELD_CHANNEL = set_to("radio.large_scale", "round")
NO_SELECTION = leave_out("server.selection")

# The policy, its rounds and its models

SPLIT = Feature("server.policy", server.splits_model, ROUNDS_TOGETHER)
OVERLAPPING_ROUNDS = Feature("server.policy", server.rounds_overlap, ROUNDS_TOGETHER)
UNPLANNED_ROUNDS = Feature("server.policy", server.rounds_are_unplanned, ROUNDS_TOGETHER)
SEVERAL_MODELS = Feature("server.policy", server.rounds_train_several_models, ROUNDS_TOGETHER)
UPDATES_APART = Feature("server.policy", server.updates_stay_apart, ROUNDS_TOGETHER)
MODELS_IN_TURN = Feature("server.policy", server.averages_nothing, ROUNDS_TOGETHER)
EDGE_MODELS = Feature("server.policy", server.has_edge_models, ROUNDS_TOGETHER)
APP = Feature("server.policy", server.app_drives_rounds, ())
POLICY_BACKHAUL = Feature(
    "server.policy", server.policy_describes_backhaul, to="{policy}", said="leave its own keys out"
)
BACKHAUL = Feature("backhaul", server.has_backhaul)
DEVICE_EVALUATION = Feature("server.device_evaluation", server.devices_evaluate)
NO_DEADLINE = Feature(
    "server.deadline_s",
    server.has_no_deadline,
    (
        Remedy(
            {"server.policy": "deadline", "server.deadline_s": 10.0},
            "set server.policy to deadline and give server.deadline_s",
        ),
    ),
)

# Selections, channels that the server knows, and what decides by them

POLLS = Feature("server.selection", server.polls)
TRAINING_POLLS = Feature("server.selection", server.polls_training)
MODEL_POLLS = Feature(
    "server.selection",
    server.polls,
    (NO_SELECTION, set_to("server.selection.variant", "rpow-d", offered=server.selects_by_power_of_choice)),
)
UPDATE_REPORTS = Feature("server.selection", server.selection_needs_reports)
BATTERY_SELECTION = Feature("server.selection.by", server.selection_needs_batteries, to="energy")
CSI = Feature("server.csi", server.channels_are_known, NO_CSI)
CSI_REQUESTS = Feature(
    "server.csi", server.csi_is_requested, (set_to("server.csi", "last"), set_to("server.csi.report_bits", 0))
)
UNKNOWN_CHANNELS = Feature(
    "server.csi", server.channels_are_unknown, to="perfect", said="set it to perfect, mean or last"
)
OPTIMISER = Feature("server.optimiser", server.optimiser_decides)
SHANNON_OPTIMISER = Feature("server.optimiser", server.optimiser_needs_shannon)
CLOCK_OPTIMISER = Feature("server.optimiser", server.optimiser_weighs_clocks)
OTHER_ALLOCATION = Feature("radio.allocation", server.allocation_is_not_the_optimisers, to="{optimisers_allocation}")
FORECASTING_ALLOCATION = Feature("radio.allocation", radio.allocates_by_forecast)
PLACES = Feature("radio.allocation", radio.allocates_places)

# The band, its shares and the channel

FIXED_SHARES = Feature("radio.sharing", radio.shares_are_fixed, to="processor")
FIXED_BAND_SHARES = Feature("radio.sharing", radio.shares_of_a_band_are_fixed, to="processor")
CHANGING_SHARES = Feature("radio.sharing", radio.shares_change, to="fixed")
TURNS = Feature("radio.allocation", radio.allocates_in_time)
SNR_ALLOCATION = Feature(
    "radio.allocation", radio.allocates_by_snr, to="equal", said="set it to equal, proportional or round_robin"
)
RESOURCE_BLOCKS = Feature("radio.subcarrier_spacing_hz", radio.has_resource_blocks)
BROADCAST = Feature("radio.downlink", radio.is_broadcast, to="unicast")
OTHER_RATE = Feature("radio.rate", radio.rate_is_not_shannons, to="shannon")
BACKGROUND = Feature("radio.background", radio.has_background)
VARYING_BACKGROUND = Feature("radio.background", radio.background_varies)
RECORDED_LINKS = Feature("radio.trace", radio.links_are_recorded)
CHANGING_CHANNEL = Feature("radio.large_scale", radio.channel_changes_in_time, (HELD_CHANNEL,))
CHANGING_INTERFERENCE = Feature("radio.large_scale", radio.interference_changes_in_time, (HELD_CHANNEL,))
CHANGING_OVERLAP = Feature("radio.large_scale", radio.overlap_changes_in_time, (HELD_CHANNEL,))
NO_MAPS = Feature("radio.spatial_consistency", radio.has_no_maps, to=True)
OVERLAPPING_UPLOADS = Feature("radio.uplink", radio.uploads_overlap, (NO_OVERLAP,))

# Devices and cells

CLOCK_RULE = Feature("devices.dvfs", world.clocks_are_scaled, to="fixed")
DEADLINE_CLOCKS = Feature("devices.dvfs", world.clocks_follow_deadline, to="fixed")
POWER_CONTROL = Feature("devices.power_control", world.powers_are_controlled, to="full")
STATIC_POWER = Feature("devices.cpu_static_w", world.processors_draw_static_power, to=0)
POWER_POINTS = Feature("devices.power_points", world.powers_were_measured)
PLAIN_COMPUTING = set_to("devices.compute", None, "set it to null")
COMPUTE_LAW = Feature("devices.compute", world.computing_has_a_law, (PLAIN_COMPUTING,))
HEAT = Feature("devices.compute", world.processors_get_hot, (PLAIN_COMPUTING,))
TAILS = Feature("devices.radio_energy", world.has_tails)
BATTERIES = Feature("devices.battery", world.has_batteries)
NO_BATTERIES = Feature("devices.battery", world.has_no_batteries, (BATTERY,))
DEPLETION = Feature("stop.depleted", world.ends_with_batteries)
HEXAGONS = Feature("cells.drop", world.cells_are_hexagons, to="disc")
LEFT_HEXAGONS = Feature("mobility", world.mobility_leaves_hexagons, to="static")
HANDOVER = Feature("cells.handover", world.hands_over)
CELL_ENERGY = Feature("cells.energy", world.accounts_for_base_stations)
ANTENNAS = Feature(
    "cells.antenna",
    world.antennas_are_directional,
    (
        leave_out("cells.antenna", offered=world.has_no_sectors),
        Remedy({"cells.antenna": OUT, "cells.sectors": OUT}, offered=world.has_sectors),
    ),
)
ROUND_CHURN = Feature("churn", server.churn_is_by_round, to="none")
LOST_STATE = Feature("server.departed_state", server.departed_lose_state, to="kept")
FORGOTTEN_STATE = Feature("server.departed_state", server.departed_are_forgotten, to="lost")
COMPLETED_DEPARTURE = Feature("server.on_departure", server.departures_complete, to="lost")
NO_DEPARTURE = Feature("churn", server.no_device_departs, ())

# The algorithm: each of these variants ends with plain averaging


def _algorithm(fact: Fact, said: str = "") -> Feature:
    return Feature("algorithm", fact, to="fedavg", said=said)


MORE_THAN_SGD = _algorithm(learning.trains_by_more_than_plain_sgd)
MORE_THAN_LAST_MODEL = _algorithm(
    learning.needs_more_than_last_model,
    "set it to {last_model_algorithms}, without availability or mode wait",
)
INDIVISIBLE = _algorithm(
    learning.is_indivisible,
    "set it to {divisible_algorithms}, without availability, mode wait or server momentum",
)
WEIGHED_STEPS = _algorithm(learning.weighs_steps)
WEIGHED_RATES = _algorithm(learning.weighs_rates)
WHOLE_MODEL_LOSS = _algorithm(learning.needs_whole_model)
DEVICE_STATES = _algorithm(learning.keeps_for_each_device)
STATES_AT_DEVICES = _algorithm(learning.keeps_at_devices)
NO_MOVES = _algorithm(learning.uploads_no_move)
DIVISION_BY_RATE = _algorithm(learning.divides_by_rate)
COUPLED_STATES = _algorithm(learning.is_coupled)
NO_FORGETTING = _algorithm(learning.cannot_forget)

# The model, training and data

MODEL_COST = Feature("model.cost", learning.cost_is_given)
ADAPTERS = Feature("model.adapters", learning.has_adapters)
PARTS = Feature("training.parts", learning.has_parts)
VARIATIONS = Feature("training.variations", learning.varies)
OWN_RATES = Feature("training.parameter_groups", learning.has_own_rates)
FIRST_PART = Feature("training.parts.first", learning.has_first_part)
KEPT_PARTS = Feature("training.parts", learning.keeps_parts)
CODEC = Feature("training.codec", learning.compresses)
LOSSY_CODEC = Feature(
    "training.codec", learning.codec_loses_for_good, (set_to("training.codec.error_feedback", value=True),)
)
UPLOADED_CHANGES = Feature("algorithm.state", learning.uploads_changes, to="server")
ZERO_RATE = Feature("training.lr", learning.rate_is_zero, to=0.1, said="set it above 0")
LOCAL_STATISTICS = Feature("training.batch_norm", learning.statistics_stay_at_devices)
REDIVISION = Feature("data.redivide", learning.redivides)
DRIFT = Feature("data.drift", learning.drifts)
LABEL_DRIFT = Feature("data.drift", learning.labels_drift)
VALIDATION = Feature("data.validation_share", learning.has_validation)
NO_VALIDATION = Feature("data.validation_share", learning.has_no_validation, to=0.1)
ONE_TEST_SET = Feature("data.test_partition", learning.has_one_test_set, to="like_train")
PATIENCE = Feature("stop.patience", learning.ends_without_improvement)
VALIDATION_PATIENCE = Feature("stop.patience.of", learning.needs_validation, said="leave it out, for the test set")

# Sessions

SESSIONS = Feature("sessions", server.has_sessions)
SEVERAL_SESSIONS = Feature("sessions", server.has_several_sessions)
LOSS_OF_INITIALISATION = Feature("sessions.initialisation", server.initialisation_adds_loss)
TRIGGER = Feature("sessions.trigger", server.has_trigger)
GROUPS = Feature("sessions.groups", server.has_groups)
GROUPS_IN_TURN = Feature("sessions.groups", server.groups_take_turns, to=1)
KEPT_SERVER_STATE = Feature("sessions.keep_state", server.extra_rounds_keep_state)

# Reports

ONE_MODEL_REPORT = Feature("report", learning.reports_one_model, subkey=learning.report_of_one_model)
JOINT_UPDATES_MEASURE = Feature("report", learning.measures_joint_updates, subkey=learning.measure_of_joint_updates)
KEPT_SAMPLES_MEASURE = Feature("report", learning.measures_kept_samples, subkey=learning.measure_of_kept_samples)
LOCAL_MODELS_MEASURE = Feature("report", learning.measures_local_models, subkey=learning.measure_of_local_models)
GEOMETRY = Feature("report.geometry", learning.reports_geometry, to=False)
LABELS_BY_ROUND = Feature("report.labels_by_round", learning.reports_labels_by_round)
MODELS = Feature("report.models", learning.reports_models)
