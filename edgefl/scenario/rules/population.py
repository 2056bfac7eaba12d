"""Rules about devices: how many there are, how they come and go, move, compute and are handed over."""

from edgefl.scenario.facts import learning, radio, server, world
from edgefl.scenario.rules import computed, features
from edgefl.scenario.rules.rule import Rule, leave_out, set_to

MEMBERS = (
    Rule("churn", (), computed.churn_misfits),
    features.ZERO_RATE.excludes(features.DIVISION_BY_RATE, "{algorithm} divides model updates by it"),
    Rule("algorithm", (), computed.algorithm_misfits),
    Rule("server.selection", (), computed.selection_misfits),
)

CELLS = (
    features.HEXAGONS.excludes(features.LEFT_HEXAGONS, "mobility {mobility} does not keep devices in hexagons"),
    Rule("mobility", (), computed.mobility_misfits),
    Rule("radio.propagation", (radio.links_are_modelled,), computed.cells_misfit_propagation),
    Rule("radio.propagation", (radio.links_are_modelled,), computed.propagation_misfits),
    Rule("radio.propagation", (radio.links_are_modelled,), computed.losses_are_too_few),
    Rule("devices.carbon_g_kwh", (), computed.carbon_of_devices_is_wrong),
    Rule("cells.energy.carbon_g_kwh", (), computed.carbon_of_base_stations_is_wrong),
    Rule("radio.reuse", (radio.links_are_modelled,), computed.reuse_misfits),
)

HANDOVER = (
    features.HANDOVER.excludes(features.SPLIT, "is not modelled under the policy {policy}"),
    features.NO_MAPS.excludes(
        features.HANDOVER,
        "cells.handover compares received powers along a device's path, which must be a function of position",
    ),
    features.FIXED_SHARES.excludes(
        features.HANDOVER, "fixed shares need devices that stay in their cells, but with cells.handover they do not"
    ),
)

COMPUTING = (
    features.COMPUTE_LAW.excludes(
        features.SPLIT, "the kinds of operations are not known separately for the two parts of a split model"
    ),
    features.HEAT.excludes(
        features.POLLS,
        "the selection polls devices, and the heating of candidates that are not chosen is not modelled",
    ),
)

BATTERIES = (
    features.DEADLINE_CLOCKS.excludes(
        features.NO_DEADLINE, "{dvfs} needs server.deadline_s, which the policy {policy} does not have"
    ),
    features.DEADLINE_CLOCKS.excludes(features.POLLS, "the selection polls devices before the deadline starts"),
    features.TAILS.excludes(
        features.POLLS,
        "the selection polls devices, and the radio states of candidates that are not chosen are not modelled",
    ),
    features.BATTERIES.excludes(
        features.POLLS,
        "the selection polls devices, and the energy of waiting candidates that are not chosen is not modelled",
    ),
)

LIFETIME = (
    features.DEPLETION.excludes(features.NO_BATTERIES, "no device has a battery that could run out"),
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
    features.LOST_STATE.excludes(
        features.COMPLETED_DEPARTURE, "with on_departure: completes a departing device loses nothing"
    ),
    # Groups that take turns leave as other devices do.
    features.LOST_STATE.excludes(features.NO_DEPARTURE, "with the churn {churn} devices miss rounds, and none departs"),
    # The server, too, removes the device's contribution from its state.
    features.FORGOTTEN_STATE.excludes(
        features.NO_FORGETTING, "this variant of {algorithm} keeps no mean of the devices' states"
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
