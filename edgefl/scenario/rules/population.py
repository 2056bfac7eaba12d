"""Rules about devices: how many there are, how they come and go, move, compute and are handed over."""

from edgefl.scenario.facts import learning, radio, server, world
from edgefl.scenario.rules import computed
from edgefl.scenario.rules.remedies import BATTERY, PLAIN_AVERAGING, RELAYED, ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import OUT, Remedy, Rule, leave_out, set_to

MEMBERS = (
    Rule("churn", (), computed.churn_misfits),
    Rule(
        "training.lr",
        (learning.rate_is_zero, learning.divides_by_rate),
        "{algorithm} divides model updates by it",
        (set_to("training.lr", 0.1, "set it above 0"), PLAIN_AVERAGING),
    ),
    Rule("algorithm", (), computed.algorithm_misfits),
    Rule("server.selection", (), computed.selection_misfits),
)

CELLS = (
    Rule(
        "cells.drop",
        (world.cells_are_hexagons, world.mobility_leaves_hexagons),
        "mobility {mobility} does not keep devices in hexagons",
        (set_to("cells.drop", "disc"), set_to("mobility", "static")),
    ),
    Rule("mobility", (), computed.mobility_misfits),
    Rule("radio.propagation", (radio.links_are_modelled,), computed.cells_misfit_propagation),
    Rule("radio.propagation", (radio.links_are_modelled,), computed.propagation_misfits),
    Rule("radio.propagation", (radio.links_are_modelled,), computed.losses_are_too_few),
    Rule("devices.carbon_g_kwh", (), computed.carbon_of_devices_is_wrong),
    Rule("cells.energy.carbon_g_kwh", (), computed.carbon_of_base_stations_is_wrong),
    Rule("radio.reuse", (radio.links_are_modelled,), computed.reuse_misfits),
)

HANDOVER = (
    Rule(
        "cells.handover",
        (world.hands_over, server.splits_model),
        "is not modelled under the policy {policy}",
        (leave_out("cells.handover"), *ROUNDS_TOGETHER),
    ),
    Rule(
        "cells.handover",
        (world.hands_over, server.links_are_direct),
        "is not modelled with links from device to device",
        (leave_out("cells.handover"), RELAYED),
    ),
    Rule(
        "radio.spatial_consistency",
        (world.hands_over, radio.has_no_maps),
        "cells.handover compares received powers along a device's path, which must be a function of position",
        (set_to("radio.spatial_consistency", value=True), leave_out("cells.handover")),
    ),
    Rule(
        "radio.sharing",
        (world.hands_over, radio.shares_are_fixed),
        "fixed shares need devices that stay in their cells, but with cells.handover they do not",
        (set_to("radio.sharing", "processor"), leave_out("cells.handover")),
    ),
)

PLAIN_COMPUTING = set_to("devices.compute", None, "set it to null")

COMPUTING = (
    Rule(
        "devices.compute",
        (world.computing_has_a_law, server.splits_model),
        "the kinds of operations are not known separately for the two parts of a split model",
        (PLAIN_COMPUTING, *ROUNDS_TOGETHER),
    ),
    Rule(
        "devices.compute",
        (world.processors_get_hot, server.polls),
        "the selection polls devices, and the heating of candidates that are not chosen is not modelled",
        (PLAIN_COMPUTING, leave_out("server.selection")),
    ),
)

BATTERIES = (
    Rule(
        "devices.dvfs",
        (world.clocks_follow_deadline, server.has_no_deadline),
        "{dvfs} needs server.deadline_s, which the policy {policy} does not have",
        (
            set_to("devices.dvfs", "fixed"),
            Remedy(
                {"server.policy": "deadline", "server.deadline_s": 10.0},
                "set server.policy to deadline and give server.deadline_s",
                offered=radio.uploads_arrive_apart,
            ),
        ),
    ),
    Rule(
        "devices.dvfs",
        (world.clocks_follow_deadline, server.polls),
        "the selection polls devices before the deadline starts",
        (set_to("devices.dvfs", "fixed"), leave_out("server.selection")),
    ),
    Rule(
        "devices.radio_energy",
        (world.has_tails, server.polls),
        "the selection polls devices, and the radio states of candidates that are not chosen are not modelled",
        (
            leave_out("devices.radio_energy"),
            leave_out("server.selection"),
        ),
    ),
    Rule(
        "devices.battery",
        (world.has_batteries, server.links_are_direct),
        "over direct links a device receives the model before its participation begins",
        (leave_out("devices.battery"), RELAYED),
    ),
    Rule(
        "devices.setup_s",
        (world.sets_up, server.links_are_direct),
        "over direct links a device receives the model before its participation, and so before it sets up",
        (
            Remedy({"devices.setup_s": OUT, "devices.setup_j": OUT}, "leave out devices.setup_s and devices.setup_j"),
            RELAYED,
        ),
    ),
    Rule(
        "devices.battery",
        (world.has_batteries, server.polls),
        "the selection polls devices, and the energy of waiting candidates that are not chosen is not modelled",
        (leave_out("devices.battery"), leave_out("server.selection")),
    ),
)

LIFETIME = (
    Rule(
        "stop.depleted",
        (world.ends_with_batteries, world.has_no_batteries),
        "no device has a battery that could run out",
        (leave_out("stop.depleted"), BATTERY),
    ),
    Rule(
        "stop.depleted",
        (world.has_batteries,),
        computed.too_many_depleted,
        (
            set_to("stop.depleted", "{batteries}"),
            set_to("devices.count", "{depleted}", offered=world.all_have_batteries),
        ),
    ),
)

DEPARTED_STATE = (
    Rule(
        "server.departed_state",
        (server.departed_lose_state, server.departures_complete),
        "with on_departure: completes a departing device loses nothing",
        (set_to("server.departed_state", "kept"), set_to("server.on_departure", "lost")),
    ),
    # Groups that take turns leave as other devices do.
    Rule(
        "server.departed_state",
        (server.departed_lose_state, server.no_device_departs),
        "with the churn {churn} devices miss rounds, and none departs",
        (set_to("server.departed_state", "kept"),),
    ),
    # The server, too, removes the device's contribution from its state.
    Rule(
        "server.departed_state",
        (server.departed_are_forgotten, learning.cannot_forget),
        "this variant of {algorithm} keeps no mean of the devices' states",
        (set_to("server.departed_state", "lost"), PLAIN_AVERAGING),
    ),
    Rule(
        "server.departed_state",
        (server.departed_are_forgotten, learning.is_coupled, learning.compresses),
        "the server cannot know how the codec changed a device's state",
        (set_to("server.departed_state", "lost"), leave_out("training.codec")),
    ),
)

PARTICIPANTS = (
    Rule(
        "server.participants",
        (),
        computed.too_many_participants,
        (set_to("server.participants", "{devices}"), set_to("devices.count", "{participants}")),
    ),
)
