"""Reasons that need more than facts: they compare numbers, or ask members and files."""

import math
from collections.abc import Iterator

import numpy as np

from edgefl.core.errors import InputError
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.radio.budget.resources import Resources
from edgefl.radio.propagation import Propagation
from edgefl.radio.propagation.free_space import FreeSpace
from edgefl.radio.propagation.log_distance import LogDistance
from edgefl.radio.recorded_links import check_carry, checked_recordings
from edgefl.radio.transfers import WAYS
from edgefl.scenario.facts import radio
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.sections import Sections
from edgefl.world.mobility.placed import Placed

USUAL_HEIGHTS_M = (1.5, 22.5)
"""Heights of devices' antennas in UMi and UMa (3GPP TR 38.901, Table 7.4.1-1)."""

RECORDED_RATES_KEYS = frozenset({"kind", "trace", "faults", "sharing", "access_s"})
"""Keys of `radio` that recorded rates allow; `sharing` has no effect there, but policies set its default."""

RECORDED_SNR_KEYS = RECORDED_RATES_KEYS | {
    "bandwidth_hz", "rate", "allocation", "background", "downlink", "subcarrier_spacing_hz", "slot_s", "tdd", "overhead"
}  # fmt: skip
"""Keys of `radio` that recorded SNRs allow: the rate model applies, on a share of the band."""

RECORDING_CONDITIONS = ("tx_power_dbm", "bandwidth_hz")
"""Keys of `radio.trace` on how SNRs were recorded."""


def cut_is_wrong(scenario: Sections) -> str | None:
    """Return why the model cannot be cut where the policy says."""
    return scenario.model.check_cut(scenario.server.policy.cut_layer)


def _above(value: int | None, most: int, name: str) -> str | None:
    """Return why a number is above the greatest that it may be; None if it is not."""
    if value is None or value <= most:
        return None
    return f"must be <= {name}, got {value}"


def too_many_participants(scenario: Sections) -> str | None:
    """Return why a round asks for more devices than there are."""
    return _above(scenario.server.participants, *_count(scenario))


def _count(scenario: Sections) -> tuple[int, str]:
    count = scenario.devices.count
    return count, f"devices.count = {count}"


def too_many_depleted(scenario: Sections) -> str | None:
    """Return why a run cannot end when so many devices have run out of charge."""
    batteries = scenario.devices.battery_count
    if batteries < scenario.devices.count:
        return _above(scenario.stop.depleted, batteries, f"{batteries}, the number of devices with a battery")
    return _above(scenario.stop.depleted, *_count(scenario))


def churn_misfits(scenario: Sections) -> str | None:
    """Return why the churn does not suit so many devices."""
    return scenario.churn.check(scenario.devices.count)


def algorithm_misfits(scenario: Sections) -> str | None:
    """Return why the algorithm does not suit so many devices."""
    return scenario.algorithm.check(scenario.devices.count)


def selection_misfits(scenario: Sections) -> str | None:
    """Return why the selection cannot choose so many of so many devices."""
    return scenario.server.selection.check(scenario.devices.count, scenario.participants)


def mobility_misfits(scenario: Sections) -> str | None:
    """Return why the mobility does not suit the cells."""
    return scenario.mobility.check(scenario.cells.area)


def cells_misfit_propagation(scenario: Sections) -> str | None:
    """Return why the path-loss model, such as a map of one place, does not hold for these base stations."""
    # A file may bring devices anywhere, and other users are anywhere in the cells.
    stays = not isinstance(scenario.mobility, Placed) or scenario.radio.background is not None
    try:
        return scenario.radio.propagation.check_cells(scenario.cells, stays=stays)
    except InputError as error:
        return str(error)


def propagation_misfits(scenario: Sections) -> str | None:
    """Return why the path-loss model is not valid at all places of devices."""
    propagation = scenario.radio.propagation
    paths = _paths(scenario, propagation)
    clamping = propagation.model_copy(update={"out_of_range": "clamp"})
    misfit = clamping.check(*paths)  # of carrier or heights, which other distances cannot resolve
    if misfit is not None:
        return misfit
    reason = propagation.check(*paths)
    if reason is None or reason != propagation.check_distances(*paths):
        return reason
    return f"{reason}: {'; or '.join(_remedies_of_distances(scenario))}"


def _paths(scenario: Sections, propagation: Propagation) -> tuple[float, float, float, float, tuple[float, float]]:
    """Return the shortest and longest distances, the carrier, and heights of base stations and devices."""
    cells = scenario.cells
    # Some mobility models keep devices at a least distance from the base station; others bring them right below it.
    nearest_m = cells.nearest_m if scenario.mobility.keeps_min_distance else 0.0
    lowest_m, highest_m = scenario.devices.span("height_m")
    # A distribution without bounds is cut to the ranges of TR 38.901 and of the model; a device that draws a height
    # outside is reported later, with its number.
    least_m, most_m = np.clip(USUAL_HEIGHTS_M, *propagation.validity().ut_height_m).tolist()
    if math.isinf(lowest_m):
        lowest_m = min(least_m, highest_m)
    if math.isinf(highest_m):
        highest_m = max(most_m, lowest_m)
    heights_m = propagation.height_span_m(lowest_m, highest_m)
    return nearest_m, cells.farthest_m, scenario.radio.carrier_hz, cells.bs_height_m, heights_m


def _remedies_of_distances(scenario: Sections) -> Iterator[str]:
    """Return remedies for distances outside the path-loss model's range, the least invasive first."""
    cells = scenario.cells
    propagation = scenario.radio.propagation
    nearest_m, farthest_m, carrier_hz, bs_height_m, heights_m = _paths(scenario, propagation)
    near_m, far_m = propagation.strictest_range_m(carrier_hz, bs_height_m, heights_m)
    changes = []  # of the cells; all are needed
    possible = True
    if nearest_m < near_m:
        in_hexagons = cells.layout == "hexagonal" and not cells.has_one_cell and scenario.mobility.keeps_to_hexagons
        possible = scenario.mobility.keeps_min_distance and (cells.has_one_cell or in_hexagons)
        if not cells.has_one_cell and cells.drop == "disc":
            changes.append("cells.drop to hexagons")
        if cells.min_distance_m < near_m:
            changes.append(f"cells.min_distance_m to {_rounded_up(near_m):g}")
    if farthest_m > far_m:
        changes.append(f"cells.radius_m to at most {math.floor(cells.radius_m * far_m / farthest_m)}")
        possible = possible and cells.layout != "listed"
    if possible:
        yield f"set {' and '.join(changes)}"
    others = [model.label for model in (LogDistance(), FreeSpace()) if model.check(*_paths(scenario, model)) is None]
    others = [label for label in others if label != propagation.label]
    if others:
        hold = "holds" if len(others) == 1 else "hold"
        yield f"set radio.propagation to {' or '.join(others)}, which {hold} there"
    yield "last, set radio.propagation.out_of_range to clamp, which prices paths outside at the border"


def _rounded_up(length_m: float) -> float:
    return math.ceil(length_m * 1e3) / 1e3


def losses_are_too_few(scenario: Sections) -> str | None:
    """Return why the path-loss model does not have so many devices and cells."""
    return scenario.radio.propagation.check_population(scenario.devices.count, scenario.cells.count)


def carbon_of_devices_is_wrong(scenario: Sections) -> str | None:
    """Return why a course of carbon intensity cannot be used for devices."""
    return next(filter(None, (intensity.check() for intensity in scenario.devices.carbon or ())), None)


def carbon_of_base_stations_is_wrong(scenario: Sections) -> str | None:
    """Return why a course of carbon intensity cannot be used for base stations."""
    energy = scenario.cells.energy
    if energy is None or energy.carbon_g_kwh is None:
        return None
    return energy.carbon_g_kwh.check()


def reuse_misfits(scenario: Sections) -> str | None:
    """Return why the cells cannot divide the band into so many parts."""
    # Reuse is a key of the radio, but only the cells know which of them are neighbours.
    return scenario.cells.check_reuse(scenario.radio.reuse)


def recordings_are_wrong(scenario: Sections) -> str | None:
    """Return why recorded links cannot be read, are too few, or carry nothing."""
    trace = scenario.radio.trace
    if trace is None:
        return None
    try:
        check_carry(trace, checked_recordings(trace, scenario.devices.count), scenario.radio)
    except InputError as error:
        return str(error)
    return None


def key_without_effect(scenario: Sections) -> str:
    """Return the first key of a model that has no effect with recorded links; "" if there is none."""
    allowed = RECORDED_RATES_KEYS if radio.rates_are_recorded(scenario) else RECORDED_SNR_KEYS
    return scenario.radio.without_effect(allowed) or ""


has_key_without_effect = Fact(
    "a key of a model is set that has no effect on recorded links", lambda scenario: key_without_effect(scenario) != ""
)


def condition_of_recording(scenario: Sections) -> str:
    """Return the first key on how SNRs were recorded that is set; "" if there is none."""
    trace = scenario.radio.trace
    if trace is None:
        return ""
    return next((key for key in RECORDING_CONDITIONS if getattr(trace, key) is not None), "")


has_condition_of_recording = Fact(
    "the power or the band of the recording is given", lambda scenario: condition_of_recording(scenario) != ""
)


def background_fills_the_band(scenario: Sections) -> str | None:
    """Return why other users leave nothing of the band."""
    background = scenario.radio.background
    if background is None:
        return None
    resources = Resources(scenario.radio)
    for way in WAYS:
        load = background.mean_load(way, resources.capacity_hz(way))
        if load is not None and not 0 <= load < 1:
            return f"fills {load:.3g} of the {way}link, must be less than 1: lower it, or raise radio.bandwidth_hz"
    return None


def places_are_too_few(scenario: Sections) -> str | None:
    """Return why a round asks more devices than the allocation has blocks for."""
    asked = scenario.server.policy.asked(scenario.participants)
    in_all = (scenario.radio.allocation.places() or 0) * scenario.cells.count
    if asked <= in_all:
        return None
    name = ALLOCATIONS.name_of(scenario.radio.allocation)
    return f"{name} has {in_all} blocks in all, for at most one participant each, but a round asks {asked}"


def too_many_groups(scenario: Sections) -> str | None:
    """Return why there are more groups than devices."""
    return _above(scenario.groups, *_count(scenario))


def first_group_is_none(scenario: Sections) -> str | None:
    """Return why the first group is not one of the groups."""
    if scenario.sessions is None:
        return None
    return _above(scenario.sessions.first_group, scenario.groups, f"{scenario.groups}, the number of groups")


def state_misfits_sessions(scenario: Sections) -> str | None:
    """Return why the algorithm's state does not suit sessions."""
    return _misfit(scenario)[1]


def key_that_misfits_sessions(scenario: Sections) -> str:
    """Return the key of the algorithm that does not suit sessions."""
    return _misfit(scenario)[0]


def _misfit(scenario: Sections) -> tuple[str, str | None]:
    sessions = scenario.sessions
    if sessions is None:
        return "", None
    # A state that is reset in each session belongs to one group only.
    turns = scenario.groups if sessions.keep_state else 1
    return scenario.algorithm.check_sessions(turns) or ("", None)


def wires_do_not_reach(scenario: Sections) -> str | None:
    """Return why the backhaul does not reach all base stations."""
    if scenario.backhaul is None:
        return None
    return scenario.backhaul.check(scenario.cells.sites)
