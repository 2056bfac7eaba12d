"""Facts about the radio."""

from edgefl.core.errors import InputError
from edgefl.radio.budget.resources import Resources
from edgefl.radio.radio_section import Radio
from edgefl.radio.rates import RATES
from edgefl.radio.recorded_links import are_snrs
from edgefl.radio.tdd import Tdd
from edgefl.radio.transfers import WAYS
from edgefl.scenario.facts.fact import Fact
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


def is_set(key: str) -> Fact:
    """Return the fact that a key of the section `radio` has another value than its default."""
    default = Radio.model_fields[key].get_default(call_default_factory=True)
    return Fact(f"`radio.{key}` is set", lambda scenario: bool(getattr(scenario.radio, key) != default))


is_broadcast = Fact("the model is broadcast", lambda scenario: scenario.radio.downlink == "broadcast")
shares_are_fixed = Fact("shares of the band hold for the round", lambda scenario: scenario.radio.sharing == "fixed")
shares_change = Fact(
    "the band is divided again whenever a transfer begins or ends", lambda scenario: scenario.radio.sharing != "fixed"
)
shares_a_band = Fact(
    "transfers share a band, as they do unless rates were recorded",
    lambda scenario: not _recorded(scenario, snrs=False),
)
has_no_maps = Fact(
    "shadowing and line of sight are not functions of position",
    lambda scenario: not scenario.radio.spatial_consistency,
)
links_are_modelled = Fact("links follow from a model of the channel", lambda scenario: scenario.radio.trace is None)
links_are_recorded = Fact("links were recorded", lambda scenario: scenario.radio.trace is not None)
rates_are_recorded = Fact("the rates of links were recorded", lambda scenario: _recorded(scenario, snrs=False))
snrs_are_recorded = Fact("the SNRs of links were recorded", lambda scenario: _recorded(scenario, snrs=True))
channel_changes_in_time = Fact(
    "the large-scale channel of a model changes while devices take part",
    lambda scenario: scenario.radio.large_scale.kind == "time" and scenario.radio.trace is None,
)
interference_changes_in_time = Fact(
    "the interference of cells changes while devices take part",
    lambda scenario: channel_changes_in_time(scenario) and scenario.radio.interference is not None,
)
cells_interfere = Fact("cells interfere with each other", lambda scenario: scenario.radio.interference is not None)
background_varies = Fact("the number of other users of the band changes in time", _background_varies)
has_background = Fact("there are other users of the band", lambda scenario: scenario.radio.background is not None)
uploads_overlap = Fact("uploads overlap on the band", lambda scenario: not scenario.radio.uplink.orthogonal)
uploads_add_up = Fact(
    "the base station receives the sum of the updates over the air", lambda scenario: scenario.radio.uplink.receives_sum
)
uploads_arrive_apart = Fact(
    "the base station receives each update separately", lambda scenario: not scenario.radio.uplink.receives_sum
)
uploads_are_not_apart = Fact(
    "uploads overlap on the band, or add up over the air",
    lambda scenario: uploads_overlap(scenario) or uploads_add_up(scenario),
)
overlap_changes_in_time = Fact(
    "uploads overlap on the band, and the channel changes meanwhile",
    lambda scenario: channel_changes_in_time(scenario) and uploads_overlap(scenario),
)
rate_is_not_shannons = Fact(
    "`radio.rate` is not `shannon`", lambda scenario: RATES.name_of(scenario.radio.rate) != "shannon"
)
allocates_by_snr = Fact(
    "the allocation divides the band by SNRs at full power", lambda scenario: scenario.radio.allocation.by_snr
)
allocates_by_forecast = Fact(
    "the allocation decides by forecasts of a round's participants",
    lambda scenario: scenario.radio.allocation.by_forecast,
)
allocates_in_time = Fact(
    "the allocation gives turns that follow the channel", lambda scenario: scenario.radio.allocation.in_time
)
allocates_places = Fact(
    "the allocation decides by forecasts, and has blocks for a limited number of devices",
    lambda scenario: scenario.radio.allocation.by_forecast and scenario.radio.allocation.places() is not None,
)
has_resource_blocks = Fact(
    "the band consists of resource blocks", lambda scenario: scenario.radio.subcarrier_spacing_hz is not None
)
slots_have_directions = Fact(
    "`radio.tdd` gives each slot a direction",
    lambda scenario: scenario.radio.tdd is not None and not isinstance(scenario.radio.tdd, Tdd),
)
