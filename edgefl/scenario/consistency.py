"""Checks between sections: each raises an error about a section that contradicts another one.

The checks read the flags of policies, selections, algorithms and other members, never their classes. So a member from
outside the package gets the same checks.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from edgefl.coordination.policies import POLICIES, Policy
from edgefl.coordination.selection import SELECTIONS
from edgefl.core.catalogue import plugins_in
from edgefl.core.distributions import HEIGHT_M
from edgefl.core.errors import InputError
from edgefl.core.plugin_import import NotImported
from edgefl.core.plugins import attributing
from edgefl.core.section import fault_at
from edgefl.learning.algorithms import ALGORITHMS, Algorithm, properties
from edgefl.learning.partitions import PARTITIONS
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.radio.background import BACKGROUNDS
from edgefl.radio.recorded_links import are_snrs, check_carry, checked_recordings
from edgefl.radio.resources import Resources
from edgefl.radio.transfers import WAYS
from edgefl.scenario.csi_checks import check_csi
from edgefl.scenario.optimiser_checks import check_allocation, check_optimiser
from edgefl.scenario.over_the_air_checks import check_over_the_air
from edgefl.scenario.sections import Sections
from edgefl.scenario.uplink_checks import check_uplink
from edgefl.world.churn import CHURN
from edgefl.world.dvfs import DVFS
from edgefl.world.mobility import MOBILITY


def check(scenario: Sections) -> None:
    """Run all checks, in the order of `CHECKS`.

    Raises:
        ValidationError: about the first section that contradicts another.
        InputError: a check that a plug-in makes has failed.
    """
    plugins = plugins_in(scenario)
    for check_section in CHECKS:
        # A check that asks a member which `validate` has not imported is left out, and the others are made.
        with suppress(NotImported), attributing(plugins, InputError):
            check_section(scenario)


def check_split(scenario: Sections) -> None:
    """Check the sections that split learning depends on: the model, how it is trained, and the downlink."""
    policy = scenario.server.policy
    if not policy.splits_model:
        return
    if reason := scenario.model.check_cut(policy.cut_layer):
        raise fault_at(("server", "policy", "cut"), reason)
    algorithm = scenario.algorithm
    if not properties.trains_by_plain_sgd(algorithm) or not properties.only_averages(algorithm):
        raise fault_at(("algorithm",), "the policy split trains with plain SGD only: set it to fedavg")
    # Each half is priced by its layers, whereas a cost given in the scenario is that of the whole model.
    if scenario.model.cost is not None:
        text = "the policy split needs the cost of each half of the model, and this is the cost of the whole"
        raise fault_at(("model", "cost"), f"{text}: leave it out")
    if scenario.training.codec.compresses:
        text = "the policy split uploads no model update that could be compressed: leave it out"
        raise fault_at(("training", "codec"), text)
    if scenario.radio.downlink == "broadcast":
        text = "with the policy split each device receives gradients of its own: set it to unicast"
        raise fault_at(("radio", "downlink"), text)


def check_overlapping_rounds(scenario: Sections) -> None:
    """Check the sections that need all participants of a round to begin together."""
    if not scenario.server.policy.overlapping:
        return
    if scenario.radio.downlink == "broadcast":
        text = "with this server.policy devices begin at different times and share no broadcast: set it to unicast"
        raise fault_at(("radio", "downlink"), text)
    # Fixed shares are computed once, when a round begins, for all of its transfers.
    if scenario.radio.sharing == "fixed" and not _rates_are_recorded(scenario):
        text = "fixed shares need rounds that all devices begin together; with this server.policy set it to processor"
        raise fault_at(("radio", "sharing"), text)
    # Such churn draws who is present by the number of the round; rounds that overlap have several at a time.
    if scenario.churn.by_round:
        name = CHURN.name_of(scenario.churn)
        text = f"{name} needs rounds that do not overlap; with this server.policy set it to none"
        raise fault_at(("churn",), text)


def check_devices(scenario: Sections) -> None:
    """Check that there are at least as many devices as a round asks for."""
    count = scenario.devices.count
    participants = scenario.server.participants
    if participants is not None and participants > count:
        raise fault_at(("server", "participants"), f"must be <= devices.count = {count}, got {participants}")


def check_members(scenario: Sections) -> None:
    """Check churn, algorithm and selection against the number of devices, and the algorithm against the rate."""
    count = scenario.devices.count
    if reason := scenario.churn.check(count):
        raise fault_at(("churn",), reason)
    if not scenario.training.lr and properties.divides_by_lr(scenario.algorithm):
        text = f"{ALGORITHMS.name_of(scenario.algorithm)} divides model updates by it: set it above 0"
        raise fault_at(("training", "lr"), text)
    if reason := scenario.algorithm.check(count):
        raise fault_at(("algorithm",), reason)
    if reason := scenario.server.selection.check(count, scenario.participants):
        raise fault_at(("server", "selection"), reason)


def check_cells(scenario: Sections) -> None:
    """Check that devices can move in the cells, and that the path-loss model is valid wherever they go."""
    cells = scenario.cells
    radio = scenario.radio
    if cells.drop == "hexagons" and not scenario.mobility.keeps_to_hexagons:
        name = MOBILITY.name_of(scenario.mobility)
        raise fault_at(("cells", "drop"), f"mobility {name} does not keep devices in hexagons: set it to disc")
    if reason := scenario.mobility.check(cells.area):
        raise fault_at(("mobility",), reason)
    # Some mobility models keep devices at a least distance from the base station; others may bring them right below it.
    nearest_m = cells.nearest_m if scenario.mobility.keeps_min_distance else 0.0
    lowest_m, highest_m = scenario.devices.span("height_m")
    # A device that draws a height outside the allowed range is reported later, with its number.
    heights_m = radio.propagation.height_span_m(max(lowest_m, HEIGHT_M.least), min(highest_m, HEIGHT_M.most))
    if radio.trace is not None:  # there are no paths
        return
    reason = radio.propagation.check(nearest_m, cells.farthest_m, radio.carrier_hz, cells.bs_height_m, heights_m)
    if reason:
        raise fault_at(("radio", "propagation"), reason)
    if reason := radio.propagation.check_population(scenario.devices.count, cells.count):
        raise fault_at(("radio", "propagation"), reason)
    # Reuse is a key of the radio, but only the cells know which of them are neighbours.
    if reason := cells.check_reuse(radio.reuse):
        raise fault_at(("radio", "reuse"), reason)


RECORDED_RATES_KEYS = frozenset({"kind", "trace", "faults", "sharing"})
"""Keys of `radio` beside recorded rates; `sharing` has no effect there, but policies set its default."""

RECORDED_SNR_KEYS = RECORDED_RATES_KEYS | {
    "bandwidth_hz", "rate", "allocation", "background", "downlink", "subcarrier_spacing_hz", "slot_s", "tdd", "overhead"
}  # fmt: skip
"""The same where SNRs were recorded: they go through the rate model, on a share of the band."""


def check_background(scenario: Sections) -> None:
    """Check that other users leave something of the band, and that the shares can follow them."""
    radio = scenario.radio
    background = radio.background
    if background is None:
        return
    resources = Resources(radio)
    for way in WAYS:
        load = background.mean_load(way, resources.capacity_hz(way))
        if load is None:
            if radio.sharing == "fixed":
                text = f"the number of users of {BACKGROUNDS.name_of(background)} changes while shares are fixed"
                raise fault_at(("radio", "sharing"), f"{text}: set it to processor")
        elif not 0 <= load < 1:
            text = f"fills {load:.3g} of the {way}link, must be less than 1: lower it, or raise radio.bandwidth_hz"
            raise fault_at(("radio", "background"), text)


def check_link_trace(scenario: Sections) -> None:
    """Check recorded links: their files, and that no key of a model stands beside them."""
    radio = scenario.radio
    if radio.trace is None:
        return
    try:
        recordings = checked_recordings(radio.trace, scenario.devices.count)
        check_carry(radio.trace, recordings, radio)
    except InputError as error:
        raise fault_at(("radio", "trace"), str(error)) from None
    quantity, known = "rates", RECORDED_RATES_KEYS
    if are_snrs(recordings):
        quantity, known = "SNRs", RECORDED_SNR_KEYS
    if key := radio.without_effect(known):
        text = f"has no effect where {quantity} were recorded: leave it out, or leave radio.trace out"
        raise fault_at(("radio", key), text)


def check_beside_link_trace(scenario: Sections) -> None:
    """Check that no other section asks for what only a channel model has, where links were recorded."""
    if scenario.radio.trace is None:
        return
    if scenario.cells.energy is not None:
        text = "needs the powers that a model gives, and links were recorded: leave it out"
        raise fault_at(("cells", "energy"), text)
    if scenario.cells.antenna.directional:
        raise fault_at(("cells", "antenna"), "has no effect where links were recorded: leave it out")
    if scenario.cells.handover is not None:
        text = "compares powers that a model gives, and links were recorded: leave it out, or radio.trace"
        raise fault_at(("cells", "handover"), text)
    if scenario.server.policy.direct_links:
        text = "sends from device to device, and links to base stations were recorded: set links to relayed"
        raise fault_at(("server", "policy"), text)
    if not all(hardware.power_control.always_full for hardware in scenario.devices.made_of):
        text = "sets powers by path losses, and links were recorded: set it to full"
        raise fault_at(("devices", "power_control"), text)
    if scenario.devices.dvfs.needs_deadline:
        text = "estimates uploads by the channel model, and links were recorded: set it to fixed"
        raise fault_at(("devices", "dvfs"), f"{DVFS.name_of(scenario.devices.dvfs)} {text}")


def check_geometry(scenario: Sections) -> None:
    """Check that there are path losses to report geometry of."""
    if scenario.report.geometry and scenario.radio.trace is not None:
        raise fault_at(("report", "geometry"), "needs path losses, and links were recorded: set it to false")


def _rates_are_recorded(scenario: Sections) -> bool:
    """Return whether links were recorded as rates, so that each device has its own and nothing is shared."""
    trace = scenario.radio.trace
    if trace is None:
        return False
    try:
        return not are_snrs(trace.recordings())
    except InputError:
        return False  # `check_link_trace` tells what is wrong


def check_handover(scenario: Sections) -> None:
    """Check the policy and the radio if devices are handed over while they take part."""
    if scenario.cells.handover is None:
        return
    policy = scenario.server.policy
    if policy.splits_model:
        raise fault_at(("cells", "handover"), "is not modelled with the policy split: leave it out")
    if policy.direct_links:
        raise fault_at(("cells", "handover"), "is not modelled with links from device to device: leave it out")
    if not scenario.radio.spatial_consistency:
        text = "cells.handover compares received powers along a device's path, which must be a function of position"
        raise fault_at(("radio", "spatial_consistency"), f"{text}: set it to true")
    if scenario.radio.sharing == "fixed":
        text = "fixed shares need devices that stay in their cells; with cells.handover set it to processor"
        raise fault_at(("radio", "sharing"), text)


def check_large_scale(scenario: Sections) -> None:
    """Check the radio and the policy if the large-scale channel changes while devices take part."""
    radio = scenario.radio
    if radio.large_scale.kind == "round" or radio.trace is not None:
        return
    if not radio.spatial_consistency:
        text = "radio.large_scale: time follows devices over maps of shadowing and line of sight"
        raise fault_at(("radio", "spatial_consistency"), f"{text}: set it to true")
    if scenario.server.policy.direct_links:
        text = "is not modelled with links from device to device: set it to round"
        raise fault_at(("radio", "large_scale"), text)
    if radio.sharing == "fixed" and radio.interference is not None:
        text = "interference changes while devices move, and fixed shares hold for the round"
        raise fault_at(("radio", "sharing"), f"{text}: with large_scale: time set it to processor")


def check_power_control(scenario: Sections) -> None:
    """Check that the band is not divided by SNRs at full power where devices send at another."""
    controls = [hardware.power_control for hardware in scenario.devices.made_of]
    if all(control.always_full for control in controls):
        return
    if scenario.radio.allocation.by_snr:
        text = f"{ALLOCATIONS.name_of(scenario.radio.allocation)} knows devices at full power only"
        text = f"{text}: with devices.power_control set it to equal, proportional or round_robin"
        raise fault_at(("radio", "allocation"), text)


def check_batteries(scenario: Sections) -> None:
    """Check the server if clocks follow a deadline or devices have batteries."""
    devices = scenario.devices
    server = scenario.server
    if devices.dvfs.needs_deadline and server.deadline_s is None:
        text = "needs server.deadline_s: set server.policy to deadline, or this to fixed"
        raise fault_at(("devices", "dvfs"), f"{DVFS.name_of(devices.dvfs)} {text}")
    if devices.dvfs.needs_deadline and server.selection.polls:
        text = "the selection polls devices before the deadline begins to run: set it to fixed"
        raise fault_at(("devices", "dvfs"), text)
    if devices.has_tails and server.selection.polls:
        text = "the selection polls devices, and the radios of candidates that are not chosen are not followed"
        raise fault_at(("devices", "radio_energy"), f"{text}: leave drx_tail_s out, or take another selection")
    if devices.has_batteries and server.policy.direct_links:
        text = "over direct links a device receives the model before its own participation begins"
        raise fault_at(("devices", "battery"), f"{text}: leave it out, or set links to relayed")
    if devices.has_batteries and server.selection.polls:
        text = "the selection polls devices, and the energy of waiting candidates that are not chosen is not modelled"
        raise fault_at(("devices", "battery"), f"{text}: leave it out, or take another selection")


def check_aggregation(scenario: Sections) -> None:
    """Check the algorithm if the policy does not aggregate all updates of a round in one place."""
    algorithm = scenario.algorithm
    policy = scenario.server.policy
    name = POLICIES.name_of(policy)
    if not policy.averages and not _needs_only_the_last_model(algorithm):
        text = f"the policy {name} averages nothing: set it to {ALGORITHMS.names_where(_needs_only_the_last_model)}"
        raise fault_at(("algorithm",), f"{text}, without availability or mode wait")
    if policy.edge_models and not properties.is_divisible(algorithm):
        text = f"under the policy {name} each base station keeps a model and nothing else"
        text = f"{text}: set it to {ALGORITHMS.names_where(properties.is_divisible)}"
        raise fault_at(("algorithm",), f"{text}, without availability, mode wait or server momentum")
    if scenario.report.contributions and (policy.edge_models or not policy.averages):
        text = f"under the policy {name} the updates of a round are not aggregated together: leave it out"
        raise fault_at(("report", "contributions"), text)
    if scenario.report.device_losses and (policy.edge_models or not policy.averages):
        text = f"under the policy {name} a round has no one model that its participants make: leave it out"
        raise fault_at(("report", "device_losses"), text)
    if scenario.report.device_losses and scenario.data.redivide is not None:
        raise fault_at(("report", "device_losses"), "is about samples that devices keep: leave it or data.redivide out")
    if scenario.report.device_losses and not properties.uploads_move(algorithm):
        text = f"the server does not know local models, as {ALGORITHMS.name_of(algorithm)} uploads no move of the model"
        raise fault_at(("report", "device_losses"), f"{text}: leave it out, or take another algorithm")


def check_redivision(scenario: Sections) -> None:
    """Check policy and algorithm if the samples of a round's participants are divided among them anew."""
    partition = scenario.data.redivide
    if partition is None:
        return
    where = ("data", "redivide")
    if not partition.of_parts or partition.groups > 1:
        text = f"{PARTITIONS.name_of(partition)} divides the whole training set: set it to iid, or by classes"
        raise fault_at(where, f"{text} as to dirichlet_by_class")
    policy = scenario.server.policy
    if not _trains_one_model_together(policy):
        text = f"needs rounds in which all train one model; those of the policy {POLICIES.name_of(policy)} do not"
        raise fault_at(where, f"{text}: leave it out, or set server.policy to synchronous")
    if properties.keeps_for_each_device(scenario.learning):
        name = ALGORITHMS.name_of(scenario.algorithm)
        text = f"{name} keeps a state for each device, whose samples would be others in every round"
        raise fault_at(("algorithm",), f"{text}: leave data.redivide out, or set it to fedavg")


def check_direct_links(scenario: Sections) -> None:
    """Check local training if devices send the model to each other."""
    if not scenario.server.policy.direct_links:
        return
    training = scenario.training
    if training.stragglers and not training.stragglers.keep:
        text = "over direct links a device's model has been passed on before it could be dropped: leave it out"
        raise fault_at(("training", "stragglers", "keep"), f"{text}, or set links to relayed")
    if training.codec.compresses:
        text = "compresses the difference from a model that the next device does not have: leave it out"
        raise fault_at(("training", "codec"), f"{text}, or set links to relayed")


def check_stored_updates(scenario: Sections) -> None:
    """Check the sections that depend on updates stored by the server or the devices."""
    algorithm = scenario.algorithm
    contributions = scenario.report.contributions
    if contributions and contributions.players == "all" and not properties.keeps_updates(algorithm):
        text = "all needs an algorithm whose server keeps each device's last update: fedar, fedvarp, mifa"
        raise fault_at(("report", "contributions", "players"), f"{text} with state server")
    codec = scenario.training.codec
    loses_for_good = codec.compresses and not codec.error_feedback
    if loses_for_good and algorithm.uploads_changes:
        # The server's sum of decoded changes would drift away from the sum of the states that devices keep.
        text = "devices keep exact updates, but the server adds up those that the codec has compressed"
        raise fault_at(("algorithm", "state"), f"{text}: set it to server, or training.codec.error_feedback to true")


def check_departed_state(scenario: Sections) -> None:
    """Check that departing devices can lose their state, if the scenario says so."""
    server = scenario.server
    where = ("server", "departed_state")
    if server.departed_state == "kept":
        return
    if server.on_departure == "completes":  # it finishes its participation out of sight
        text = "with on_departure: completes a departing device loses nothing: set it to kept"
        raise fault_at(where, text)
    # Groups that take turns leave as other devices do.
    if scenario.churn.by_round and scenario.groups == 1:
        name = CHURN.name_of(scenario.churn)
        raise fault_at(where, f"with the churn {name} devices miss rounds, and none departs: set it to kept")
    if server.departed_state == "lost":
        return
    # With "forgotten" the server, too, removes the device's contribution from its state.
    algorithm = scenario.algorithm
    if not properties.can_forget(algorithm):
        text = f"this variant of {ALGORITHMS.name_of(algorithm)} keeps no mean of the devices' states"
        raise fault_at(where, f"{text}: set it to lost")
    if properties.is_coupled(algorithm) and scenario.training.codec.compresses:
        text = "the server cannot know how the codec changed a device's state: set it to lost"
        raise fault_at(where, text)


def check_sessions(scenario: Sections) -> None:
    """Check policy, churn and number of devices if the run has sessions."""
    sessions = scenario.sessions
    if sessions is None:
        return
    policy = scenario.server.policy
    if policy.overlapping or policy.edge_models:
        missing = "rounds that do not overlap"
        if policy.edge_models:
            missing = "one global model"
        text = f"need {missing}, which the policy {POLICIES.name_of(policy)} does not have: leave them out"
        raise fault_at(("sessions",), text)
    if policy.splits_model and properties.has_own_loss(scenario.learning):
        text = "the policy split trains with the task's loss only: choose another initialisation"
        raise fault_at(("sessions", "initialisation"), text)
    # A trigger counts arrivals in continuous time, and churn by rounds has none.
    if sessions.trigger and (scenario.churn.always_present or scenario.churn.by_round):
        text = f"waits for devices to arrive, and with the churn {CHURN.name_of(scenario.churn)} none does"
        raise fault_at(("sessions", "trigger"), f"{text}: set churn to poisson, or to coverage if devices move")
    if sessions.trigger and (sessions.groups or 1) > 1:
        text = "groups take turns, but with a trigger churn decides which devices are present: leave it out"
        raise fault_at(("sessions", "groups"), text)
    if scenario.groups > scenario.devices.count:
        text = f"must be <= devices.count = {scenario.devices.count}, got {scenario.groups}"
        raise fault_at(("sessions", "groups"), text)
    if sessions.first_group > scenario.groups:
        text = f"must be <= {scenario.groups}, the number of groups, got {sessions.first_group}"
        raise fault_at(("sessions", "first_group"), text)


def check_kept_state(scenario: Sections) -> None:
    """Check the algorithm's state if the run has sessions."""
    sessions = scenario.sessions
    if sessions is None:
        return
    turns = 1  # state that begins anew in each session is about one group alone
    if sessions.keep_state:
        turns = scenario.groups
    if misfit := scenario.algorithm.check_sessions(turns):
        key, reason = misfit
        raise fault_at(("algorithm", key), reason)
    # An algorithm is coupled if its server keeps a sum of states that the devices keep.
    if sessions.keep_state and sessions.extra and properties.is_coupled(scenario.algorithm):
        text = f"gradient rounds would change the devices' state of {ALGORITHMS.name_of(scenario.algorithm)}"
        raise fault_at(("sessions", "keep_state"), f"{text}, but not the server's sums of it: leave it out")


def check_selection(scenario: Sections) -> None:
    """Check the policy and the devices if the selection needs batteries, reports or polls."""
    selection = scenario.server.selection
    policy = scenario.server.policy
    if selection.needs_batteries and not scenario.devices.has_batteries:
        text = "no device has a battery: set devices.battery, or by to energy"
        raise fault_at(("server", "selection", "by"), text)
    # A clock rule plans the clock for training only; it gives none for the answer to a poll.
    if selection.polls and scenario.devices.dvfs.scales_clock:
        text = "polls devices for a loss, and devices.dvfs sets their clock for training only"
        raise fault_at(("server", "selection"), f"{text}: leave one of the two out")
    if selection.report_floats and policy.splits_model:
        text = "needs a report with each update, which the policy split does not send: take another selection"
        raise fault_at(("server", "selection"), text)
    # Polled losses are those of the model that the round then trains: there must be one such model for all.
    if selection.polls and not _trains_one_model_together(policy):
        name = POLICIES.name_of(policy)
        text = f"polls devices, which needs rounds in which all train one model; those of the policy {name} do not"
        raise fault_at(("server", "selection"), f"{text}: set the variant to rpow-d")


def check_polled_training(scenario: Sections) -> None:
    """Check that devices can train before they are chosen: whoever is not chosen must be as if it had not trained."""
    selection = scenario.server.selection
    if not selection.polls_training:
        return
    name = SELECTIONS.name_of(selection)
    algorithm = ALGORITHMS.name_of(scenario.algorithm)
    text = f"the selection {name} lets devices train that are not chosen"
    if properties.keeps_at_devices(scenario.algorithm):
        raise fault_at(("algorithm",), f"{text}, and {algorithm} keeps a state at devices that this would change")
    if not properties.uploads_move(scenario.algorithm):
        text = f"the selection {name} compares moves of the model, and {algorithm} uploads none"
        raise fault_at(("algorithm",), f"{text}: take another algorithm")
    if scenario.training.batch_norm == "local":
        raise fault_at(("training", "batch_norm"), f"{text}, which would change their statistics: leave it out")
    if scenario.report.models:
        raise fault_at(("report", "models"), f"{text}, which would change their last models: leave it out")
    if scenario.data.redivide is not None:
        raise fault_at(("data", "redivide"), f"{text}, before samples are divided anew: leave it out")


def check_backhaul(scenario: Sections) -> None:
    """Check that the backhaul reaches all base stations, and that the policy uses it."""
    if scenario.backhaul is None:
        return
    if reason := scenario.backhaul.check(scenario.cells.sites):
        raise fault_at(("backhaul",), reason)
    policy = scenario.server.policy
    if policy.direct_links or policy.splits_model:
        text = f"is not modelled under the policy {POLICIES.name_of(policy)}: leave it out"
        raise fault_at(("backhaul",), text)
    # The policy's own keys are a short form of the section: beside it, one of the two would be ignored.
    star = policy.star_backhaul
    if star is not None and (star.rate_bps or star.delay_s):
        text = "describes a backhaul of its own beside the section backhaul: leave one of the two out"
        raise fault_at(("server", "policy"), text)


def _trains_one_model_together(policy: Policy) -> bool:
    """Return whether all participants of a round begin together, and train one model."""
    return policy.averages and not (policy.overlapping or policy.edge_models or policy.splits_model)


def _needs_only_the_last_model(algorithm: Algorithm) -> bool:
    """Return whether the algorithm works on a model that walks from device to device and is never averaged."""
    return properties.only_averages(algorithm) and properties.is_divisible(algorithm)


# Only the first fault between sections is told: another order would change which one that is.
CHECKS: tuple[Callable[[Sections], None], ...] = (
    check_split,
    check_devices,
    check_overlapping_rounds,
    check_members,
    check_cells,
    check_link_trace,
    check_beside_link_trace,
    check_background,
    check_uplink,
    check_optimiser,
    check_allocation,
    check_over_the_air,
    check_geometry,
    check_handover,
    check_large_scale,
    check_power_control,
    check_batteries,
    check_aggregation,
    check_redivision,
    check_direct_links,
    check_stored_updates,
    check_departed_state,
    check_sessions,
    check_kept_state,
    check_selection,
    check_polled_training,
    check_csi,
    check_backhaul,
)
