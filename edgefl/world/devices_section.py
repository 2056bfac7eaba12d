"""The section `devices`: what the population is made of; defaults are Table I of the dynamic-devices paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from edgefl.core.arrays import Floats
from edgefl.core.distributions import (
    Constant,
    DataShare,
    Distribution,
    HeightM,
    Hour,
    NonNegative,
    PerDevice,
    PerDeviceShare,
    Positive,
    Real,
    draw,
)
from edgefl.core.section import Count, Section, fault, fault_at
from edgefl.core.streams import Streams
from edgefl.world.dvfs import DVFS, Dvfs
from edgefl.world.dvfs.fixed import FixedClock

Part = Annotated[float, Field(ge=0, le=1)]


class Charging(Section):
    """When on a day a battery is charged, and how fast; time 0 of a run is midnight."""

    power_w: Positive
    from_h: Hour = Constant(value=22.0)
    to_h: Hour = Constant(value=6.0)  # of the next day where it is not after from_h


def _windows(value: Any, info: ValidationInfo) -> tuple[Charging, ...]:
    """Windows from a list of mappings, or a single one from a mapping."""
    if isinstance(value, dict):
        return (Charging.model_validate(value, context=info.context),)
    if isinstance(value, list | tuple) and not value:
        raise fault("must not be empty: leave it out")
    return _WINDOWS.validate_python(value, context=info.context)


def _as_given(windows: tuple[Charging, ...]) -> Any:
    """The inverse of `_windows`."""
    given = [window.model_dump(mode="json") for window in windows]
    return given[0] if len(given) == 1 else given or None


_WINDOWS = TypeAdapter(Annotated[tuple[Charging, ...], Field(strict=False)])
_Form = Charging | list[Charging]
Windows = Annotated[
    tuple[Charging, ...], PlainValidator(_windows, json_schema_input_type=_Form), PlainSerializer(_as_given)
]


class Battery(Section):
    """What a device runs on; numbers may be distributions."""

    capacity_j: Positive
    start: PerDeviceShare = Constant(value=1.0)  # of the capacity
    idle_w: NonNegative = Constant(value=0.0)  # drawn while it takes no part
    reserve: Part = 0.0  # of the capacity: down there it takes part no more ...
    resume: Part = 0.2  # ... until it is charged to here
    charging: Windows = ()  # one or several of a day, which do not overlap; none: it is never charged

    @model_validator(mode="after")
    def _apart(self) -> Battery:
        if self.resume <= self.reserve:
            raise fault_at(("resume",), f"must be > reserve = {self.reserve:g}, got {self.resume:g}")
        return self


class Hardware(Section):
    """What a device is made of; numbers may be distributions."""

    cpu_hz: Positive = Constant(value=1.0e9)
    flops_per_cycle: Positive = Constant(value=8.0)
    capacitance: Positive = Constant(value=1.0e-28)
    tx_power_dbm: Real = Constant(value=23.0)
    rx_power_w: Positive = Constant(value=0.1)
    idle_power_w: NonNegative = Constant(value=0.0)
    height_m: HeightM = Constant(value=1.5)
    data_share: DataShare = Constant(value=1.0)  # of the samples that the partition gives it
    battery: Battery | None = None


class DeviceGroup(Hardware):
    """Devices with consecutive numbers; its keys override those beside `count`."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    count: Count | None = None
    share: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_serializer(mode="wrap")
    def _as_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without defaults, which would override what stands beside `count`."""
        return {key: value for key, value in handler(self).items() if key in self.model_fields_set}


class Devices(Hardware):
    """The population."""

    count: Count = 100
    groups: Annotated[tuple[DeviceGroup, ...], Field(strict=False)] = ()  # none: all are alike
    dvfs: Annotated[Dvfs, DVFS] = FixedClock()

    @model_validator(mode="after")
    def _grouped(self) -> Devices:
        """Groups that make up the population."""
        names = [group.name for group in self.groups]
        for place, group in enumerate(self.groups):
            if (group.count is None) == (group.share is None):
                raise fault_at(("groups", place), "needs either count or share")
            if (group.count is None) != (self.groups[0].count is None):
                raise fault_at(("groups", place), "all groups have a count, or all have a share")
            if group.name in names[:place]:
                raise fault_at(("groups", place, "name"), f'another group is called "{group.name}"')
        if reason := self._misfit():
            raise fault_at(("groups",), reason)
        return self

    def _misfit(self) -> str | None:
        """Why groups do not make up the population; None if they do."""
        counts, shares = ([value for value in each if value] for each in zip(*self._sizes, strict=True))
        if counts and sum(counts) != self.count:
            return f"counts must add up to devices.count = {self.count}, not to {sum(counts)}"
        if shares and not math.isclose(sum(shares), 1.0, rel_tol=1e-9):
            return f"shares must add up to 1, not to {sum(shares):g}"
        empty = [group.name for group, (first, end) in zip(self.groups, self.borders, strict=False) if first == end]
        return f'"{empty[0]}" gets none of {self.count} devices: raise its share or devices.count' if empty else None

    @property
    def _sizes(self) -> list[tuple[int | None, float | None]]:
        return [(group.count, group.share) for group in self.groups] or [(self.count, None)]

    @property
    def borders(self) -> list[tuple[int, int]]:
        """The first device of each group, and the first one after it: shares to the nearest device."""
        sizes = [share * self.count if share else float(count or 0) for count, share in self._sizes]
        edges = [math.floor(edge + 0.5) for edge in accumulate(sizes, initial=0.0)]
        return list(pairwise(edges))

    @property
    def made_of(self) -> list[Hardware]:
        """What each group is made of."""
        if not self.groups:
            return [self]
        keys = set(Hardware.model_fields)
        given = [{key: getattr(group, key) for key in group.model_fields_set & keys} for group in self.groups]
        return [self.model_copy(update=own) for own in given]

    @property
    def has_batteries(self) -> bool:
        """Whether any device runs on one."""
        return any(hardware.battery for hardware in self.made_of)

    def span(self, key: str) -> tuple[float, float]:
        """The least and the greatest value of a key that any device can draw."""
        lows, highs = zip(*(getattr(hardware, key).span() for hardware in self.made_of), strict=True)
        return min(lows), max(highs)

    def draw(
        self,
        name: str,
        bound: PerDevice,
        streams: Streams,
        of: Callable[[Hardware], Distribution | float] | None = None,
    ) -> Floats:
        """The attribute `name` of all devices [count], by group.

        Args:
            name: of distributions.ATTRIBUTES.
            bound: what values are allowed.
            streams: keyed randomness.
            of: what it is drawn from, or the number that it is; the key `name` where not given.

        Raises:
            InputError: a value outside the bound was drawn, or a file has no row for a device.
        """
        values = np.empty(self.count)
        for (first, last), hardware in zip(self.borders, self.made_of, strict=True):
            source: Distribution | float = of(hardware) if of else getattr(hardware, name)
            ids = np.arange(first, last, dtype=np.int64)
            if isinstance(source, Distribution):
                values[first:last] = draw(name, source, bound, ids, streams)
            else:
                values[first:last] = source
        return values
