"""Rules about server policies: split models, rounds that overlap, and models sent from device to device."""

from edgefl.scenario.facts import learning, radio, server
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.remedies import PLAIN_AVERAGING, RELAYED, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

SPLIT = (
    Rule("server.policy.cut", (server.splits_model,), computed.cut_is_wrong),
    Rule(
        "algorithm",
        (server.splits_model, learning.trains_by_more_than_plain_sgd),
        "the policy {policy} trains with plain SGD only",
        (PLAIN_AVERAGING, *ROUNDS_TOGETHER),
    ),
    # Each half is priced by its layers, whereas a cost given in the scenario is that of the whole model.
    Rule(
        "model.cost",
        (server.splits_model, learning.cost_is_given),
        "the policy {policy} needs the cost of each half of the model, and this is the cost of the whole",
        (leave_out("model.cost"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "training.codec",
        (server.splits_model, learning.compresses),
        "the policy {policy} uploads no model update that could be compressed",
        (leave_out("training.codec"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "radio.downlink",
        (server.splits_model, radio.is_broadcast),
        "under the policy {policy} each device receives its own gradients",
        (set_to("radio.downlink", "unicast"), *ROUNDS_TOGETHER),
    ),
)

OVERLAPPING = (
    # Fixed shares are computed once, when a round begins, for all of its transfers.
    Rule(
        "radio.sharing",
        (server.rounds_overlap, radio.shares_are_fixed, radio.shares_a_band),
        "fixed shares need rounds that all devices begin together, but those of the policy {policy} overlap",
        (set_to("radio.sharing", "processor"), *ROUNDS_TOGETHER),
    ),
    # Such churn draws the present devices by round number; rounds that overlap have several numbers at a time.
    Rule(
        "churn",
        (server.rounds_overlap, server.churn_is_by_round),
        "{churn} needs rounds that do not overlap, but those of the policy {policy} do",
        (set_to("churn", "none"), *ROUNDS_TOGETHER),
    ),
)

DEVICE_EVALUATION = (
    Rule(
        "server.device_evaluation",
        (server.devices_evaluate, server.rounds_overlap),
        "needs rounds that wait for it, but those of the policy {policy} overlap",
        (leave_out("server.device_evaluation"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "server.device_evaluation",
        (server.devices_evaluate, server.splits_model),
        "needs whole models, but under the policy {policy} devices hold a part",
        (leave_out("server.device_evaluation"), *ROUNDS_TOGETHER),
    ),
)

AGGREGATION = (
    Rule(
        "algorithm",
        (server.averages_nothing, learning.needs_more_than_last_model),
        "the policy {policy} averages nothing",
        (
            set_to("algorithm", "fedavg", "set it to {last_model_algorithms}, without availability or mode wait"),
            *ROUNDS_TOGETHER,
        ),
    ),
    Rule(
        "algorithm",
        (server.has_edge_models, learning.is_indivisible),
        "under the policy {policy} each base station keeps a model and nothing else",
        (
            set_to(
                "algorithm",
                "fedavg",
                "set it to {divisible_algorithms}, without availability, mode wait or server momentum",
            ),
            *ROUNDS_TOGETHER,
        ),
    ),
)

REDIVISION = (
    Rule(
        "data.redivide",
        (learning.redivision_needs_whole_set,),
        "{redivision} divides the whole training set",
        (set_to("data.redivide", "iid", "set it to iid, or by classes as to dirichlet_by_class"),),
    ),
    Rule(
        "data.redivide",
        (learning.redivides, server.rounds_train_several_models),
        "needs rounds in which all train one model, but under the policy {policy} they do not",
        (leave_out("data.redivide"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "algorithm",
        (learning.redivides, learning.keeps_for_each_device),
        "{algorithm} keeps a state for each device, whose samples would change in every round",
        (leave_out("data.redivide"), PLAIN_AVERAGING),
    ),
)

DIRECT_LINKS = (
    Rule(
        "training.stragglers.keep",
        (server.links_are_direct, learning.drops_stragglers),
        "over direct links a device's model has been passed on before it could be dropped",
        (leave_out("training.stragglers.keep"), RELAYED),
    ),
    Rule(
        "training.codec",
        (server.links_are_direct, learning.compresses),
        "compresses the difference from a model that the next device does not have",
        (leave_out("training.codec"), RELAYED),
    ),
)

BACKHAUL = (
    Rule("backhaul", (server.has_backhaul,), computed.wires_do_not_reach),
    Rule(
        "backhaul",
        (server.has_backhaul, server.trains_one_by_one),
        "is not modelled under the policy {policy}",
        (leave_out("backhaul"), *ROUNDS_TOGETHER),
    ),
    # The policy's own keys are a short form of the section: one of the two would be ignored.
    Rule(
        "server.policy",
        (server.has_backhaul, server.policy_describes_backhaul),
        "describes a backhaul, and so does the section backhaul",
        (leave_out("backhaul"), set_to("server.policy", "{policy}", "leave its own keys out")),
    ),
)
