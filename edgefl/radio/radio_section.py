"""The section `radio`; defaults are Table I of the dynamic-devices paper."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    PositiveFloat,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from channel import numerology, units
from edgefl.core.arrays import Floats
from edgefl.core.catalogue import where_known
from edgefl.core.section import Delay, Seconds, Section, Share, fault, fault_at, shown
from edgefl.radio.allocation import ALLOCATIONS, Allocation
from edgefl.radio.allocation.equal import EqualAllocation
from edgefl.radio.background import BACKGROUNDS, Background
from edgefl.radio.errors import ERRORS, PacketErrors
from edgefl.radio.errors.none import NoErrors
from edgefl.radio.fading import FADING, Fading
from edgefl.radio.fading.rayleigh import Rayleigh
from edgefl.radio.multiple_access import MULTIPLE_ACCESS, MultipleAccess
from edgefl.radio.multiple_access.orthogonal import Orthogonal
from edgefl.radio.propagation import PROPAGATION, Propagation
from edgefl.radio.propagation.base import Decibels
from edgefl.radio.propagation.umi_los import UmiLos
from edgefl.radio.rates import RATES, Rate
from edgefl.radio.rates.shannon import ShannonRate
from edgefl.radio.tdd import Tdd, TddFrame
from edgefl.radio.traces import TRACES, LinkTrace
from edgefl.radio.transfers import Way
from edgefl.world.antennas.base import GainDbi
from edgefl.world.held_out import LinkErrorKeys
from edgefl.world.power_control import POWER_CONTROLS, PowerControl
from edgefl.world.power_control.full import FullPower

ShareBelowOne = Annotated[float, Field(ge=0, lt=1)]

LINK_FAILURE_S = 100.0
"""The earliest time at which TCP may give up a connection without success (RFC 9293, clause 3.8.3: R2)."""

LTE_SPACING_HZ = 15e3  # between subcarriers, where the scenario sets none
LEAST_SPACING_HZ = 1000.0  # a smaller number was meant in kHz

Preset = Literal["dynamic_devices", "lte", "nb_iot", "nr", "nr_fr2", "wifi_shared"]


class Overhead(Section):
    """Shares of the resources that carry control and reference signals (3GPP TS 38.306: 0.14 and 0.08)."""

    downlink: ShareBelowOne = 0.0  # Share of the downlink's resources that carries no data.
    uplink: ShareBelowOne = 0.0  # Share of the uplink's resources that carries no data.


def _number_or(section: type[Section], number: Any) -> PlainValidator:
    """Return a validator that reads one number for all, or those of a section by its keys."""
    numbers: TypeAdapter[float] = TypeAdapter(number)
    keys = ", ".join(f"{name}: .." for name in section.model_fields)

    # A union would report the faults of both forms.
    def parse(value: Any, info: ValidationInfo) -> float | Section:
        if isinstance(value, dict | section):
            return section.model_validate(value, context=info.context)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise fault(f"must be a number, or {{{keys}}}, got {shown(value)}")
        return numbers.validate_python(value, strict=True)

    return PlainValidator(parse, json_schema_input_type=number | section)


def _number_of(value: float | Section, key: str) -> float:
    """Return a number that holds for all, or the one that a section has for a key."""
    if isinstance(value, Section):
        return float(getattr(value, key))
    return value


def _dump_number_or(value: float | Section) -> Any:
    """Return a number or a section in the form that `_number_or` reads."""
    if isinstance(value, Section):
        return value.model_dump()
    return value


class FailureProbability(Section):
    """Different failure probabilities of directions."""

    downlink: ShareBelowOne = 0.0  # Probability that an attempt to send to a device fails.
    uplink: ShareBelowOne = 0.0  # Probability that an attempt to send from a device fails: the update is lost.


FailureProbabilities = Annotated[
    float | FailureProbability, _number_or(FailureProbability, ShareBelowOne), PlainSerializer(_dump_number_or)
]


class Faults(Section):
    """Failures of transfers, and the limits of their repetition."""

    # Probability p that an attempt fails, which is noticed at its end. Download and upload each fail with it: with one
    # attempt, 1 - (1 - p)^2 of participations are lost. `{uplink: p}` loses updates only.
    failure_probability: FailureProbabilities = 0.0
    attempts: Annotated[int, Field(ge=1, le=100)] = 1  # Most attempts of a transfer.
    max_transfer_s: Seconds | None = None  # Most time that all attempts of a transfer take together.
    link_failure_s: Seconds | None = None  # Time until a hopeless link fails; 100 s without max_transfer_s.

    def probability(self, way: Way) -> float:
        """Return the probability that an attempt in a direction fails."""
        return _number_of(self.failure_probability, f"{way}link")

    @property
    def hopeless_s(self) -> float | None:
        """The time [s] after which a transfer over a hopeless link fails; None: after `max_transfer_s`."""
        if self.link_failure_s is None and self.max_transfer_s is None:
            return LINK_FAILURE_S
        return self.link_failure_s


class Interference(Section):
    """Co-channel interference of the other cells."""

    load: Share = 1.0  # Share of the time that the other cells' transmitters are on.


NoiseDb = Annotated[float, Field(ge=0, le=100)]


class NoiseFigure(Section):
    """Different noise figures of receivers."""

    base_station: NoiseDb = 0.0  # Noise figure of base stations, which receive uploads.
    device: NoiseDb = 0.0  # Noise figure of devices, which receive downloads.


class AccessTime(Section):
    """Different access times of directions."""

    downlink: Delay = 0.0  # Time before a message to a device.
    uplink: Delay = 0.0  # Time before a message from a device.


NoiseFigures = Annotated[float | NoiseFigure, _number_or(NoiseFigure, NoiseDb), PlainSerializer(_dump_number_or)]
AccessTimes = Annotated[float | AccessTime, _number_or(AccessTime, Delay), PlainSerializer(_dump_number_or)]


class LargeScaleChange(Section):
    """How long path loss, shadowing and line of sight hold: a participation, or less in motion."""

    # Whether the values hold for a participation (round), or change as the device moves (time).
    kind: Literal["round", "time"] = "round"
    update_s: Annotated[float, Field(ge=1e-3, le=3600)] = 0.1  # How long the values hold.
    update_m: Annotated[float, Field(ge=0, le=1e6)] = 0.0  # How far a device must also have moved.

    @model_validator(mode="after")
    def _check_kind(self) -> LargeScaleChange:
        for name in ("update_s", "update_m"):
            if self.kind == "round" and name in self.model_fields_set:
                raise fault_at((name,), "has no effect where the channel holds for the round: set kind to time")
        return self


def _large_scale_by_name(value: Any) -> Any:
    if isinstance(value, str):
        return {"kind": value}
    return value


def _dump_large_scale(value: LargeScaleChange) -> Any:
    """Return the section in a form that it can be read from."""
    if value.kind == "round":
        return value.kind
    return value.model_dump()


LargeScaleChoice = Annotated[
    LargeScaleChange,
    BeforeValidator(_large_scale_by_name, json_schema_input_type=Literal["round", "time"] | LargeScaleChange),
    PlainSerializer(_dump_large_scale),
]


def _has_states(checked: dict[str, Any]) -> bool:
    """Return whether the propagation model has states, or a map of its own, by the keys that are checked."""
    # A device that stands still, or moves a few metres, must not change its surroundings in each round.
    propagation = checked.get("propagation")
    return isinstance(propagation, Propagation) and (propagation.has_states or propagation.by_place)


class Radio(Section):
    """Carrier, powers and models of the radio link."""

    # Whether links follow from a model or were recorded (trace); trace is the default where trace is given.
    kind: Literal["model", "trace"] = "model"
    trace: Annotated[LinkTrace, TRACES] | None = None  # The recorded links.
    preset: Preset | None = None  # A set of keys with their sources; keys given beside it win.
    held_out: LinkErrorKeys = None  # How far the times of transfers miss numbers that they were not fitted to.
    carrier_hz: PositiveFloat = 3.5e9  # Centre frequency of the carrier.
    # Width of the whole band, which all devices of a cell share.
    bandwidth_hz: Annotated[float, Field(ge=1, le=1e15)] = 100.0e6
    noise_dbm_hz: Decibels = -174.0  # Density of the thermal noise.
    # Noise figure of all receivers, or one for each end as `{base_station: .., device: ..}`.
    noise_figure_db: NoiseFigures = 0.0
    device_antenna_gain_dbi: GainDbi = 0.0  # Gain of a device's antenna, in all directions.
    server_tx_power_dbm: Decibels = 43.0  # Transmit power of a base station.
    # Whether the base station's power is on each share of the band, or over the whole band (total).
    server_power: Literal["per_device", "total"] = "per_device"
    propagation: Annotated[Propagation, PROPAGATION] = UmiLos()  # Model of path loss, line of sight and shadowing.
    # Standard deviation of the shadowing; by default that of the propagation model.
    shadowing_db: Annotated[float, Field(ge=0, le=100)] | None = None
    # Whether shadowing, line of sight and K are maps; otherwise they are drawn by device and round. Default with umi,
    # uma, rma, inh and map.
    spatial_consistency: bool = Field(default_factory=_has_states)
    # Correlation of a device's shadowing to different base stations.
    site_correlation: Share = 0.0
    # Whether the large-scale channel holds for a round, as where a device began, or follows it in time.
    large_scale: LargeScaleChoice = LargeScaleChange()
    fading: Annotated[Fading, FADING] = Rayleigh()  # Fast fading from slot to slot.
    # The channel of a slower device fades as if it moved this fast, because people and vehicles around it move.
    least_speed_mps: Annotated[float, Field(ge=0, le=1000)] = 0.0
    rate: Annotated[Rate, RATES] = ShannonRate()  # Bits per second at a signal-to-noise ratio.
    allocation: Annotated[Allocation, ALLOCATIONS] = EqualAllocation()  # How the band is divided among transfers.
    uplink: Annotated[MultipleAccess, MULTIPLE_ACCESS] = Orthogonal()  # How the uploads of a cell share its uplink.
    # A device is served only if it receives a reference signal at this power or more; by default all are served.
    least_rsrp_dbm: Decibels | None = None
    # How devices set their transmit powers that have no `devices.power_control`.
    power_control: Annotated[PowerControl, POWER_CONTROLS] = FullPower()
    # Whether shares hold for the round (fixed), or follow the transfers under way (processor).
    sharing: Literal["fixed", "processor"] = "fixed"
    # Whether the model is sent to each device (unicast), or once for all (broadcast).
    downlink: Literal["unicast", "broadcast"] = "unicast"
    slot_s: Annotated[float, Field(ge=1e-6, le=10)] = 0.0005  # Duration of a slot; fading is constant within it.
    # Divides the band into whole resource blocks; by default it is divided freely.
    subcarrier_spacing_hz: PositiveFloat | None = None
    tdd: TddFrame | None = None  # Time-division duplex, as shares of the time or as slots of each direction.
    overhead: Overhead = Overhead()  # Share of the resources that carries no data.
    # Whether every slot is walked (slots), or bits are drawn from the distribution of their sum (fast).
    transfer: Literal["slots", "fast"] = "slots"
    errors: Annotated[PacketErrors, ERRORS] = NoErrors()  # Packet errors of the channel, besides faults.
    faults: Faults = Faults()  # How often transfers fail and are repeated, and when a link is hopeless.
    # Time before a message's first bit, or one for each direction as `{downlink: .., uplink: ..}`.
    access_s: AccessTimes = 0.0
    interference: Interference | None = None  # Interference of the other cells; by default there is none.
    background: Annotated[Background, BACKGROUNDS] | None = None  # Traffic of other users of the cells.
    reuse: Literal[1, 3, 4, 7] = 1  # Number of parts into which the cells divide the band.

    @model_validator(mode="before")
    @classmethod
    def _fill_kind(cls, value: Any) -> Any:
        """Set the kind of radio to trace if a trace is given."""
        if isinstance(value, dict) and value.get("trace") is not None and value.get("kind") is None:
            return {**value, "kind": "trace"}
        return value

    @model_validator(mode="after")
    def _check_trace(self) -> Radio:
        if self.kind == "trace" and self.trace is None:
            raise fault_at(("trace",), "is required where radio.kind is trace, such as {kind: csv, path: links.csv}")
        if self.kind == "model" and self.trace is not None:
            raise fault_at(("trace",), "takes the place of a model: leave it out, or set radio.kind to trace")
        return self

    def without_effect(self, known: frozenset[str]) -> str | None:
        """Return the first key, not among `known`, whose value is not its default; None if there is none."""
        for name, field in type(self).model_fields.items():
            default = field.get_default(call_default_factory=True, validated_data=vars(self))
            if name not in known and getattr(self, name) != default:
                return name
        return None

    @model_validator(mode="after")
    def _consistent(self) -> Radio:
        if self.sharing == "processor" and self.downlink == "broadcast":
            raise fault_at(("downlink",), "a broadcast is not shared: set it to unicast, or radio.sharing to fixed")
        if self.subcarrier_spacing_hz is not None:
            self._check_numerology(self.subcarrier_spacing_hz)
        return self

    @model_validator(mode="after")
    def _check_frame(self) -> Radio:
        if self.tdd is None or isinstance(self.tdd, Tdd):
            return self
        if self.transfer == "fast":
            raise fault_at(("transfer",), "fast knows shares of the time, not slots of radio.tdd: write slots")
        if self.kind == "trace":
            raise fault_at(("tdd",), "recorded links have no slots: write {downlink: 0.7, uplink: 0.3}")
        try:
            self.tdd.check(self.slot_s)
        except ValidationError as error:
            first = error.errors()[0]
            raise fault_at(("tdd", *first["loc"]), first["msg"]) from None
        return self

    @model_validator(mode="after")
    @where_known
    def _check_fading(self) -> Radio:
        statistics = self.propagation.statistics()
        try:
            self.fading.k_statistics_db(statistics.k_mean_db, statistics.k_std_db)
            spread_s = self.propagation.delay_spread_s(np.ones(1, dtype=bool), np.zeros(1, dtype=bool), self.carrier_hz)
            self.fading.check_delay_spread(known=spread_s is not None)
        except ValueError as error:
            raise fault_at(("fading",), str(error)) from None
        if self.transfer == "fast" and self.fading.slots_only:
            raise fault_at(("transfer",), "fast does not know how long payloads take under radio.fading: write slots")
        return self

    @model_validator(mode="after")
    @where_known
    def _check_turns(self) -> Radio:
        """Refuse what an allocation in time does not know: it follows the fading of orthogonal transfers by slots."""
        if not self.allocation.in_time:
            return self
        name = ALLOCATIONS.name_of(self.allocation)
        if self.transfer != "slots":
            raise fault_at(("transfer",), f"allocation {name} follows the fading slot by slot: set it to slots")
        if not self.uplink.orthogonal:
            raise fault_at(("uplink",), f"allocation {name} gives turns, and these uploads overlap: leave it out")
        if self.errors.link_adaptation(self.rate) is not None:
            raise fault_at(("errors",), f"allocation {name} knows no HARQ: set it to none")
        if self.trace is not None:
            raise fault_at(
                ("allocation",), f"{name} follows the fading of a model, and links were recorded: leave it out"
            )
        return self

    @model_validator(mode="after")
    @where_known
    def _check_errors(self) -> Radio:
        refusal = self.errors.refusal(self.rate, self.transfer)
        if refusal is not None:
            key, text = refusal
            raise fault_at((key,), text)
        slots_differ = self.tdd is not None and not isinstance(self.tdd, Tdd)
        if slots_differ and self.errors.link_adaptation(self.rate) is not None:
            raise fault_at(
                ("tdd",), "blocks of radio.errors need slots that are alike: write {downlink: 0.7, uplink: 0.3}"
            )
        return self

    def _check_numerology(self, spacing_hz: float) -> None:
        try:
            slot_s = numerology.slot_s(spacing_hz, self.carrier_hz)
        except ValueError as error:
            text = str(error)
            if spacing_hz < LEAST_SPACING_HZ:
                text = f"{text}: {spacing_hz:g} kHz are written {spacing_hz:g}e3"
            raise fault_at(("subcarrier_spacing_hz",), text) from None
        try:
            blocks = self.blocks
        except ValueError as error:
            raise fault_at(("bandwidth_hz",), str(error)) from None
        if not math.isclose(slot_s, self.slot_s):
            raise fault_at(("slot_s",), f"must be {slot_s:g} at {spacing_hz:g} Hz spacing, got {self.slot_s:g}")
        if blocks < self.reuse:
            raise fault_at(("reuse",), f"{blocks} resource blocks cannot be divided into {self.reuse} parts")

    def rsrp_dbm(self, path_gain: Floats) -> Floats:
        """Return the received powers [n] of a subcarrier over path gains [n] (3GPP TS 38.215, clause 5.1.1) [dBm]."""
        subcarriers = self.bandwidth_hz / LTE_SPACING_HZ
        if self.subcarrier_spacing_hz is not None:
            subcarriers = numerology.SUBCARRIERS * self.blocks
        share_dbm = self.server_tx_power_dbm - units.linear_to_db(subcarriers)
        return np.asarray(share_dbm + units.linear_to_db(path_gain))

    def noise_figure_of(self, receiver: Literal["base_station", "device"]) -> float:
        """Return the noise figure of one kind of receivers in decibels."""
        return _number_of(self.noise_figure_db, receiver)

    def access_of(self, way: Way) -> float:
        """Return the time of access to the radio before the first bit of a message [s]."""
        return _number_of(self.access_s, f"{way}link")

    @property
    def blocks(self) -> int:
        """Resource blocks of the whole band (3GPP TS 38.101-1 and -2); there are none without a subcarrier spacing."""
        return numerology.resource_blocks(self.bandwidth_hz, self.subcarrier_spacing_hz or 0.0, self.carrier_hz)
