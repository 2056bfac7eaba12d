"""Per-device numbers as keys of a scenario: a constant, or a distribution, within bounds.

To add such a key to the section `devices`: a field of `Hardware` with one of the types at the end of this file, a line
at the end of `ATTRIBUTES`, and `devices.draw(...)` where the number is needed.
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
    "p0_dbm": "devices.power_control.p0_dbm",
    "alpha": "devices.power_control.alpha",
    "pa_efficiency": "devices.radio_energy.pa_efficiency",
    "circuit_w": "devices.radio_energy.circuit_w",
    "drx_tail_s": "devices.radio_energy.drx_tail_s",
    "drx_tail_w": "devices.radio_energy.drx_tail_w",
    "base_w": "devices.battery.base_w",
    "cpu_static_w": "devices.cpu_static_w",
    "setup_s": "devices.setup_s",
    "setup_j": "devices.setup_j",
    "rx_j_per_mbit": "devices.radio_energy.rx_j_per_mbit",
    "tx_j_per_mbit": "devices.radio_energy.tx_j_per_mbit",
    "convolution_flops_per_s": "devices.compute.convolution_flops_per_s",
    "matmul_flops_per_s": "devices.compute.matmul_flops_per_s",
    "grouped_flops_per_s": "devices.compute.grouped_flops_per_s",
    "bandwidth_bytes_per_s": "devices.compute.bandwidth_bytes_per_s",
    "group_s": "devices.compute.group_s",
    "step_s": "devices.compute.step_s",
    "speed": "devices.compute.speed",
    "slowdown": "devices.compute.throttling.slowdown",
    "heat_s": "devices.compute.throttling.heat_s",
    "cool_s": "devices.compute.throttling.cool_s",
    "capacity_mah": "devices.battery.capacity_mah",
    "voltage_v": "devices.battery.voltage_v",
    "memory_bytes": "devices.memory_bytes",
}
"""The scenario key of each attribute. An attribute's position keys its draws: append new ones, and never reorder."""


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
