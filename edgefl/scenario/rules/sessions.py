"""Rules about sessions, and about selections that poll devices before choosing them."""

from edgefl.scenario.facts import learning, server, world
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.remedies import BATTERY, PLAIN_AVERAGING, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

SESSIONS = (
    Rule(
        "sessions",
        (server.has_sessions, server.has_edge_models),
        "need one global model, but the policy {policy} has several",
        (leave_out("sessions", "leave them out"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "sessions",
        (server.has_sessions, server.rounds_overlap),
        "need rounds that do not overlap, but those of the policy {policy} do",
        (leave_out("sessions", "leave them out"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "sessions.initialisation",
        (server.has_sessions, server.splits_model, server.initialisation_has_own_loss),
        "the policy {policy} trains with the task's loss only",
        (leave_out("sessions.initialisation"), *ROUNDS_TOGETHER),
    ),
    # A trigger counts arrivals in continuous time, and churn by rounds has none.
    Rule(
        "sessions.trigger",
        (server.has_trigger, server.no_device_arrives),
        "waits for devices to arrive, but with the churn {churn} none does",
        (
            set_to(
                "churn",
                {"kind": "poisson", "arrivals_per_s": 0.01, "stay_s": {"exponential": 100.0}},
                "set churn to poisson",
            ),
            set_to("churn", "coverage", "to coverage if devices move"),
            leave_out("sessions.trigger", "leave it out"),
        ),
    ),
    Rule(
        "sessions.groups",
        (server.has_trigger, server.has_groups),
        "groups take turns, but with a trigger churn decides which devices are present",
        (leave_out("sessions.groups"), leave_out("sessions.trigger")),
    ),
    Rule(
        "sessions.groups",
        (server.has_sessions,),
        computed.too_many_groups,
        (set_to("sessions.groups", "{devices}"), set_to("devices.count", "{groups}")),
    ),
    Rule(
        "sessions.first_group",
        (server.has_sessions,),
        computed.first_group_is_none,
        (set_to("sessions.first_group", "{groups}"),),
    ),
)

PATIENCE = (
    Rule(
        "stop.patience",
        (learning.ends_without_improvement, server.has_several_sessions),
        "would end the run in the first session that no longer improves",
        (leave_out("stop.patience"), leave_out("sessions")),
    ),
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
        "gradient rounds would change the devices' state of {algorithm}, but not the server's sums of them",
        (leave_out("sessions.keep_state"), PLAIN_AVERAGING),
    ),
)

SELECTION = (
    Rule(
        "server.selection.by",
        (server.selection_needs_batteries, world.has_no_batteries),
        "no device has a battery",
        (
            BATTERY,
            set_to("server.selection.by", "energy"),
        ),
    ),
    # A clock rule plans the clock for training, but not for the answer to a poll.
    Rule(
        "server.selection",
        (server.polls, world.clocks_are_scaled),
        "polls devices for a loss, and devices.dvfs sets their clock for training only",
        (leave_out("server.selection"), leave_out("devices.dvfs")),
    ),
    Rule(
        "server.selection",
        (server.selection_needs_reports, server.splits_model),
        "needs a report with each update, which the policy {policy} does not send",
        (leave_out("server.selection"), *ROUNDS_TOGETHER),
    ),
    # Polled losses belong to the model that the round then trains, so there must be one model for all.
    Rule(
        "server.selection",
        (server.polls, server.rounds_train_several_models),
        "polls devices, which needs rounds in which all train one model, but under the policy {policy} they do not",
        (
            leave_out("server.selection"),
            set_to("server.selection.variant", "rpow-d", offered=server.selects_by_power_of_choice),
            *ROUNDS_TOGETHER,
        ),
    ),
)

POLLED_TRAINING = (
    # Training must leave no trace on a device that is not chosen.
    Rule(
        "algorithm",
        (server.polls_training, learning.keeps_at_devices),
        "the selection {selection} lets devices train that are not chosen, "
        "and {algorithm} keeps a state at devices that this would change",
        (PLAIN_AVERAGING, leave_out("server.selection")),
    ),
    Rule(
        "algorithm",
        (server.polls_training, learning.uploads_no_move),
        "the selection {selection} compares changes of the model, and {algorithm} uploads none",
        (PLAIN_AVERAGING, leave_out("server.selection")),
    ),
    Rule(
        "training.batch_norm",
        (server.polls_training, learning.statistics_stay_at_devices),
        "the selection {selection} lets devices train that are not chosen, which would change their statistics",
        (leave_out("training.batch_norm"), leave_out("server.selection")),
    ),
)

POLLED_REDIVISION = (
    Rule(
        "data.redivide",
        (server.polls_training, learning.redivides),
        "the selection {selection} lets devices train that are not chosen, before samples are divided again",
        (leave_out("data.redivide"), leave_out("server.selection")),
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
            set_to("training.codec.error_feedback", value=True),
        ),
    ),
)
