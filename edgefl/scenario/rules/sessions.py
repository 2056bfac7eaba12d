"""Rules about sessions, and about selections that poll devices before choosing them."""

from dataclasses import replace

from edgefl.scenario.facts import server
from edgefl.scenario.rules import computed, features
from edgefl.scenario.rules.rule import OUT, Rule, leave_out, set_to

_SESSIONS = replace(features.SESSIONS, said="leave them out")

SESSIONS = (
    _SESSIONS.excludes(features.EDGE_MODELS, "need one global model, but the policy {policy} has several"),
    _SESSIONS.excludes(
        features.OVERLAPPING_ROUNDS, "need rounds that do not overlap, but those of the policy {policy} do"
    ),
    features.LOSS_OF_INITIALISATION.excludes(features.SPLIT, "the policy {policy} trains with the task's loss only"),
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
    features.GROUPS.excludes(
        features.TRIGGER, "groups take turns, but with a trigger churn decides which devices are present"
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
    features.PATIENCE.excludes(
        features.SEVERAL_SESSIONS, "would end the run in the first session that no longer improves"
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
    features.KEPT_SERVER_STATE.excludes(
        features.COUPLED_STATES,
        "gradient rounds would change the devices' state of {algorithm}, but not the server's sums of them",
    ),
)

SELECTION = (
    features.BATTERY_SELECTION.excludes(features.NO_BATTERIES, "no device has a battery"),
    # A clock rule plans the clock for training, but not for the answer to a poll.
    features.POLLS.excludes(
        replace(features.CLOCK_RULE, to=OUT),
        "polls devices for a loss, and devices.dvfs sets their clock for training only",
    ),
    features.UPDATE_REPORTS.excludes(
        features.SPLIT, "needs a report with each update, which the policy {policy} does not send"
    ),
    # Polled losses belong to the model that the round then trains, so there must be one model for all.
    features.MODEL_POLLS.excludes(
        features.SEVERAL_MODELS,
        "polls devices, which needs rounds where all train one model, but under the policy {policy} they do not",
    ),
)

POLLED_TRAINING = (
    # Training must leave no trace on a device that is not chosen.
    features.STATES_AT_DEVICES.excludes(
        features.TRAINING_POLLS,
        "the selection {selection} lets devices train that are not chosen, "
        "and {algorithm} keeps a state at devices that this would change",
    ),
    features.NO_MOVES.excludes(
        features.TRAINING_POLLS,
        "the selection {selection} compares changes of the model, and {algorithm} uploads none",
    ),
    features.LOCAL_STATISTICS.excludes(
        features.TRAINING_POLLS,
        "the selection {selection} lets devices train that are not chosen, which would change their statistics",
    ),
)

POLLED_REDIVISION = (
    features.REDIVISION.excludes(
        features.TRAINING_POLLS,
        "the selection {selection} lets devices train that are not chosen, before samples are divided again",
    ),
)

STORED_UPDATES = (
    # The server's sum of decoded changes would drift away from the sum of the states that devices keep.
    features.UPLOADED_CHANGES.excludes(
        features.LOSSY_CODEC,
        "devices keep exact updates, but the server adds up those that the codec has compressed",
    ),
)
