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

from edgefl.errors import InputError
from edgefl.paths import UserPath
from edgefl.section import Section, fault
from edgefl.streams import Streams

Floats = npt.NDArray[np.float64]
Pair = Annotated[tuple[float, float], Field(strict=False)]


class Distribution(Section):
    """What a device's number is drawn from."""

    def lowest(self) -> float:
        """The least value that can be drawn; -inf where the distribution has no bound below."""
        raise NotImplementedError

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        """Values [n] of devices `ids` [n], whose uniform numbers are `u` [n]."""
        raise NotImplementedError


class Constant(Distribution):
    """The same number for every device."""

    value: float

    def lowest(self) -> float:
        return self.value

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

    def lowest(self) -> float:
        return self.uniform[0]

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

    def lowest(self) -> float:
        return -np.inf if self.normal[1] > 0 else self.normal[0]

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        mean, std = self.normal
        return mean + std * _standard_normal(u)


class LogNormal(Distribution):
    """{lognormal: [mean, sigma]}: exp of a normal with that mean and standard deviation."""

    lognormal: Pair

    _spread = field_validator("lognormal")(_non_negative_spread)

    def lowest(self) -> float:
        return float(np.nextafter(0.0, 1.0))

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        mean, sigma = self.lognormal
        return np.exp(mean + sigma * _standard_normal(u))


class Choice(Distribution):
    """{choice: [..]}: each equally likely."""

    choice: Annotated[tuple[float, ...], Field(strict=False, min_length=1)]

    def lowest(self) -> float:
        return min(self.choice)

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(self.choice)[(u * len(self.choice)).astype(np.int64)]


class Column(Distribution):
    """{file: devices.csv, column: cpu_hz}: row i is device i."""

    file: UserPath
    column: str

    def _values(self) -> Floats:
        return read_column(self.file, self.column)

    def lowest(self) -> float:
        try:
            return float(self._values().min())
        except InputError as error:
            raise fault(str(error)) from None

    def quantile(self, u: Floats, ids: npt.NDArray[np.int64]) -> Floats:
        values = self._values()
        if ids.size and int(ids.max()) >= len(values):
            raise InputError(f"{self.file}: has {len(values)} rows, device {int(ids.max())} needs one")
        return values[ids]


def read_column(file: Path, column: str) -> Floats:
    """The numbers [rows] of one column of a CSV file with a header.

    Raises:
        InputError: no such file or column, or a cell that is no number.
    """
    import csv

    try:
        with file.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            if column not in (reader.fieldnames or []):
                known = ", ".join(reader.fieldnames or [])
                raise InputError(f'{file}: has no column "{column}"; columns: {known}')
            values = np.array([float(row[column]) for row in reader])
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    except (TypeError, ValueError):
        raise InputError(f'{file}: column "{column}" holds something that is no number') from None
    if not len(values) or not np.isfinite(values).all():
        raise InputError(f'{file}: column "{column}" must hold at least one number, all finite')
    return values


class PerDevice:
    """Pydantic annotation of a per-device number: `Annotated[Distribution, PerDevice(above=0)]`.

    Args:
        above: every value must be greater than this.
        least: every value must be at least this.
    """

    kinds: ClassVar[dict[str, type[Distribution]]] = {
        "uniform": Uniform,
        "normal": Normal,
        "lognormal": LogNormal,
        "choice": Choice,
        "file": Column,
    }

    def __init__(self, above: float = -np.inf, least: float = -np.inf) -> None:
        self.above, self.least = above, least

    def rule(self) -> str:
        """The bound in words."""
        return f"greater than {self.above:g}" if self.above > -np.inf else f"at least {self.least:g}"

    def allows(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        return value > self.above and value >= self.least

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
            raise fault(f"must be {forms} or {{file: x.csv, column: name}}")
        lowest = parsed.lowest()
        if lowest > -np.inf and not self.allows(lowest):
            raise fault(f"must be {self.rule()}, got {lowest:g}")
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
        number: JsonSchemaValue = {"type": "number"}
        if self.above > -np.inf:
            number["exclusiveMinimum"] = self.above
        elif self.least > -np.inf:
            number["minimum"] = self.least
        kinds = [handler.resolve_ref_schema(handler(c.__pydantic_core_schema__)) for c in self.kinds.values()]
        return {"anyOf": [number, *kinds]}


POSITIVE, NON_NEGATIVE, REAL = PerDevice(above=0.0), PerDevice(least=0.0), PerDevice()
Positive = Annotated[Distribution, POSITIVE]
NonNegative = Annotated[Distribution, NON_NEGATIVE]
Real = Annotated[Distribution, REAL]

ATTRIBUTES = ("cpu_hz", "flops_per_cycle", "capacitance", "tx_power_dbm", "rx_power_w", "height_m", "speed_mps")
"""Each attribute's place here is the key of its draws: append, never reorder."""


def draw(
    name: str, distribution: Distribution, bound: PerDevice, ids: npt.NDArray[np.int64], streams: Streams
) -> Floats:
    """The attribute `name` of devices `ids` [n].

    Raises:
        InputError: a value outside the bound was drawn.
    """
    values = distribution.quantile(streams.uniform("attribute", ids, ATTRIBUTES.index(name)), ids)
    wrong = np.flatnonzero(~((values > bound.above) & (values >= bound.least)))
    if wrong.size:
        device, value = ids[wrong[0]], values[wrong[0]]
        raise InputError(f"{name}: device {device} draws {value:g}, must be {bound.rule()}; use another distribution")
    return values
