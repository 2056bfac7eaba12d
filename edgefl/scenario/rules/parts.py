"""Rules about parts of the model: what needs one whole model, or the same model at all devices."""

from edgefl.scenario.rules import features
from edgefl.scenario.rules.features import KEPT_PARTS

WHOLE_MODEL = (
    features.MODEL_COST.excludes(features.PARTS, "is the price of a whole model, and training.parts divides the model"),
    features.MODEL_COST.excludes(
        features.ADAPTERS, "is the price of a model without adapters, and model.adapters adds some"
    ),
    features.PARTS.excludes(features.SPLIT, "the policy {policy} divides the model itself"),
    features.ADAPTERS.excludes(features.SPLIT, "the policy {policy} trains all layers of the model"),
    features.OWN_RATES.excludes(features.WEIGHED_RATES, "{algorithm} assumes one rate for all parameters"),
    features.ZERO_RATE.excludes(features.OWN_RATES, "the rates of training.parameter_groups are multiples of it"),
    features.VARIATIONS.excludes(features.SPLIT, "with the policy {policy} all devices take steps of one kind"),
)

FIRST_PART = (
    features.WEIGHED_STEPS.excludes(
        features.FIRST_PART,
        "{algorithm} takes all parameters to train in all local steps, and training.parts.first divides the steps",
    ),
)

# Before the rule that asks for a validation set, which this one would refuse.
KEPT_PATIENCE = (
    features.VALIDATION_PATIENCE.excludes(
        KEPT_PARTS, "needs a validation set, whose samples no device holds, and each device has a model of its own"
    ),
)

# Parts that stay at devices: there are as many models as devices.
SOME_PARTS_KEPT = (
    KEPT_PARTS.excludes(
        features.SESSIONS, "devices keep a part of the model, and sessions begin from models that the server has whole"
    ),
    features.WHOLE_MODEL_LOSS.excludes(
        KEPT_PARTS, "{algorithm} adds a loss or a decay to the whole model, and devices keep a part of it"
    ),
    KEPT_PARTS.excludes(
        features.POLLS,
        "the selection {selection} asks devices about the server's model, and each keeps a part of its own",
    ),
    KEPT_PARTS.excludes(
        features.DEVICE_EVALUATION,
        "server.device_evaluation prices tests of one model for all, and devices keep a part of theirs",
    ),
    features.ONE_TEST_SET.excludes(
        KEPT_PARTS, "each device has a model of its own, which is tested on test samples of its own"
    ),
    features.VALIDATION.excludes(KEPT_PARTS, "no device holds these samples, and each has a model of its own"),
    features.ONE_MODEL_REPORT.excludes(KEPT_PARTS, "is about one model for all devices, and each has its own"),
)
