"""The section `devices`: the hardware of the population; defaults are Table I of the dynamic-devices paper.

To add a key that devices may draw: a field of `Hardware` (or of `Battery`), a line at the end of
`edgefl/core/attributes.yaml`, `devices.draw(...)` where the number is needed, and a row in `docs/devices.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    PositiveFloat,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from edgefl.core.arrays import Floats
from edgefl.core.distributions import Constant, Distribution
from edgefl.core.paths import DataFile
from edgefl.core.per_device import (
    DataShare,
    Efficiency,
    HeightM,
    Hour,
    NonNegative,
    PerDevice,
    PerDeviceShare,
    Positive,
    Real,
    draw,
)
from edgefl.core.section import IF_GIVEN, Count, Section, Share, fault, fault_at
from edgefl.core.streams import Streams
from edgefl.world.carbon import Carbon, CarbonIntensity
from edgefl.world.compute_section import Compute, ComputeKeys
from edgefl.world.dvfs import DVFS, Dvfs
from edgefl.world.dvfs.fixed import FixedClock
from edgefl.world.held_out import DeviceErrorKeys
from edgefl.world.power_control import POWER_CONTROLS, PowerControl

SHARES_TOLERANCE = 1e-9  # of their sum, relative: ten shares of 0.1 do not add up to exactly 1


class Charging(Section):
    """A daily charging window and its power; time 0 of a run is midnight."""

    power_w: Positive  # Power of the charger.
    from_h: Hour = Constant(value=22.0)  # Time of day at which charging begins.
    to_h: Hour = Constant(value=6.0)  # Time of day at which charging ends, on the next day unless it is after from_h.


def _parse_windows(value: Any, info: ValidationInfo) -> tuple[Charging, ...]:
    """Return the charging windows that a list of mappings, or a single mapping, describes."""
    if isinstance(value, dict):
        return (Charging.model_validate(value, context=info.context),)
    if isinstance(value, list | tuple) and not value:
        raise fault("must not be empty: leave it out")
    return _WINDOWS.validate_python(value, context=info.context)


def _dump_windows(windows: tuple[Charging, ...]) -> Any:
    """Return windows in the form that `_parse_windows` reads: a single one as a mapping."""
    dumped = [window.model_dump(mode="json") for window in windows]
    if not dumped:
        return None
    if len(dumped) == 1:
        return dumped[0]
    return dumped


_WINDOWS = TypeAdapter(Annotated[tuple[Charging, ...], Field(strict=False)])
_WindowsInYaml = Charging | list[Charging]
Windows = Annotated[
    tuple[Charging, ...],
    PlainValidator(_parse_windows, json_schema_input_type=_WindowsInYaml),
    PlainSerializer(_dump_windows),
]


class Battery(Section):
    """A device's battery; numbers may be distributions."""

    capacity_j: Positive | None = None  # Energy of the full battery.
    # Charge of the full battery, in milliampere-hours; instead of capacity_j, and with voltage_v.
    capacity_mah: Annotated[Positive | None, IF_GIVEN] = None
    # Nominal voltage of the battery, 3.85 for most phones; with capacity_mah.
    voltage_v: Annotated[Positive | None, IF_GIVEN] = None
    start: PerDeviceShare = Constant(value=1.0)  # Level at time 0, as a share of the capacity.
    # Power that screen and system draw all the time, whether the device takes part or not.
    base_w: NonNegative = Constant(value=0.0)
    idle_w: NonNegative = Constant(value=0.0)  # Power that the device draws besides while it takes no part.
    reserve: Share = 0.0  # Level at which the device stops taking part, as a share of the capacity.
    resume: Share = 0.2  # Level at which it takes part again after that.
    # Windows of each day when the battery is charged; they must not overlap. By default it is never charged.
    charging: Windows = ()

    @model_validator(mode="after")
    def _check_capacity(self) -> Battery:
        if self.capacity_j is None and self.capacity_mah is None:
            raise fault_at(("capacity_j",), "is required; or write capacity_mah, with voltage_v")
        if self.capacity_j is not None and self.capacity_mah is not None:
            raise fault_at(("capacity_mah",), "gives the capacity, as capacity_j does: leave one of them out")
        if self.capacity_mah is not None and self.voltage_v is None:
            raise fault_at(("capacity_mah",), "needs voltage_v, the battery's nominal voltage, such as 3.85")
        if self.capacity_mah is None and self.voltage_v is not None:
            raise fault_at(("voltage_v",), "goes with capacity_mah: leave it out, or write capacity_mah for capacity_j")
        return self

    @model_validator(mode="after")
    def _check_thresholds(self) -> Battery:
        if self.resume <= self.reserve:
            raise fault_at(("resume",), f"must be > reserve = {self.reserve:g}, got {self.resume:g}")
        return self


class RadioEnergy(Section):
    """The power of a radio beyond `rx_power_w`, `idle_power_w` and what it sends; numbers may be distributions.

    Sources: Cui, Goldsmith and Bahai, IEEE TWC 2005 (amplifier and circuit); Huang et al., ACM MobiSys 2012 (tail);
    Narayanan et al., ACM SIGCOMM 2021 (power by rate).
    """

    # Efficiency of the power amplifier, which is the power it sends over the power it draws.
    pa_efficiency: Efficiency = Constant(value=1.0)
    circuit_w: NonNegative = Constant(value=0.0)  # Power of the circuit while it sends.
    drx_tail_s: NonNegative = Constant(value=0.0)  # How long the radio stays awake after its last transfer.
    drx_tail_w: NonNegative = Constant(value=0.0)  # Power that it draws meanwhile, instead of idle_power_w.
    rx_j_per_mbit: NonNegative = Constant(value=0.0)  # Energy for each megabit that it receives, besides the circuit's.
    tx_j_per_mbit: NonNegative = Constant(value=0.0)  # Energy for each megabit that it sends, besides the circuit's.

    @model_validator(mode="after")
    def _check_tail(self) -> RadioEnergy:
        given = self.model_fields_set & {"drx_tail_s", "drx_tail_w"}
        if len(given) == 1:
            missing = ({"drx_tail_s", "drx_tail_w"} - given).pop()
            raise fault_at(tuple(given), f"needs {missing}, too")
        return self

    @property
    def has_tail(self) -> bool:
        """Return whether the radio stays awake after its last transfer."""
        return self.drx_tail_s.span()[1] > 0


Point = Annotated[tuple[PositiveFloat, PositiveFloat], Field(strict=False)]
PowerPoints = Annotated[tuple[Point, ...], Field(strict=False)]
Preset = Literal["jetson_nano", "phone", "raspberry_pi_3", "raspberry_pi_4", "raspberry_pi_5", "watch"]


class Hardware(Section):
    """The parts of a device; numbers may be distributions."""

    preset: Preset | None = None  # A set of keys with their sources; keys given beside it win.
    # File of such keys, as `edgefl calibrate` writes it; keys given beside it win. Results have its keys instead.
    profile: Annotated[DataFile | None, IF_GIVEN] = None
    source: Annotated[str | None, IF_GIVEN] = None  # Where the numbers come from; presets and profiles say it.
    held_out: DeviceErrorKeys = None  # How far the laws of this device miss numbers that they were not fitted to.
    cpu_hz: Positive = Constant(value=1.0e9)  # Highest clock of the processor.
    flops_per_cycle: Positive = Constant(value=8.0)  # Operations in a cycle of the processor, chi.
    capacitance: Positive = Constant(value=1.0e-28)  # Effective capacitance of the chipset, xi; computing draws xi f^3.
    # Power that the processor draws besides while it computes, at any clock.
    cpu_static_w: NonNegative = Constant(value=0.0)
    # Measured powers while it computes, as [clock in Hz, W], with straight lines between them; replaces the two above.
    power_points: Annotated[PowerPoints | None, IF_GIVEN] = None
    # Memory of the device; one that cannot hold a step of training refuses to train. By default it is unlimited.
    memory_bytes: Annotated[Positive | None, IF_GIVEN] = None
    # Law of the time that parts of a network take; null takes the operations over the speed.
    compute: ComputeKeys = Compute()
    tx_power_dbm: Real = Constant(value=23.0)  # Highest power at which the device transmits; 23 dBm are 200 mW.
    # How the transmit power follows the path loss; by default as `radio.power_control` says.
    power_control: Annotated[Annotated[PowerControl, POWER_CONTROLS] | None, IF_GIVEN] = None
    rx_power_w: Positive = Constant(value=0.1)  # Power of the receiving circuit.
    idle_power_w: NonNegative = Constant(value=0.0)  # Power that the device draws while it takes part and waits.
    setup_s: NonNegative = Constant(value=0.0)  # Time to set up before each participation, for app, libraries and data.
    setup_j: NonNegative = Constant(value=0.0)  # Energy of the setup, besides battery.base_w.
    radio_energy: RadioEnergy = RadioEnergy()  # What a radio draws besides the power that it sends.
    height_m: HeightM = Constant(value=1.5)  # Height of the antenna; the path-loss model limits its range.
    data_share: DataShare = Constant(value=1.0)  # Share of its part of the data that a device keeps.
    battery: Battery | None = None  # The battery of each device; by default devices are on mains.
    # Grams of CO2 equivalent a kilowatt-hour, or their course as `{file: grid.csv}`.
    carbon_g_kwh: Annotated[Carbon | None, IF_GIVEN] = None


class DeviceGroup(Hardware):
    """Devices with consecutive numbers; its keys override those of `devices`."""

    name: Annotated[str, Field(min_length=1, max_length=100)]  # Name of the group on pages.
    count: Count | None = None  # Number of devices in the group; either all groups have a count, or all a share.
    share: Annotated[float, Field(gt=0, le=1)] | None = None  # Share of all devices that are in the group.

    @model_serializer(mode="wrap")
    def _dump_given_keys(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return only the keys that were given, as defaults would override the keys of `devices`."""
        return {key: value for key, value in handler(self).items() if key in self.model_fields_set}


class Devices(Hardware):
    """The population."""

    count: Count = 100  # Number of devices.
    # Groups of devices with other keys than the section; by default all devices are alike.
    groups: Annotated[tuple[DeviceGroup, ...], Field(strict=False)] = ()
    dvfs: Annotated[Dvfs, DVFS] = FixedClock()  # How the clock is chosen.

    @model_validator(mode="after")
    def _check_groups(self) -> Devices:
        names: list[str] = []  # of the groups before
        for place, group in enumerate(self.groups):
            if (group.count is None) == (group.share is None):
                raise fault_at(("groups", place), "needs either count or share")
            if (group.count is None) != (self.groups[0].count is None):
                raise fault_at(("groups", place), "all groups must have a count, or all a share: use one of them")
            if group.name in names:
                text = f'another group is called "{group.name}": choose another name'
                raise fault_at(("groups", place, "name"), text)
            names.append(group.name)
        if reason := self._why_groups_do_not_add_up():
            raise fault_at(("groups",), reason)
        return self

    @model_validator(mode="after")
    def _check_power_points(self) -> Devices:
        for place, hardware in enumerate(self.made_of):
            if hardware.power_points is None:
                continue
            where = ("groups", place, "power_points") if self.groups else ("power_points",)
            clocks_hz = [clock_hz for clock_hz, _ in hardware.power_points]
            if not clocks_hz or clocks_hz != sorted(set(clocks_hz)):
                raise fault_at(where, "must be points [clock in Hz, W], by ascending clocks")
            highest_hz = hardware.cpu_hz.span()[1]
            if highest_hz > clocks_hz[-1]:
                raise fault_at(where, f"must reach cpu_hz, {highest_hz:g} Hz: they end at {clocks_hz[-1]:g} Hz")
        return self

    @model_validator(mode="after")
    def _check_carbon(self) -> Devices:
        without = [place for place, hardware in enumerate(self.made_of) if hardware.carbon_g_kwh is None]
        if without and len(without) < len(self.groups):
            text = "has no carbon_g_kwh, as other groups have: write one for it, or one for all under devices"
            raise fault_at(("groups", without[0]), text)
        return self

    def _why_groups_do_not_add_up(self) -> str | None:
        """Return why the groups do not add up to the population; None if they do."""
        counts = [group.count for group in self.groups if group.count is not None]
        if counts and sum(counts) != self.count:
            return f"counts must add up to devices.count = {self.count}, not to {sum(counts)}"
        shares = [group.share for group in self.groups if group.share is not None]
        if shares and not math.isclose(sum(shares), 1.0, rel_tol=SHARES_TOLERANCE):
            return f"shares must add up to 1, not to {sum(shares):g}"
        for group, (first, end) in zip(self.groups, self.borders, strict=False):
            if first == end:
                return f'"{group.name}" gets none of {self.count} devices: raise its share or devices.count'
        return None

    @property
    def borders(self) -> list[tuple[int, int]]:
        """Return each group's first device, and the first one after it.

        Cumulative shares are rounded to whole devices, so that rounding errors do not add up over groups.
        """
        if not self.groups:
            return [(0, self.count)]
        borders = []
        first = 0
        sum_of_sizes = 0.0
        for group in self.groups:
            if group.share is not None:
                sum_of_sizes += group.share * self.count
            else:
                sum_of_sizes += float(group.count or 0)
            end = math.floor(sum_of_sizes + 0.5)
            borders.append((first, end))
            first = end
        return borders

    @property
    def made_of(self) -> list[Hardware]:
        """Return the hardware of each group; a single entry if there are no groups."""
        if not self.groups:
            return [self]
        hardware: list[Hardware] = []
        for group in self.groups:
            given = group.model_fields_set & set(Hardware.model_fields)
            # A group's keys override those of `devices`; a battery is overridden as a whole.
            hardware.append(self.model_copy(update={key: getattr(group, key) for key in given}))
        return hardware

    @property
    def has_batteries(self) -> bool:
        """Return whether any device runs on a battery."""
        return any(hardware.battery for hardware in self.made_of)

    @property
    def battery_count(self) -> int:
        """Return how many devices run on a battery."""
        borders = zip(self.made_of, self.borders, strict=True)
        return sum(end - first for hardware, (first, end) in borders if hardware.battery)

    @property
    def carbon(self) -> list[CarbonIntensity] | None:
        """Return the carbon intensity of each group; None if it is not accounted for."""
        found = [hardware.carbon_g_kwh for hardware in self.made_of if hardware.carbon_g_kwh is not None]
        return found or None

    @property
    def has_jitter(self) -> bool:
        """Return whether any device computes for a different time from round to round."""
        return any(hardware.compute.jitter for hardware in self.made_of)

    @property
    def has_tails(self) -> bool:
        """Return whether any device's radio stays awake after its last transfer."""
        return any(hardware.radio_energy.has_tail for hardware in self.made_of)

    @property
    def sets_up(self) -> bool:
        """Return whether any device takes time or energy to set up before a participation."""
        return self.span("setup_s")[1] > 0 or self.span("setup_j")[1] > 0

    def span(self, key: str) -> tuple[float, float]:
        """Return the least and the greatest value of a key that any device can draw."""
        spans = [getattr(hardware, key).span() for hardware in self.made_of]
        lowest = min(low for low, _ in spans)
        highest = max(high for _, high in spans)
        return lowest, highest

    def draw(
        self,
        name: str,
        bound: PerDevice,
        streams: Streams,
        of: Callable[[Hardware], Distribution | float] | None = None,
    ) -> Floats:
        """Return the attribute `name` of all devices [count], drawn group by group; the array may be read-only.

        Args:
            name: one of per_device.ATTRIBUTES.
            bound: which values are allowed.
            streams: keyed randomness.
            of: returns a group's distribution, or one number for all of its devices; None: the group's key `name`.

        Raises:
            InputError: a value outside the bound was drawn, or a file has no row for a device.
        """
        groups = []
        for (first, end), hardware in zip(self.borders, self.made_of, strict=True):
            source: Distribution | float = of(hardware) if of else getattr(hardware, name)
            if isinstance(source, Distribution):
                # Draws are keyed by the device's number in the population, not in the group.
                ids = np.arange(first, end, dtype=np.int64)
                groups.append(draw(name, source, bound, ids, streams))
            else:
                groups.append(np.broadcast_to(float(source), end - first))
        if len(groups) == 1:  # so that a constant takes no memory for each device
            return groups[0]
        return np.concatenate(groups)
