"""Facts about the radio."""

from __future__ import annotations

from edgefl.core.errors import InputError
from edgefl.radio.budget.resources import Resources
from edgefl.radio.radio_section import Radio
from edgefl.radio.rates import RATES
from edgefl.radio.recorded_links import are_snrs
from edgefl.radio.tdd import Tdd
from edgefl.radio.transfers import WAYS
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.sections import Sections


def is_broadcast(scenario: Sections) -> bool:
    """Return whether the model is broadcast."""
    return scenario.radio.downlink == "broadcast"


def shares_are_fixed(scenario: Sections) -> bool:
    """Return whether shares of the band hold for the round."""
    return scenario.radio.sharing == "fixed"


def shares_change(scenario: Sections) -> bool:
    """Return whether the band is divided again whenever a transfer begins or ends."""
    return scenario.radio.sharing != "fixed"


def shares_a_band(scenario: Sections) -> bool:
    """Return whether transfers share a band, as they do unless rates were recorded."""
    return not _recorded(scenario, snrs=False)


def has_no_maps(scenario: Sections) -> bool:
    """Return whether shadowing and line of sight are not a function of position."""
    return not scenario.radio.spatial_consistency


def links_are_modelled(scenario: Sections) -> bool:
    """Return whether links follow from a model of the channel."""
    return scenario.radio.trace is None


def links_are_recorded(scenario: Sections) -> bool:
    """Return whether links were recorded."""
    return scenario.radio.trace is not None


def rates_are_recorded(scenario: Sections) -> bool:
    """Return whether the rates of links were recorded."""
    return _recorded(scenario, snrs=False)


def snrs_are_recorded(scenario: Sections) -> bool:
    """Return whether the SNRs of links were recorded."""
    return _recorded(scenario, snrs=True)


def channel_changes_in_time(scenario: Sections) -> bool:
    """Return whether the large-scale channel of a model changes while devices take part."""
    return scenario.radio.large_scale.kind == "time" and scenario.radio.trace is None


def interference_changes_in_time(scenario: Sections) -> bool:
    """Return whether the interference of cells changes while devices take part."""
    return channel_changes_in_time(scenario) and scenario.radio.interference is not None


def overlap_changes_in_time(scenario: Sections) -> bool:
    """Return whether uploads overlap on the band, and the channel changes meanwhile."""
    return channel_changes_in_time(scenario) and uploads_overlap(scenario)


def cells_interfere(scenario: Sections) -> bool:
    """Return whether cells interfere with each other."""
    return scenario.radio.interference is not None


def background_varies(scenario: Sections) -> bool:
    """Return whether the number of other users of the band changes in time."""
    background = scenario.radio.background
    if background is None:
        return False
    resources = Resources(scenario.radio)
    return any(background.mean_load(way, resources.capacity_hz(way)) is None for way in WAYS)


def has_background(scenario: Sections) -> bool:
    """Return whether there are other users of the band."""
    return scenario.radio.background is not None


def uploads_overlap(scenario: Sections) -> bool:
    """Return whether uploads overlap on the band."""
    return not scenario.radio.uplink.orthogonal


def uploads_add_up(scenario: Sections) -> bool:
    """Return whether the base station receives the sum of the updates over the air."""
    return scenario.radio.uplink.receives_sum


def uploads_arrive_apart(scenario: Sections) -> bool:
    """Return whether the base station receives each update by itself."""
    return not scenario.radio.uplink.receives_sum


def uploads_are_not_apart(scenario: Sections) -> bool:
    """Return whether uploads overlap on the band, or add up over the air."""
    return uploads_overlap(scenario) or uploads_add_up(scenario)


def rate_is_not_shannons(scenario: Sections) -> bool:
    """Return whether `radio.rate` is not `shannon`."""
    return RATES.name_of(scenario.radio.rate) != "shannon"


def allocates_by_snr(scenario: Sections) -> bool:
    """Return whether the allocation divides the band by SNRs at full power."""
    return scenario.radio.allocation.by_snr


def allocates_by_forecast(scenario: Sections) -> bool:
    """Return whether the allocation decides by forecasts of a round's participants."""
    return scenario.radio.allocation.by_forecast


def allocates_places(scenario: Sections) -> bool:
    """Return whether the allocation decides by forecasts, and has blocks for so many devices."""
    return scenario.radio.allocation.by_forecast and scenario.radio.allocation.places() is not None


def has_resource_blocks(scenario: Sections) -> bool:
    """Return whether the band consists of resource blocks."""
    return scenario.radio.subcarrier_spacing_hz is not None


def slots_have_directions(scenario: Sections) -> bool:
    """Return whether `radio.tdd` gives each slot a direction."""
    return scenario.radio.tdd is not None and not isinstance(scenario.radio.tdd, Tdd)


def is_set(key: str) -> Fact:
    """Return the fact that a key of the section `radio` has another value than its default."""

    def differs(scenario: Sections) -> bool:
        default = Radio.model_fields[key].get_default(call_default_factory=True)
        return bool(getattr(scenario.radio, key) != default)

    differs.__doc__ = f"Return whether `radio.{key}` is set."
    return differs


def _recorded(scenario: Sections, *, snrs: bool) -> bool:
    """Return whether links were recorded as SNRs, or else as rates."""
    trace = scenario.radio.trace
    if trace is None:
        return False
    try:
        return are_snrs(trace.recordings()) == snrs
    except InputError:
        return False  # a rule of its own tells what is wrong
