"""Facts about the radio."""

from edgefl.core.errors import InputError
from edgefl.radio.budget.resources import Resources
from edgefl.radio.rates import RATES
from edgefl.radio.recorded_links import are_snrs
from edgefl.radio.transfers import WAYS
from edgefl.scenario.facts.fact import Fact, both, differs, equals, is_false, is_given, is_missing, is_true
from edgefl.scenario.sections import Sections


def _recorded(scenario: Sections, *, snrs: bool) -> bool:
    """Return whether links were recorded as SNRs, or else as rates."""
    trace = scenario.radio.trace
    if trace is None:
        return False
    try:
        return are_snrs(trace.recordings()) == snrs
    except InputError:
        return False  # another rule reports what is wrong


def _background_varies(scenario: Sections) -> bool:
    background = scenario.radio.background
    if background is None:
        return False
    resources = Resources(scenario.radio)
    return any(background.mean_load(way, resources.capacity_hz(way)) is None for way in WAYS)


is_broadcast = equals("radio.downlink", "broadcast", "the model is broadcast")
shares_are_fixed = equals("radio.sharing", "fixed", "shares of the band hold for the round")
shares_change = differs("radio.sharing", "fixed", "the band is divided again whenever a transfer begins or ends")
shares_of_a_band_are_fixed = Fact(
    "shares of the band hold for the round, and transfers share a band, as they do unless rates were recorded",
    lambda scenario: shares_are_fixed(scenario) and not _recorded(scenario, snrs=False),
)
has_no_maps = is_false("radio.spatial_consistency", "shadowing and line of sight are not functions of position")
links_are_modelled = is_missing("radio.trace", "links follow from a model of the channel")
links_are_recorded = is_given("radio.trace", "links were recorded")
rates_are_recorded = Fact("the rates of links were recorded", lambda scenario: _recorded(scenario, snrs=False))
snrs_are_recorded = Fact("the SNRs of links were recorded", lambda scenario: _recorded(scenario, snrs=True))
channel_changes_in_time = Fact(
    "the large-scale channel of a model changes while devices take part",
    lambda scenario: scenario.radio.large_scale.kind == "time" and scenario.radio.trace is None,
)
cells_interfere = is_given("radio.interference", "cells interfere with each other")
interference_changes_in_time = both(
    "the interference of cells changes while devices take part", (channel_changes_in_time, cells_interfere)
)
background_varies = Fact("the number of other users of the band changes in time", _background_varies)
has_background = is_given("radio.background", "there are other users of the band")
uploads_overlap = is_false("radio.uplink.orthogonal", "uploads overlap on the band")
overlap_changes_in_time = both(
    "uploads overlap on the band, and the channel changes meanwhile", (channel_changes_in_time, uploads_overlap)
)
rate_is_not_shannons = Fact(
    "`radio.rate` is not `shannon`", lambda scenario: RATES.name_of(scenario.radio.rate) != "shannon"
)
allocates_by_snr = is_true("radio.allocation.by_snr", "the allocation divides the band by SNRs at full power")
allocates_by_forecast = is_true(
    "radio.allocation.by_forecast", "the allocation decides by forecasts of a round's participants"
)
allocates_in_time = is_true("radio.allocation.in_time", "the allocation gives turns that follow the channel")
allocates_places = Fact(
    "the allocation decides by forecasts, and has blocks for a limited number of devices",
    lambda scenario: scenario.radio.allocation.by_forecast and scenario.radio.allocation.places() is not None,
)
has_resource_blocks = is_given("radio.subcarrier_spacing_hz", "the band consists of resource blocks")
