"""Per-device numbers as keys of a scenario: a constant, or a distribution, within bounds.

To add such a key to the section `devices`: a field of `Hardware` with one of the types at the end of this file, a line
at the end of `attributes.yaml`, and `devices.draw(...)` where the number is needed.
"""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.distributions import (
    BenchmarkDistribution,
    ChoiceDistribution,
    ColumnDistribution,
    Constant,
    Distribution,
    FedScaleDistribution,
    LogNormalDistribution,
    NormalDistribution,
    UniformDistribution,
)
from edgefl.core.errors import InputError
from edgefl.core.section import fault, shown
from edgefl.core.streams import Streams
from edgefl.core.words import words_of


class PerDevice:
    """The pydantic type of a per-device number: `Annotated[Distribution, PerDevice(0, 1e4)]`.

    Args:
        least: no value may be less.
        most: no value may be greater.
    """

    kinds: ClassVar[dict[str, type[Distribution]]] = {
        "uniform": UniformDistribution,
        "normal": NormalDistribution,
        "lognormal": LogNormalDistribution,
        "choice": ChoiceDistribution,
        "file": ColumnDistribution,
        "fedscale": FedScaleDistribution,
        "ai_benchmark": BenchmarkDistribution,
    }

    def __init__(self, least: float, most: float) -> None:
        self.least = least
        self.most = most

    def rule(self) -> str:
        """Return the bounds in words."""
        return f"must be from {self.least:g} to {self.most:g}"

    def outside(self, values: Floats) -> Bools:
        """Return which values [n] are out of bounds, NaN included."""
        inside = (values >= self.least) & (values <= self.most)
        return np.asarray(~inside)

    def parse(self, value: Any, info: ValidationInfo) -> Distribution:
        """Return the distribution of a number, or of `{uniform: [a, b]}` and the like.

        Raises:
            PydanticCustomError: the value is not a distribution, or can draw a value out of bounds.
        """
        if isinstance(value, Distribution):
            return value
        parsed = self._parse_form(value, info)
        ends = np.array(parsed.span())
        wrong = ends[np.isfinite(ends) & self.outside(ends)]
        if wrong.size:
            raise fault(f"{self.rule()}, got {wrong[0]:g}")
        return parsed

    def _parse_form(self, value: Any, info: ValidationInfo) -> Distribution:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Constant.model_validate({"value": float(value)})
        if isinstance(value, dict):
            for name, kind in self.kinds.items():
                if name in value:
                    return kind.model_validate(value, context=info.context)
        forms = "a number, {uniform: [a, b]}, {normal: [mean, std]}, {lognormal: [mean, sigma]}, {choice: [..]}"
        files = "{file: x.csv, column: name}, {fedscale: ...} or {ai_benchmark: ...}"
        raise fault(f"must be {forms}, {files}, got {shown(value)}")

    @staticmethod
    def dump(value: Distribution) -> Any:
        """Return the distribution in the form that `parse` reads."""
        if isinstance(value, Constant):
            return value.value
        return value.model_dump(mode="json")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        serialization = core_schema.plain_serializer_function_ser_schema(self.dump)
        return core_schema.with_info_plain_validator_function(self.parse, serialization=serialization)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number: JsonSchemaValue = {"type": "number", "minimum": self.least, "maximum": self.most}
        choices = [number]
        for kind in self.kinds.values():
            choice = handler.resolve_ref_schema(handler(kind.__pydantic_core_schema__))
            kind.describe_keys(choice)
            choices.append(choice)
        return {"anyOf": choices}


POSITIVE = PerDevice(1e-40, 1e18)  # far beyond any real device, without overflow in sums and products
NON_NEGATIVE = PerDevice(0.0, 1e4)
REAL = PerDevice(-300.0, 300.0)
CHANCE = PerDevice(1e-4, 1.0)  # algorithms divide by it
DATA_SHARE = PerDevice(1e-4, 1.0)  # of a device's samples
PEAK_S = PerDevice(0.0, 1e9)
SHARE = PerDevice(0.0, 1.0)
EFFICIENCY = PerDevice(1e-3, 1.0)
HOUR = PerDevice(0.0, 24.0)  # of a day
HEIGHT_M = PerDevice(0.1, 1e4)  # of antennas on the ground and on aeroplanes; path-loss models hold for less
Positive = Annotated[Distribution, POSITIVE]
NonNegative = Annotated[Distribution, NON_NEGATIVE]
Real = Annotated[Distribution, REAL]
Chance = Annotated[Distribution, CHANCE]
DataShare = Annotated[Distribution, DATA_SHARE]
PeakS = Annotated[Distribution, PEAK_S]
HeightM = Annotated[Distribution, HEIGHT_M]
PerDeviceShare = Annotated[Distribution, SHARE]
Efficiency = Annotated[Distribution, EFFICIENCY]
Hour = Annotated[Distribution, HOUR]

ATTRIBUTES: dict[str, str] = words_of(__file__, "attributes.yaml")


def draw(name: str, distribution: Distribution, bound: PerDevice, ids: Ids, streams: Streams) -> Floats:
    """Return the attribute `name` [n] of devices [n].

    Raises:
        InputError: a value outside the bound was drawn, or a file has no row for a device.
    """
    uniforms = np.broadcast_to(0.5, ids.shape)
    if distribution.needs_draws:  # a million draws take long
        uniforms = streams.uniform("attribute", ids, list(ATTRIBUTES).index(name))
    try:
        values = distribution.quantile(uniforms, ids)
    except InputError as error:
        raise InputError(f"{ATTRIBUTES[name]}: {error}") from None
    wrong = np.flatnonzero(bound.outside(values))
    if wrong.size:
        row = wrong[0]
        text = f"device {ids[row]} draws {values[row]:g}, {bound.rule()}: use another distribution"
        raise InputError(f"{ATTRIBUTES[name]}: {text}")
    return values
