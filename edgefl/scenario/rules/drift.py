"""Rules about data that change during a run."""

from edgefl.scenario.rules import features

DRIFT = (
    features.DRIFT.excludes(
        features.REDIVISION, "changes the samples of devices, and data.redivide lets them train on samples of others"
    ),
    features.DRIFT.excludes(
        features.TRAINING_POLLS,
        "the selection {selection} lets devices train that are not chosen, on the samples that they had at first",
    ),
    # A group is tested on the classes that its devices had at first.
    features.LABEL_DRIFT.excludes(
        features.GROUPS_IN_TURN, "changes labels, which decide the test samples of a session's group"
    ),
    features.LABEL_DRIFT.excludes(
        features.LABELS_BY_ROUND, "changes labels, and report.labels_by_round has those that devices had at first"
    ),
)
