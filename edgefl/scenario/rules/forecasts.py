"""Rules about what decides by forecasts: `server.optimiser`, allocations that set `by_forecast`, and `server.csi`."""

from edgefl.scenario.facts import radio
from edgefl.scenario.rules import computed, features
from edgefl.scenario.rules.rule import Feature, Rule, leave_out, set_to

# The server forecasts by a model of the channel; these rules come before others about recorded links.
RECORDED = tuple(
    decider.excludes(features.RECORDED_LINKS, f"{name} needs to know channels, and recorded links tell the server none")
    for decider, name in ((features.OPTIMISER, "{optimiser}"), (features.FORECASTING_ALLOCATION, "{allocation}"))
)


def _deciding(decider: Feature, name: str) -> tuple[Rule, ...]:
    """Return the rules about decisions that are made when participants are chosen, for the whole round."""
    return (
        features.CHANGING_SHARES.excludes(decider, f"{name} decides shares for the whole round"),
        decider.excludes(
            features.UNPLANNED_ROUNDS,
            f"{name} plans rounds whose participants begin together, but those of {{policy}} do not",
        ),
        features.POLLS.excludes(decider, f"polls devices before {name} has decided on them"),
        features.OVERLAPPING_UPLOADS.excludes(decider, f"{name} divides the uplink among uploads, but these overlap"),
    )


OPTIMISER = (
    features.OTHER_ALLOCATION.excludes(features.OPTIMISER, "the optimiser {optimiser} divides the uplink itself"),
    features.POWER_CONTROL.excludes(features.OPTIMISER, "the optimiser {optimiser} decides transmit powers"),
    features.CLOCK_RULE.excludes(features.OPTIMISER, "the optimiser {optimiser} decides clocks"),
    features.OTHER_RATE.excludes(
        features.SHANNON_OPTIMISER,
        "the equations of the optimiser {optimiser} hold for Shannon's rate, not for {rate}",
    ),
    features.POWER_POINTS.excludes(
        features.CLOCK_OPTIMISER, "the equations of the optimiser {optimiser} have powers by capacitance f^3"
    ),
    features.STATIC_POWER.excludes(
        features.CLOCK_OPTIMISER, "the equations of the optimiser {optimiser} have no static power of processors"
    ),
    *_deciding(features.OPTIMISER, "{optimiser}"),
)

ALLOCATION = (
    features.UNKNOWN_CHANNELS.excludes(
        features.FORECASTING_ALLOCATION, "the allocation {allocation} needs to know channels"
    ),
    features.CLOCK_RULE.excludes(
        features.FORECASTING_ALLOCATION,
        "the allocation {allocation} assumes that devices compute at their highest clocks",
    ),
    Rule(
        "server.participants",
        (radio.allocates_places,),
        computed.places_are_too_few,
        (set_to("server.participants", "{most_participants}"), leave_out("radio.allocation")),
    ),
    features.RESOURCE_BLOCKS.excludes(features.PLACES, "{allocation} defines its own blocks"),
    features.BACKGROUND.excludes(features.PLACES, "{allocation} gives blocks to devices only"),
    *_deciding(features.FORECASTING_ALLOCATION, "{allocation}"),
)

CSI = (
    features.CSI.excludes(features.RECORDED_LINKS, "recorded links tell the server no channels"),
    features.TAILS.excludes(
        features.CSI_REQUESTS,
        "the server asks for reports on channels, and the radio states of devices that are not chosen are not modelled",
    ),
    features.CSI.excludes(
        features.SPLIT, "a forecast covers one download and one upload, but the policy {policy} has many"
    ),
    features.CSI.excludes(features.APP, "under the policy {policy} a program outside the scenario chooses devices"),
)
