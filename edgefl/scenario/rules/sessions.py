"""Rules about sessions, and about selections that let devices answer before they are chosen."""

from __future__ import annotations

from edgefl.scenario.facts import learning, server, world
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

SESSIONS = (
    Rule(
        "sessions",
        (server.has_sessions, server.has_edge_models),
        "need one global model, which the policy {policy} does not have",
        (leave_out("sessions", "leave them out"),),
    ),
    Rule(
        "sessions",
        (server.has_sessions, server.rounds_overlap),
        "need rounds that do not overlap, which the policy {policy} does not have",
        (leave_out("sessions", "leave them out"),),
    ),
    Rule(
        "sessions.initialisation",
        (server.has_sessions, server.splits_model, server.initialisation_has_own_loss),
        "the policy split trains with the task's loss only",
        (leave_out("sessions.initialisation", "choose another initialisation"),),
    ),
    # A trigger counts arrivals in continuous time, and churn by rounds has none.
    Rule(
        "sessions.trigger",
        (server.has_trigger, server.no_device_arrives),
        "waits for devices to arrive, and with the churn {churn} none does",
        (
            set_to("churn", {"kind": "poisson", "arrivals_per_s": 0.01, "stay_s": 100.0}, "set churn to poisson"),
            set_to("churn", "coverage", "to coverage if devices move"),
        ),
    ),
    Rule(
        "sessions.groups",
        (server.has_trigger, server.has_groups),
        "groups take turns, but with a trigger churn decides which devices are present",
        (leave_out("sessions.groups"),),
    ),
    Rule("sessions.groups", (server.has_sessions,), computed.too_many_groups),
    Rule("sessions.first_group", (server.has_sessions,), computed.first_group_is_none),
)

KEPT_STATE = (
    Rule(
        "algorithm",
        (server.has_sessions,),
        computed.state_misfits_sessions,
        subkey=computed.key_that_misfits_sessions,
    ),
    # An algorithm is coupled if its server keeps a sum of states that the devices keep.
    Rule(
        "sessions.keep_state",
        (server.extra_rounds_keep_state, learning.is_coupled),
        "gradient rounds would change the devices' state of {algorithm}, but not the server's sums of it",
        (leave_out("sessions.keep_state"),),
    ),
)

SELECTION = (
    Rule(
        "server.selection.by",
        (server.selection_needs_batteries, world.has_no_batteries),
        "no device has a battery",
        (
            set_to("devices.battery", {"capacity_j": 1000.0}, "set devices.battery"),
            set_to("server.selection.by", "energy", "by to energy"),
        ),
    ),
    # A clock rule plans the clock for training only; it gives none for the answer to a poll.
    Rule(
        "server.selection",
        (server.polls, world.clocks_are_scaled),
        "polls devices for a loss, and devices.dvfs sets their clock for training only",
        (leave_out("devices.dvfs", "leave one of the two out"),),
    ),
    Rule(
        "server.selection",
        (server.selection_needs_reports, server.splits_model),
        "needs a report with each update, which the policy split does not send",
        (leave_out("server.selection", "take another selection"),),
    ),
    # Polled losses are those of the model that the round then trains: there must be one such model for all.
    Rule(
        "server.selection",
        (server.polls, server.rounds_train_several_models),
        "polls devices, which needs rounds in which all train one model; those of the policy {policy} do not",
        (set_to("server.selection.variant", "rpow-d", "set the variant to rpow-d"),),
    ),
)

POLLED_TRAINING = (
    # A device that is not chosen must be as if it had not trained.
    Rule(
        "algorithm",
        (server.polls_training, learning.keeps_at_devices),
        "the selection {selection} lets devices train that are not chosen, "
        "and {algorithm} keeps a state at devices that this would change",
    ),
    Rule(
        "algorithm",
        (server.polls_training, learning.uploads_no_move),
        "the selection {selection} compares moves of the model, and {algorithm} uploads none",
        (set_to("algorithm", "fedavg", "take another algorithm"),),
    ),
    Rule(
        "training.batch_norm",
        (server.polls_training, learning.statistics_stay_at_devices),
        "the selection {selection} lets devices train that are not chosen, which would change their statistics",
        (leave_out("training.batch_norm"),),
    ),
)

POLLED_REDIVISION = (
    Rule(
        "data.redivide",
        (server.polls_training, learning.redivides),
        "the selection {selection} lets devices train that are not chosen, before samples are divided anew",
        (leave_out("data.redivide"),),
    ),
)

STORED_UPDATES = (
    # The server's sum of decoded changes would drift away from the sum of the states that devices keep.
    Rule(
        "algorithm.state",
        (learning.codec_loses_for_good, learning.uploads_changes),
        "devices keep exact updates, but the server adds up those that the codec has compressed",
        (
            set_to("algorithm.state", "server"),
            set_to("training.codec.error_feedback", value=True, said="training.codec.error_feedback to true"),
        ),
    ),
)
