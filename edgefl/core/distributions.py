"""Per-device numbers: a constant, or a distribution that every device draws from once, by its own key.

Each distribution turns one uniform number per device into one value (inverse transform), so a device's value does not
depend on how many devices there are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.paths import UserPath
from edgefl.core.section import Section, fault, shown
from edgefl.core.streams import Streams

Pair = Annotated[tuple[float, float], Field(strict=False)]


class Distribution(Section):
    """What a device's number is drawn from."""

    def span(self) -> tuple[float, float]:
        """The least and the greatest value that can be drawn, infinite where there is no bound."""
        raise NotImplementedError

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        """Values [n] of devices `ids` [n], whose uniform numbers are `u` [n]."""
        raise NotImplementedError


class Constant(Distribution):
    """The same number for every device."""

    value: float

    def span(self) -> tuple[float, float]:
        return self.value, self.value

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        return np.full(u.shape, self.value)


class Uniform(Distribution):
    """{uniform: [a, b]}."""

    uniform: Pair

    @field_validator("uniform")
    @classmethod
    def _ordered(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[0] > value[1]:
            raise ValueError(f"[a, b] needs a <= b, got [{value[0]:g}, {value[1]:g}]")
        return value

    def span(self) -> tuple[float, float]:
        return self.uniform

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        low, high = self.uniform
        return low + (high - low) * u


def _standard_normal(u: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(u))


def _non_negative_spread(value: tuple[float, float]) -> tuple[float, float]:
    if value[1] < 0:
        raise ValueError(f"the second number is a standard deviation and must be >= 0, got {value[1]:g}")
    return value


class Normal(Distribution):
    """{normal: [mean, std]}."""

    normal: Pair

    _spread = field_validator("normal")(_non_negative_spread)

    def span(self) -> tuple[float, float]:
        mean, std = self.normal
        return (-np.inf, np.inf) if std > 0 else (mean, mean)

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        mean, std = self.normal
        return mean + std * _standard_normal(u)


class LogNormal(Distribution):
    """{lognormal: [mean, sigma]}: exp of a normal with that mean and standard deviation."""

    lognormal: Pair

    _spread = field_validator("lognormal")(_non_negative_spread)

    def span(self) -> tuple[float, float]:
        return -np.inf, np.inf  # none of its values is negative, but no bound is certain to be kept either

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        mean, sigma = self.lognormal
        with np.errstate(over="ignore"):  # an infinite value is refused when it is drawn
            return np.exp(mean + sigma * _standard_normal(u))


class Choice(Distribution):
    """{choice: [..]}: each equally likely."""

    choice: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]

    def span(self) -> tuple[float, float]:
        return min(self.choice), max(self.choice)

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(self.choice)[(u * len(self.choice)).astype(np.int64)]


class Column(Distribution):
    """{file: devices.csv, column: cpu_hz}: row i is device i."""

    file: UserPath
    column: str

    def _values(self) -> Floats:
        return read_column(self.file, self.column)

    def span(self) -> tuple[float, float]:
        try:
            values = self._values()
        except InputError as error:
            raise fault(str(error)) from None
        return float(values.min()), float(values.max())

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        values = self._values()
        if ids.size and int(ids.max()) >= len(values):
            raise InputError(f"{self.file}: has rows for {len(values)} devices, the scenario has {int(ids.max()) + 1}")
        return values[ids]


def read_column(file: Path, column: str) -> Floats:
    """The numbers [rows] of one column of a CSV file with a header.

    Raises:
        InputError: no such file or column, or a cell that is no number.
    """
    import csv

    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            if column not in (reader.fieldnames or []):
                known = ", ".join(reader.fieldnames or [])
                raise InputError(f'{file}: has no column "{column}"; columns: {known}')
            values = np.array([float(row[column]) for row in reader])
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{file}: is no CSV file in UTF-8") from None
    except (TypeError, ValueError):
        raise InputError(f'{file}: column "{column}" holds something that is no number') from None
    if not len(values) or not np.isfinite(values).all():
        raise InputError(f'{file}: column "{column}" must hold at least one number, all finite')
    return values


class PerDevice:
    """Pydantic annotation of a per-device number: `Annotated[Distribution, PerDevice(0, 1e4)]`.

    Args:
        least: no value may be less.
        most: no value may be greater.
    """

    kinds: ClassVar[dict[str, type[Distribution]]] = {
        "uniform": Uniform,
        "normal": Normal,
        "lognormal": LogNormal,
        "choice": Choice,
        "file": Column,
    }

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most

    def rule(self) -> str:
        """The bounds in words."""
        return f"must be from {self.least:g} to {self.most:g}"

    def outside(self, values: Floats) -> npt.NDArray[np.bool_]:
        """Which values are out of bounds; NaN always is."""
        return np.asarray(~((values >= self.least) & (values <= self.most)))

    def parse(self, value: Any, info: ValidationInfo) -> Distribution:
        """Make a distribution of a number or `{uniform: [a, b]}` and the like; raises pydantic's errors."""
        if isinstance(value, Distribution):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            parsed: Distribution = Constant.model_validate({"value": float(value)})
        elif isinstance(value, dict) and (kind := next((k for k in self.kinds if k in value), None)):
            parsed = self.kinds[kind].model_validate(value, context=info.context)
        else:
            forms = "a number, {uniform: [a, b]}, {normal: [mean, std]}, {lognormal: [mean, sigma]}, {choice: [..]}"
            raise fault(f"must be {forms} or {{file: x.csv, column: name}}, got {shown(value)}")
        ends = np.array(parsed.span())
        wrong = ends[np.isfinite(ends) & self.outside(ends)]
        if wrong.size:
            raise fault(f"{self.rule()}, got {wrong[0]:g}")
        return parsed

    @staticmethod
    def dump(value: Distribution) -> Any:
        """The inverse of `parse`."""
        return value.value if isinstance(value, Constant) else value.model_dump(mode="json")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        serialization = core_schema.plain_serializer_function_ser_schema(self.dump)
        return core_schema.with_info_plain_validator_function(self.parse, serialization=serialization)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number: JsonSchemaValue = {"type": "number", "minimum": self.least, "maximum": self.most}
        kinds = [handler.resolve_ref_schema(handler(c.__pydantic_core_schema__)) for c in self.kinds.values()]
        return {"anyOf": [number, *kinds]}


POSITIVE = PerDevice(1e-40, 1e18)  # far beyond any device, and no sum or product of such numbers overflows
NON_NEGATIVE = PerDevice(0.0, 1e4)
REAL = PerDevice(-300.0, 300.0)
CHANCE = PerDevice(1e-4, 1.0)
KEPT = PerDevice(1e-4, 1.0)  # of what there is
PEAK_S = PerDevice(0.0, 1e9)
SHARE = PerDevice(0.0, 1.0)
HOUR = PerDevice(0.0, 24.0)  # of a day
HEIGHT_M = PerDevice(1.5, 22.5)  # 3GPP TR 38.901, Table 7.4.1-1
Positive = Annotated[Distribution, POSITIVE]
NonNegative = Annotated[Distribution, NON_NEGATIVE]
Real = Annotated[Distribution, REAL]
Chance = Annotated[Distribution, CHANCE]
Kept = Annotated[Distribution, KEPT]
PeakS = Annotated[Distribution, PEAK_S]
HeightM = Annotated[Distribution, HEIGHT_M]
Share = Annotated[Distribution, SHARE]
Hour = Annotated[Distribution, HOUR]

ATTRIBUTES = {
    "cpu_hz": "devices.cpu_hz",
    "flops_per_cycle": "devices.flops_per_cycle",
    "capacitance": "devices.capacitance",
    "tx_power_dbm": "devices.tx_power_dbm",
    "rx_power_w": "devices.rx_power_w",
    "height_m": "devices.height_m",
    "speed_mps": "mobility.speed_mps",
    "idle_power_w": "devices.idle_power_w",
    "availability": "churn.probability",
    "peak": "churn.peak_s",
    "capacity_j": "devices.battery.capacity_j",
    "start": "devices.battery.start",
    "idle_w": "devices.battery.idle_w",
    "charging_w": "devices.battery.charging.power_w",
    "from_h": "devices.battery.charging.from_h",
    "to_h": "devices.battery.charging.to_h",
    "data_share": "devices.data_share",
}
"""The scenario key of each attribute; its place here is the key of its draws: append, never reorder."""


def draw(
    name: str, distribution: Distribution, bound: PerDevice, ids: npt.NDArray[np.int64], streams: Streams
) -> Floats:
    """The attribute `name` of devices `ids` [n].

    Raises:
        InputError: a value outside the bound was drawn, or a file has no row for a device.
    """
    uniforms = streams.uniform("attribute", ids, list(ATTRIBUTES).index(name))
    try:
        values = distribution.quantile(uniforms, ids)
    except InputError as error:
        raise InputError(f"{ATTRIBUTES[name]}: {error}") from None
    wrong = np.flatnonzero(bound.outside(values))
    if wrong.size:
        device, value = ids[wrong[0]], values[wrong[0]]
        raise InputError(
            f"{ATTRIBUTES[name]}: device {device} draws {value:g}, {bound.rule()}: use another distribution"
        )
    return values
