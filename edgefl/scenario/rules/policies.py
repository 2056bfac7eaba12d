"""Rules about server policies: what does not go with split models, rounds that overlap, and models that walk."""

from __future__ import annotations

from edgefl.scenario.facts import learning, radio, server
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

SPLIT = (
    Rule("server.policy.cut", (server.splits_model,), computed.cut_is_wrong),
    Rule(
        "algorithm",
        (server.splits_model, learning.trains_by_more_than_plain_sgd),
        "the policy split trains with plain SGD only",
        (set_to("algorithm", "fedavg"),),
    ),
    # Each half is priced by its layers, whereas a cost given in the scenario is that of the whole model.
    Rule(
        "model.cost",
        (server.splits_model, learning.cost_is_given),
        "the policy split needs the cost of each half of the model, and this is the cost of the whole",
        (leave_out("model.cost"),),
    ),
    Rule(
        "training.codec",
        (server.splits_model, learning.compresses),
        "the policy split uploads no model update that could be compressed",
        (leave_out("training.codec"),),
    ),
    Rule(
        "radio.downlink",
        (server.splits_model, radio.is_broadcast),
        "with the policy split each device receives gradients of its own",
        (set_to("radio.downlink", "unicast"),),
    ),
)

OVERLAPPING = (
    Rule(
        "radio.downlink",
        (server.rounds_overlap, radio.is_broadcast),
        "with this server.policy devices begin at different times and share no broadcast",
        (set_to("radio.downlink", "unicast"),),
    ),
    # Fixed shares are computed once, when a round begins, for all of its transfers.
    Rule(
        "radio.sharing",
        (server.rounds_overlap, radio.shares_are_fixed, radio.shares_a_band),
        "fixed shares need rounds that all devices begin together; with this server.policy set it to processor",
    ),
    # Such churn draws who is present by the number of the round; rounds that overlap have several at a time.
    Rule(
        "churn",
        (server.rounds_overlap, server.churn_is_by_round),
        "{churn} needs rounds that do not overlap; with this server.policy set it to none",
    ),
)

AGGREGATION = (
    Rule(
        "algorithm",
        (server.averages_nothing, learning.needs_more_than_last_model),
        "the policy {policy} averages nothing",
        (set_to("algorithm", "fedavg", "set it to {last_model_algorithms}, without availability or mode wait"),),
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
        "needs rounds in which all train one model; those of the policy {policy} do not",
        (leave_out("data.redivide"), set_to("server.policy", "synchronous")),
    ),
    Rule(
        "algorithm",
        (learning.redivides, learning.keeps_for_each_device),
        "{algorithm} keeps a state for each device, whose samples would be others in every round",
        (leave_out("data.redivide"), set_to("algorithm", "fedavg")),
    ),
)

DIRECT_LINKS = (
    Rule(
        "training.stragglers.keep",
        (server.links_are_direct, learning.drops_stragglers),
        "over direct links a device's model has been passed on before it could be dropped",
        (leave_out("training.stragglers.keep"), set_to("server.policy.links", "relayed", "set links to relayed")),
    ),
    Rule(
        "training.codec",
        (server.links_are_direct, learning.compresses),
        "compresses the difference from a model that the next device does not have",
        (leave_out("training.codec"), set_to("server.policy.links", "relayed", "set links to relayed")),
    ),
)

BACKHAUL = (
    Rule("backhaul", (server.has_backhaul,), computed.wires_do_not_reach),
    Rule(
        "backhaul",
        (server.has_backhaul, server.trains_one_by_one),
        "is not modelled under the policy {policy}",
        (leave_out("backhaul"),),
    ),
    # The policy's own keys are a short form of the section: beside it, one of the two would be ignored.
    Rule(
        "server.policy",
        (server.has_backhaul, server.policy_describes_backhaul),
        "describes a backhaul of its own beside the section backhaul",
        (leave_out("backhaul", "leave one of the two out"),),
    ),
)
