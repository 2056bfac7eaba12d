"""Rules about data that change during a run."""

from edgefl.scenario.facts import learning, server
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

NO_DRIFT = leave_out("data.drift")

DRIFT = (
    Rule(
        "data.drift",
        (learning.drifts, learning.redivides),
        "changes the samples of devices, and data.redivide lets them train on samples of others",
        (NO_DRIFT, leave_out("data.redivide")),
    ),
    Rule(
        "data.drift",
        (learning.drifts, server.polls_training),
        "the selection {selection} lets devices train that are not chosen, on the samples that they had at first",
        (NO_DRIFT, leave_out("server.selection")),
    ),
    # A group is tested on the classes that its devices had at first.
    Rule(
        "data.drift",
        (learning.labels_drift, server.groups_take_turns),
        "changes labels, by which the test samples of a session's group are found",
        (NO_DRIFT, set_to("sessions.groups", 1)),
    ),
    Rule(
        "data.drift",
        (learning.labels_drift, learning.reports_labels_by_round),
        "changes labels, and report.labels_by_round has those that devices had at first",
        (NO_DRIFT, leave_out("report.labels_by_round")),
    ),
)
