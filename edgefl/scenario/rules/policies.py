"""Rules about server policies: split models, rounds that overlap, and models sent from device to device."""

from edgefl.scenario.facts import learning, server
from edgefl.scenario.rules import computed, features
from edgefl.scenario.rules.rule import Rule, set_to

SPLIT = (
    Rule("server.policy.cut", (server.splits_model,), computed.cut_is_wrong),
    features.MORE_THAN_SGD.excludes(features.SPLIT, "the policy {policy} trains with plain SGD only"),
    # Each half is priced by its layers, whereas a cost given in the scenario is that of the whole model.
    features.MODEL_COST.excludes(
        features.SPLIT,
        "the policy {policy} needs the cost of each half of the model, and this is the cost of the whole",
    ),
    features.CODEC.excludes(features.SPLIT, "the policy {policy} uploads no model update that could be compressed"),
    features.BROADCAST.excludes(features.SPLIT, "under the policy {policy} each device receives its own gradients"),
)

OVERLAPPING = (
    # Fixed shares are computed once, when a round begins, for all of its transfers.
    features.FIXED_BAND_SHARES.excludes(
        features.OVERLAPPING_ROUNDS,
        "fixed shares need rounds that all devices begin together, but those of the policy {policy} overlap",
    ),
    # Such churn draws the present devices by round number; rounds that overlap have several numbers at a time.
    features.ROUND_CHURN.excludes(
        features.OVERLAPPING_ROUNDS, "{churn} needs rounds that do not overlap, but those of the policy {policy} do"
    ),
)

DEVICE_EVALUATION = (
    features.DEVICE_EVALUATION.excludes(
        features.OVERLAPPING_ROUNDS, "needs rounds that wait for it, but those of the policy {policy} overlap"
    ),
    features.DEVICE_EVALUATION.excludes(
        features.SPLIT, "needs whole models, but under the policy {policy} devices hold a part"
    ),
)

AGGREGATION = (
    features.MORE_THAN_LAST_MODEL.excludes(features.MODELS_IN_TURN, "the policy {policy} averages nothing"),
    features.INDIVISIBLE.excludes(
        features.EDGE_MODELS, "under the policy {policy} each base station keeps a model and nothing else"
    ),
)

REDIVISION = (
    Rule(
        "data.redivide",
        (learning.redivision_needs_whole_set,),
        "{redivision} divides the whole training set",
        (set_to("data.redivide", "iid", "set it to iid, or by classes as to dirichlet_by_class"),),
    ),
    features.REDIVISION.excludes(
        features.SEVERAL_MODELS,
        "needs rounds where all train one model, but under the policy {policy} they do not",
    ),
    features.DEVICE_STATES.excludes(
        features.REDIVISION,
        "{algorithm} keeps a state for each device, whose samples would change in every round",
    ),
)

BACKHAUL = (
    Rule("backhaul", (server.has_backhaul,), computed.wires_do_not_reach),
    features.BACKHAUL.excludes(features.SPLIT, "is not modelled under the policy {policy}"),
    # The policy's own keys are a short form of the section: one of the two would be ignored.
    features.POLICY_BACKHAUL.excludes(features.BACKHAUL, "describes a backhaul, and so does the section backhaul"),
)
