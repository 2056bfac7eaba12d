"""Rules about what is reported: measures that a run cannot make."""

from edgefl.scenario.facts import learning, radio, server
from edgefl.scenario.rules.remedies import NO_OVERLAP, NO_TRACE, PLAIN_AVERAGING, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import NAMED, Rule, leave_out, set_to

SUMS_REPORT = (
    Rule(
        "report",
        (radio.uploads_add_up, learning.measures_joint_updates),
        "needs each update, but radio.uplink: {uplink} delivers a sum",
        (leave_out(NAMED), NO_OVERLAP),
        subkey=learning.measure_of_joint_updates,
    ),
)

GEOMETRY = (
    Rule(
        "report.geometry",
        (learning.reports_geometry, radio.links_are_recorded),
        "needs path losses, and links were recorded",
        (set_to("report.geometry", value=False), NO_TRACE),
    ),
)

# Rules about measures read what their classes declare, so that they hold for those from outside, too.
MEASURES = (
    Rule(
        "report",
        (learning.measures_joint_updates, server.updates_stay_apart),
        "needs updates that are aggregated together, but those of the policy {policy} are not",
        (leave_out(NAMED), *ROUNDS_TOGETHER),
        subkey=learning.measure_of_joint_updates,
    ),
    Rule(
        "report",
        (learning.measures_kept_samples, learning.redivides),
        "is about samples that devices keep, but data.redivide replaces them in every round",
        (leave_out(NAMED), leave_out("data.redivide")),
        subkey=learning.measure_of_kept_samples,
    ),
    Rule(
        "report",
        (learning.measures_local_models, learning.uploads_no_move),
        "the server does not know local models, as {algorithm} uploads no change of the model",
        (leave_out(NAMED), PLAIN_AVERAGING),
        subkey=learning.measure_of_local_models,
    ),
)

STORED_PLAYERS = (
    Rule(
        "report",
        (learning.measures_stored_updates, learning.keeps_no_updates),
        "needs each device's last update, which {algorithm} does not keep at the server, as fedar, fedvarp and mifa "
        "(with state server) do",
        (leave_out(NAMED),),
        subkey=learning.measure_of_stored_updates,
    ),
)

VALIDATION = (
    Rule(
        "stop.patience.of",
        (learning.needs_validation, learning.has_no_validation),
        "needs a validation set",
        (
            set_to("data.validation_share", value=0.1),
            leave_out("stop.patience.of", "leave it out, for the test set"),
        ),
    ),
)

POLLED_MODELS = (
    Rule(
        "report.models",
        (server.polls_training, learning.reports_models),
        "the selection {selection} lets devices train that are not chosen, which would change their last models",
        (leave_out("report.models"), leave_out("server.selection")),
    ),
)
