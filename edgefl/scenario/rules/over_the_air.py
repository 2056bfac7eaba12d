"""Rules about uplinks that deliver only the sum of the updates."""

from edgefl.scenario.facts import learning, radio, server, world
from edgefl.scenario.rules.remedies import ALL_AT_ONCE, NO_CSI, NO_OVERLAP
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

NOT_MODELLED = ("trace", "large_scale", "faults", "errors", "interference", "background", "access_s")
"""Keys of `radio` about transfers, which do not apply to analog updates."""

_SUM = (radio.uploads_add_up,)

SUMS_SERVER = (
    Rule(
        "server.policy",
        (*_SUM, server.is_not_all_at_once),
        "under the policy {policy} participants do not all send at once, as radio.uplink: {uplink} requires",
        (*ALL_AT_ONCE, NO_OVERLAP),
    ),
    Rule(
        "server.selection",
        (*_SUM, server.selection_needs_reports),
        "needs a report from each device, but radio.uplink: {uplink} delivers a sum",
        (leave_out("server.selection"), NO_OVERLAP),
    ),
    Rule(
        "server.csi",
        (*_SUM, server.channels_are_known),
        "forecasts uploads one by one, but radio.uplink: {uplink} delivers their sum",
        (*NO_CSI, NO_OVERLAP),
    ),
    Rule(
        "server.device_evaluation",
        (*_SUM, server.devices_evaluate),
        "needs an answer from each device, but radio.uplink: {uplink} delivers a sum",
        (leave_out("server.device_evaluation"), NO_OVERLAP),
    ),
    Rule(
        "cells.handover",
        (*_SUM, world.hands_over),
        "is not modelled with radio.uplink: {uplink}",
        (leave_out("cells.handover"), NO_OVERLAP),
    ),
)

SUMS_LEARNING = (
    Rule(
        "algorithm",
        (*_SUM, learning.needs_more_than_mean),
        "{algorithm} needs more of the updates than a mean, which is all that radio.uplink: {uplink} delivers",
        (
            set_to("algorithm", "fedavg", "set it to {mean_algorithms}, without availability or mode wait"),
            NO_OVERLAP,
        ),
    ),
    Rule(
        "training.codec",
        (*_SUM, learning.compresses),
        "radio.uplink: {uplink} adds up updates as they are, and compressed ones cannot be added",
        (leave_out("training.codec"), NO_OVERLAP),
    ),
    Rule(
        "training.stragglers.keep",
        (*_SUM, learning.drops_stragglers),
        "updates that radio.uplink: {uplink} has added up cannot be dropped",
        (set_to("training.stragglers.keep", value=True), NO_OVERLAP),
    ),
)

SUMS_RADIO = (
    *(
        Rule(
            f"radio.{key}",
            (*_SUM, radio.is_set(key)),
            "is not modelled with radio.uplink: {uplink}",
            (leave_out(f"radio.{key}"), NO_OVERLAP),
        )
        for key in NOT_MODELLED
    ),
    Rule(
        "devices.radio_energy.tx_j_per_mbit",
        (*_SUM, world.sent_bits_draw_energy),
        "with radio.uplink: {uplink} updates are sent as analog values, not as bits",
        (set_to("devices.radio_energy.tx_j_per_mbit", 0), NO_OVERLAP),
    ),
    Rule(
        "radio.sharing",
        (*_SUM, radio.shares_change),
        "with radio.uplink: {uplink} all participants send at once, on the whole band",
        (set_to("radio.sharing", "fixed"), NO_OVERLAP),
    ),
    Rule(
        "radio.tdd",
        (*_SUM, radio.slots_have_directions),
        "with radio.uplink: {uplink} slots have no directions",
        (
            set_to("radio.tdd", {"downlink": 0.7, "uplink": 0.3}, "write {{downlink: 0.7, uplink: 0.3}}"),
            NO_OVERLAP,
        ),
    ),
    Rule(
        "devices.power_control",
        (*_SUM, world.powers_are_controlled),
        "radio.uplink: {uplink} sets transmit powers itself, up to tx_power_dbm",
        (set_to("devices.power_control", "full"), NO_OVERLAP),
    ),
)
