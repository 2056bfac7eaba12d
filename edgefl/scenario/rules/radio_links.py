"""Rules about the radio: recorded links, other users, uploads that overlap, and a channel that changes."""

from edgefl.scenario.facts import radio
from edgefl.scenario.rules import computed, features
from edgefl.scenario.rules.features import RECORDED_LINKS
from edgefl.scenario.rules.rule import NAMED, Rule, leave_out

_NOT_RECORDED = (leave_out(NAMED), *RECORDED_LINKS.remedies)

LINK_TRACE = (
    Rule("radio.trace", (radio.links_are_recorded,), computed.recordings_are_wrong),
    Rule(
        "radio",
        (radio.rates_are_recorded, computed.has_key_without_effect),
        "has no effect where rates were recorded",
        _NOT_RECORDED,
        subkey=computed.key_without_effect,
    ),
    Rule(
        "radio",
        (radio.snrs_are_recorded, computed.has_key_without_effect),
        "has no effect where SNRs were recorded",
        _NOT_RECORDED,
        subkey=computed.key_without_effect,
    ),
    Rule(
        "radio.trace",
        (radio.rates_are_recorded, computed.has_condition_of_recording),
        "shifts SNRs, and rates were recorded",
        _NOT_RECORDED,
        subkey=computed.condition_of_recording,
    ),
)

BESIDE_LINK_TRACE = (
    features.CELL_ENERGY.excludes(RECORDED_LINKS, "needs the powers that a model gives, and links were recorded"),
    features.ANTENNAS.excludes(RECORDED_LINKS, "has no effect where links were recorded"),
    features.HANDOVER.excludes(RECORDED_LINKS, "compares powers that a model gives, and links were recorded"),
    features.POWER_CONTROL.excludes(RECORDED_LINKS, "sets powers by path losses, and links were recorded"),
    features.DEADLINE_CLOCKS.excludes(
        RECORDED_LINKS, "{dvfs} estimates uploads by the channel model, and links were recorded"
    ),
)

BACKGROUND = (
    features.FIXED_SHARES.excludes(
        features.VARYING_BACKGROUND, "the number of users of {background} changes while shares are fixed"
    ),
    Rule("radio.background", (radio.has_background,), computed.background_fills_the_band),
)

UPLINK = (
    features.FIXED_SHARES.excludes(
        features.CHANGING_OVERLAP,
        "with radio.large_scale: time the interference among uploads of {uplink} changes, "
        "and fixed shares hold for the round",
    ),
)

LARGE_SCALE = (
    features.NO_MAPS.excludes(
        features.CHANGING_CHANNEL,
        "radio.large_scale: time follows devices over maps of shadowing and line of sight",
    ),
    features.FIXED_SHARES.excludes(
        features.CHANGING_INTERFERENCE,
        "interference changes with radio.large_scale: time, and fixed shares hold for the round",
    ),
)

POWER_CONTROL = (
    # The band would be divided by SNRs at full power, at which devices do not send.
    features.SNR_ALLOCATION.excludes(
        features.POWER_CONTROL, "{allocation} assumes full power, but power control sets others"
    ),
)
