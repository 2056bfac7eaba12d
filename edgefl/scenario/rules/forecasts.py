"""Rules about what decides by forecasts: `server.optimiser`, allocations that set `by_forecast`, and `server.csi`."""

from edgefl.scenario.facts import radio, server, world
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.remedies import NO_CSI, NO_OVERLAP, NO_TRACE, RELAYED, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

# The server forecasts by a model of the channel; these rules come before others about recorded links.
RECORDED = tuple(
    Rule(
        key,
        (decides, radio.links_are_recorded),
        f"{name} needs to know channels, and recorded links tell the server none",
        (leave_out(key), NO_TRACE),
    )
    for key, decides, name in (
        ("server.optimiser", server.optimiser_decides, "{optimiser}"),
        ("radio.allocation", radio.allocates_by_forecast, "{allocation}"),
    )
)


def _deciding(key: str, decides: Fact, name: str) -> tuple[Rule, ...]:
    """Return the rules about decisions that are made when participants are chosen, for the whole round."""
    return (
        Rule(
            "radio.sharing",
            (decides, radio.shares_change),
            f"{name} decides shares for the whole round",
            (set_to("radio.sharing", "fixed"), leave_out(key)),
        ),
        Rule(
            key,
            (decides, server.rounds_are_unplanned),
            f"{name} plans rounds whose participants begin together, but those of {{policy}} do not",
            (leave_out(key), *ROUNDS_TOGETHER),
        ),
        Rule(
            "server.selection",
            (decides, server.polls),
            f"polls devices before {name} has decided on them",
            (leave_out("server.selection"), leave_out(key)),
        ),
        Rule(
            "radio.uplink",
            (decides, radio.uploads_are_not_apart),
            f"{name} divides the uplink among uploads, but these overlap",
            (NO_OVERLAP, leave_out(key)),
        ),
    )


OPTIMISER = (
    Rule(
        "radio.allocation",
        (server.optimiser_decides, server.allocation_is_not_the_optimisers),
        "the optimiser {optimiser} divides the uplink itself",
        (set_to("radio.allocation", "{optimisers_allocation}"), leave_out("server.optimiser")),
    ),
    Rule(
        "devices.power_control",
        (server.optimiser_decides, world.powers_are_controlled),
        "the optimiser {optimiser} decides transmit powers",
        (set_to("devices.power_control", "full"), leave_out("server.optimiser")),
    ),
    Rule(
        "devices.dvfs",
        (server.optimiser_decides, world.clocks_are_scaled),
        "the optimiser {optimiser} decides clocks",
        (set_to("devices.dvfs", "fixed"), leave_out("server.optimiser")),
    ),
    Rule(
        "radio.rate",
        (server.optimiser_needs_shannon, radio.rate_is_not_shannons),
        "the equations of the optimiser {optimiser} hold for Shannon's rate, not for {rate}",
        (set_to("radio.rate", "shannon"), leave_out("server.optimiser")),
    ),
    Rule(
        "devices.cpu_static_w",
        (server.optimiser_weighs_clocks, world.processors_draw_static_power),
        "the equations of the optimiser {optimiser} have no static power of processors",
        (set_to("devices.cpu_static_w", 0), leave_out("server.optimiser")),
    ),
    *_deciding("server.optimiser", server.optimiser_decides, "{optimiser}"),
)

ALLOCATION = (
    Rule(
        "server.csi",
        (radio.allocates_by_forecast, server.channels_are_unknown),
        "the allocation {allocation} needs to know channels",
        (set_to("server.csi", "perfect", "set it to perfect, mean or last"), leave_out("radio.allocation")),
    ),
    Rule(
        "devices.dvfs",
        (radio.allocates_by_forecast, world.clocks_are_scaled),
        "the allocation {allocation} assumes that devices compute at their highest clocks",
        (set_to("devices.dvfs", "fixed"), leave_out("radio.allocation")),
    ),
    Rule(
        "server.participants",
        (radio.allocates_places,),
        computed.places_are_too_few,
        (set_to("server.participants", "{most_participants}"), leave_out("radio.allocation")),
    ),
    Rule(
        "radio.subcarrier_spacing_hz",
        (radio.allocates_places, radio.has_resource_blocks),
        "{allocation} defines its own blocks",
        (leave_out("radio.subcarrier_spacing_hz"), leave_out("radio.allocation")),
    ),
    Rule(
        "radio.background",
        (radio.allocates_places, radio.has_background),
        "{allocation} gives blocks to devices only",
        (leave_out("radio.background"), leave_out("radio.allocation")),
    ),
    *_deciding("radio.allocation", radio.allocates_by_forecast, "{allocation}"),
)

CSI = (
    Rule(
        "server.csi",
        (server.channels_are_known, radio.links_are_recorded),
        "recorded links tell the server no channels",
        (*NO_CSI, NO_TRACE),
    ),
    Rule(
        "devices.radio_energy",
        (server.csi_is_requested, world.has_tails),
        "the server asks for reports on channels, and the radio states of devices that are not chosen are not modelled",
        (
            leave_out("devices.radio_energy"),
            set_to("server.csi", "last"),
            set_to("server.csi.report_bits", 0),
        ),
    ),
    Rule(
        "server.csi",
        (server.channels_are_known, server.links_are_direct),
        "is about links to base stations, but devices send to each other",
        (*NO_CSI, RELAYED),
    ),
    Rule(
        "server.csi",
        (server.channels_are_known, server.splits_model),
        "a forecast covers one download and one upload, but the policy {policy} has many",
        (*NO_CSI, *ROUNDS_TOGETHER),
    ),
    Rule(
        "server.csi",
        (server.channels_are_known, server.app_drives_rounds),
        "under the policy {policy} a program outside the scenario chooses devices",
        NO_CSI,
    ),
)
