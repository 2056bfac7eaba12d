"""Rules about the radio: recorded links, other users, uploads that overlap, and a channel that changes."""

from edgefl.scenario.facts import radio, server, world
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.remedies import NO_OVERLAP, NO_TRACE, RELAYED
from edgefl.scenario.rules.rule import NAMED, OUT, Remedy, Rule, leave_out, set_to

LINK_TRACE = (
    Rule("radio.trace", (radio.links_are_recorded,), computed.recordings_are_wrong),
    Rule(
        "radio",
        (radio.rates_are_recorded, computed.has_key_without_effect),
        "has no effect where rates were recorded",
        (leave_out(NAMED), NO_TRACE),
        subkey=computed.key_without_effect,
    ),
    Rule(
        "radio",
        (radio.snrs_are_recorded, computed.has_key_without_effect),
        "has no effect where SNRs were recorded",
        (leave_out(NAMED), NO_TRACE),
        subkey=computed.key_without_effect,
    ),
    Rule(
        "radio.trace",
        (radio.rates_are_recorded, computed.has_condition_of_recording),
        "shifts SNRs, and rates were recorded",
        (leave_out(NAMED), NO_TRACE),
        subkey=computed.condition_of_recording,
    ),
)

BESIDE_LINK_TRACE = (
    Rule(
        "cells.energy",
        (radio.links_are_recorded, world.accounts_for_base_stations),
        "needs the powers that a model gives, and links were recorded",
        (leave_out("cells.energy"), NO_TRACE),
    ),
    Rule(
        "cells.antenna",
        (radio.links_are_recorded, world.antennas_are_directional),
        "has no effect where links were recorded",
        (
            leave_out("cells.antenna", offered=world.has_no_sectors),
            Remedy({"cells.antenna": OUT, "cells.sectors": OUT}, offered=world.has_sectors),
            NO_TRACE,
        ),
    ),
    Rule(
        "cells.handover",
        (radio.links_are_recorded, world.hands_over),
        "compares powers that a model gives, and links were recorded",
        (leave_out("cells.handover"), NO_TRACE),
    ),
    Rule(
        "server.policy",
        (radio.links_are_recorded, server.links_are_direct),
        "sends from device to device, and links to base stations were recorded",
        (RELAYED, NO_TRACE),
    ),
    Rule(
        "devices.power_control",
        (radio.links_are_recorded, world.powers_are_controlled),
        "sets powers by path losses, and links were recorded",
        (set_to("devices.power_control", "full"), NO_TRACE),
    ),
    Rule(
        "devices.dvfs",
        (radio.links_are_recorded, world.clocks_follow_deadline),
        "{dvfs} estimates uploads by the channel model, and links were recorded",
        (set_to("devices.dvfs", "fixed"), NO_TRACE),
    ),
)

BACKGROUND = (
    Rule(
        "radio.sharing",
        (radio.background_varies, radio.shares_are_fixed),
        "the number of users of {background} changes while shares are fixed",
        (set_to("radio.sharing", "processor"), leave_out("radio.background")),
    ),
    Rule("radio.background", (radio.has_background,), computed.background_fills_the_band),
)

UPLINK = (
    Rule(
        "radio.uplink",
        (radio.uploads_overlap, server.links_are_direct),
        "{uplink} is not modelled with links from device to device",
        (NO_OVERLAP, RELAYED),
    ),
    Rule(
        "radio.sharing",
        (radio.uploads_overlap, radio.channel_changes_in_time, radio.shares_are_fixed),
        "with radio.large_scale: time the interference among uploads of {uplink} changes, "
        "and fixed shares hold for the round",
        (set_to("radio.sharing", "processor"), set_to("radio.large_scale", "round")),
    ),
)

LARGE_SCALE = (
    Rule(
        "radio.spatial_consistency",
        (radio.channel_changes_in_time, radio.has_no_maps),
        "radio.large_scale: time follows devices over maps of shadowing and line of sight",
        (set_to("radio.spatial_consistency", value=True), set_to("radio.large_scale", "round")),
    ),
    Rule(
        "radio.large_scale",
        (radio.channel_changes_in_time, server.links_are_direct),
        "is not modelled with links from device to device",
        (set_to("radio.large_scale", "round"), RELAYED),
    ),
    Rule(
        "radio.sharing",
        (radio.channel_changes_in_time, radio.shares_are_fixed, radio.cells_interfere),
        "interference changes with radio.large_scale: time, and fixed shares hold for the round",
        (set_to("radio.sharing", "processor"), set_to("radio.large_scale", "round")),
    ),
)

POWER_CONTROL = (
    # The band would be divided by SNRs at full power, at which devices do not send.
    Rule(
        "radio.allocation",
        (world.powers_are_controlled, radio.allocates_by_snr),
        "{allocation} assumes full power, but devices.power_control sets others",
        (
            set_to("radio.allocation", "equal", "set it to equal, proportional or round_robin"),
            set_to("devices.power_control", "full"),
        ),
    ),
)
