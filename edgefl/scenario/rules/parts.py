"""Rules about parts of the model: what needs one whole model, or the same model at all devices."""

from edgefl.scenario.facts import learning, server
from edgefl.scenario.rules.remedies import PLAIN_AVERAGING, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import NAMED, Rule, leave_out, set_to

NO_PARTS = leave_out("training.parts")

WHOLE_MODEL = (
    Rule(
        "model.cost",
        (learning.cost_is_given, learning.has_parts),
        "is the price of a whole model, and training.parts divides the model",
        (leave_out("model.cost"), NO_PARTS),
    ),
    Rule(
        "model.cost",
        (learning.cost_is_given, learning.has_adapters),
        "is the price of a model without adapters, and model.adapters adds some",
        (leave_out("model.cost"), leave_out("model.adapters")),
    ),
    Rule(
        "training.parts",
        (learning.has_parts, server.splits_model),
        "the policy {policy} divides the model itself",
        (NO_PARTS, *ROUNDS_TOGETHER),
    ),
    Rule(
        "model.adapters",
        (learning.has_adapters, server.splits_model),
        "the policy {policy} trains all layers of the model",
        (leave_out("model.adapters"), *ROUNDS_TOGETHER),
    ),
)

FIRST_PART = (
    Rule(
        "algorithm",
        (learning.has_first_part, learning.weighs_steps),
        "{algorithm} takes all parameters to train in all local steps, and training.parts.first divides the steps",
        (PLAIN_AVERAGING, leave_out("training.parts.first")),
    ),
)

# Before the rule that asks for a validation set, which this one would refuse.
KEPT_PATIENCE = (
    Rule(
        "stop.patience.of",
        (learning.keeps_parts, learning.needs_validation),
        "needs a validation set, whose samples no device holds, and each device has a model of its own",
        (leave_out("stop.patience.of", "leave it out, for the test set"), NO_PARTS),
    ),
)

# Parts that stay at devices: there are as many models as devices.
KEPT_PARTS = (
    Rule(
        "training.parts",
        (learning.keeps_parts, server.has_sessions),
        "devices keep a part of the model, and sessions begin from models that the server has whole",
        (NO_PARTS, leave_out("sessions")),
    ),
    Rule(
        "algorithm",
        (learning.keeps_parts, learning.needs_whole_model),
        "{algorithm} adds a loss or a decay to the whole model, and devices keep a part of it",
        (PLAIN_AVERAGING, NO_PARTS),
    ),
    Rule(
        "training.parts",
        (learning.keeps_parts, server.polls),
        "the selection {selection} asks devices about the server's model, and each keeps a part of its own",
        (NO_PARTS, leave_out("server.selection")),
    ),
    Rule(
        "training.parts",
        (learning.keeps_parts, server.devices_evaluate),
        "server.device_evaluation prices tests of one model for all, and devices keep a part of theirs",
        (NO_PARTS, leave_out("server.device_evaluation")),
    ),
    Rule(
        "data.test_partition",
        (learning.keeps_parts, learning.has_one_test_set),
        "each device has a model of its own, which is tested on test samples of its own",
        (set_to("data.test_partition", "like_train"), NO_PARTS),
    ),
    Rule(
        "data.validation_share",
        (learning.keeps_parts, learning.has_validation),
        "no device holds these samples, and each has a model of its own",
        (leave_out("data.validation_share"), NO_PARTS),
    ),
    Rule(
        "report",
        (learning.keeps_parts, learning.reports_one_model),
        "is about one model for all devices, and each has its own",
        (leave_out(NAMED), NO_PARTS),
        subkey=learning.report_of_one_model,
    ),
)
