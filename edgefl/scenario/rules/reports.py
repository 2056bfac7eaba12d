"""Rules about what is reported: measures that a run cannot make."""

from edgefl.scenario.facts import learning
from edgefl.scenario.rules import features
from edgefl.scenario.rules.rule import NAMED, Rule, leave_out

GEOMETRY = (features.GEOMETRY.excludes(features.RECORDED_LINKS, "needs path losses, and links were recorded"),)

# Rules about measures read what their classes declare, so that they hold for those from outside, too.
MEASURES = (
    features.JOINT_UPDATES_MEASURE.excludes(
        features.UPDATES_APART,
        "needs updates that are aggregated together, but those of the policy {policy} are not",
    ),
    features.KEPT_SAMPLES_MEASURE.excludes(
        features.REDIVISION, "is about samples that devices keep, but data.redivide replaces them in every round"
    ),
    features.LOCAL_MODELS_MEASURE.excludes(
        features.NO_MOVES, "the server does not know local models, as {algorithm} uploads no change of the model"
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

VALIDATION = (features.VALIDATION_PATIENCE.excludes(features.NO_VALIDATION, "needs a validation set"),)

POLLED_MODELS = (
    features.MODELS.excludes(
        features.TRAINING_POLLS,
        "the selection {selection} lets devices train that are not chosen, which would change their last models",
    ),
)
