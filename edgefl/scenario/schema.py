"""The sections of a scenario and their defaults.

Devices, cells and radio: Table I of the dynamic-devices paper.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_serializer,
    model_validator,
)

from edgefl.algorithms import ALGORITHMS, Algorithm
from edgefl.algorithms.fedavg import FedAvg
from edgefl.allocation import ALLOCATIONS, Allocation
from edgefl.allocation.equal import EqualAllocation
from edgefl.churn import CHURN, Churn
from edgefl.churn.none import NoChurn
from edgefl.datasets import DATASETS, Dataset
from edgefl.datasets.digits import Digits
from edgefl.distributions import Constant, HeightM, Positive, Real
from edgefl.mobility import MOBILITY, Mobility
from edgefl.mobility.static import Static
from edgefl.models import MODELS, Model
from edgefl.models.fcn import Mlp
from edgefl.partitions import PARTITIONS, Partition
from edgefl.partitions.iid import Iid
from edgefl.propagation import PROPAGATION, Propagation
from edgefl.propagation.umi_los import UmiLos
from edgefl.protocols import PROTOCOLS, Policy
from edgefl.protocols.synchronous import Synchronous
from edgefl.schedules import SCHEDULES, ConstantRate, Schedule
from edgefl.section import Count, Section, fault, fault_at, shown
from edgefl.selection import SELECTIONS, Selection
from edgefl.selection.uniform import UniformSelection

Accuracy = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Decibels = Annotated[float, Field(ge=-300, le=300)]


def _batch_size(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """One sentence for the two alternatives."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f'must be a whole number from 1 to 1e9 or "full", got {shown(value)}') from None


BatchSize = Annotated[Count | Literal["full"], WrapValidator(_batch_size)]

PRESETS: dict[str, dict[str, Any]] = {
    "dynamic_devices": {"downlink": "broadcast", "allocation": "equal", "propagation": "umi_los", "shadowing_db": 4.0}
}
"""`radio.preset`: readings of a paper's radio model (spec of the channel, section 8)."""


class Stop(Section):
    """When to end before the last round: whichever comes first, checked after each round."""

    accuracy: Accuracy | None = None
    time_s: PositiveFloat | None = None
    energy_j: PositiveFloat | None = None


class DataSection(Section):
    """What is learned from, and who holds it."""

    inlined: ClassVar[str | None] = "dataset"

    dataset: Annotated[Dataset, DATASETS] = Digits()
    partition: Annotated[Partition, PARTITIONS] = Iid()
    augmentation: Augmentation | None = None

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, value: Any) -> Any:
        """The dataset's own keys stand beside `dataset`."""
        if not isinstance(value, dict) or isinstance(value.get("dataset"), Dataset):
            return value
        if not isinstance(value.get("dataset", "digits"), str):
            known = ", ".join(DATASETS.members)
            raise fault_at(("dataset",), f"must be a name, got {shown(value['dataset'])}; known: {known}")
        own = {key: item for key, item in value.items() if key not in cls.model_fields}
        rest = {key: item for key, item in value.items() if key not in own}
        rest.pop("dataset", None)
        return {"dataset": {"kind": value.get("dataset", "digits"), **own}, **rest}

    @model_serializer(mode="wrap")
    def _spread(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped = handler(self)
        own = dumped.pop("dataset")
        return {"dataset": own.pop("kind"), **own, **dumped}


class Augmentation(Section):
    """Random crops of zero-padded images and horizontal flips, drawn for each sample and step."""

    crop_padding: Annotated[int, Field(ge=0, le=1000)] = 4
    flip: bool = True


class ReportSection(Section):
    """What is written down how often."""

    eval_every: Count = 1  # rounds; the last one is always evaluated


class Training(Section):
    """Local training: SGD (algorithm cards, section 0.2)."""

    local_epochs: Count | None = None  # 5 where neither is given
    local_steps: Count | None = None
    batch_size: BatchSize = 50
    lr: NonNegativeFloat = 0.1
    lr_schedule: Annotated[Schedule, SCHEDULES] = ConstantRate()
    momentum: Share = 0.0
    weight_decay: NonNegativeFloat = 0.0
    clip_norm: PositiveFloat | None = None
    engine: Literal["auto", "serial", "batched"] = "auto"  # the fastest, one client after another, or together
    width: Count | None = None  # clients trained together; measured where not given
    precision: Literal["float32", "tf32", "bfloat16"] = "float32"  # of matrix products
    batch_norm: Literal["averaged", "local"] = "averaged"  # statistics: with the model, or each device's own
    state_home: Literal["auto", "device", "host", "disk"] = "auto"  # where clients' states are kept

    @property
    def work(self) -> tuple[int | None, int | None, int | None]:
        """Epochs or steps, and the batch size, None for all samples: as `device.local_steps` takes them."""
        return self.local_epochs, self.local_steps, None if self.batch_size == "full" else self.batch_size

    @model_validator(mode="before")
    @classmethod
    def _work(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given = [key for key in ("local_epochs", "local_steps") if value.get(key) is not None]
        if len(given) == 2:
            raise fault("local_epochs and local_steps exclude each other: leave one out")
        return value if given else {**value, "local_epochs": 5}


class ServerSection(Section):
    """How rounds run."""

    policy: Annotated[Policy, PROTOCOLS] = Synchronous()
    participants: Count | None = None  # everybody
    selection: Annotated[Selection, SELECTIONS] = UniformSelection()
    deadline_s: PositiveFloat | None = None

    @field_validator("deadline_s")
    @classmethod
    def _no_deadline(cls, value: float | None) -> None:
        if value is not None:
            raise fault("the synchronous policy waits for the last participant and has no deadline: leave it out")


class Devices(Section):
    """The population; numbers may be distributions."""

    count: Count = 100
    cpu_hz: Positive = Constant(value=1.0e9)
    flops_per_cycle: Positive = Constant(value=8.0)
    capacitance: Positive = Constant(value=1.0e-28)
    tx_power_dbm: Real = Constant(value=23.0)
    rx_power_w: Positive = Constant(value=0.1)
    height_m: HeightM = Constant(value=1.5)


class Cells(Section):
    """Where the base station covers what."""

    layout: Literal["single"] = "single"
    radius_m: PositiveFloat = 250.0
    min_distance_m: PositiveFloat = 10.0
    bs_height_m: Annotated[float, Field(gt=1, le=1000)] = 10.0  # above what fills the street

    @model_validator(mode="after")
    def _annulus(self) -> Cells:
        if self.min_distance_m >= self.radius_m:
            text = f"must be < radius_m = {self.radius_m:g}, got {self.min_distance_m:g}"
            raise fault_at(("min_distance_m",), text)
        return self


class Radio(Section):
    """Carrier, powers and models of the radio link."""

    preset: Literal["dynamic_devices"] | None = None
    carrier_hz: PositiveFloat = 3.5e9
    bandwidth_hz: Annotated[float, Field(ge=1, le=1e15)] = 100.0e6
    noise_dbm_hz: Decibels = -174.0
    server_tx_power_dbm: Decibels = 43.0
    propagation: Annotated[Propagation, PROPAGATION] = UmiLos()
    shadowing_db: Annotated[float, Field(ge=0, le=100)] = 4.0
    allocation: Annotated[Allocation, ALLOCATIONS] = EqualAllocation()
    downlink: Literal["unicast", "broadcast"] = "unicast"
    rate: Literal["shannon"] = "shannon"
    slot_s: Annotated[float, Field(ge=1e-6, le=10)] = 0.0005
    transfer: Literal["slots"] = "slots"

    @model_validator(mode="before")
    @classmethod
    def _fill_preset(cls, value: Any) -> Any:
        """Keys beside the preset override it."""
        preset = value.get("preset") if isinstance(value, dict) else None
        return {**PRESETS.get(preset, {}), **value} if isinstance(preset, str) else value


class Scenario(Section):
    """A complete scenario: what to run."""

    name: Annotated[str, Field(pattern=r"^[\w-][\w .-]{0,99}$")] = "scenario"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    rounds: Count = 60
    targets: Annotated[tuple[Accuracy, ...], Field(strict=False)] = ()
    stop: Stop = Stop()
    data: DataSection = DataSection()
    model: Annotated[Model, MODELS] = Mlp()
    training: Training = Training(local_epochs=5)
    algorithm: Annotated[Algorithm, ALGORITHMS] = FedAvg()
    server: ServerSection = ServerSection()
    devices: Devices = Devices()
    cells: Cells = Cells()
    radio: Radio = Radio()
    mobility: Annotated[Mobility, MOBILITY] = Static()
    churn: Annotated[Churn, CHURN] = NoChurn()
    report: ReportSection = ReportSection()

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        """What no section can see by itself."""
        count, participants = self.devices.count, self.server.participants
        if participants is not None and participants > count:
            raise fault_at(("server", "participants"), f"must be <= devices.count = {count}, got {participants}")
        if reason := self.server.selection.check(count):
            raise fault_at(("server", "selection"), reason)
        cells = self.cells
        if reason := self.radio.propagation.check(cells.min_distance_m, cells.radius_m, self.radio.carrier_hz):
            raise fault_at(("radio", "propagation"), reason)
        return self

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""
        return self.server.participants or self.devices.count
