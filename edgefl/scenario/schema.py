"""The sections of a scenario and their defaults.

Devices, cells and radio: Table I of the dynamic-devices paper.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_serializer,
    model_validator,
)

from edgefl.algorithms import ALGORITHMS, Algorithm
from edgefl.algorithms.fedavg import FedAvg
from edgefl.churn import CHURN, Churn
from edgefl.churn.none import NoChurn
from edgefl.codecs import CODECS, Codec
from edgefl.codecs.none import NoCodec
from edgefl.datasets import DATASETS, Dataset
from edgefl.datasets.digits import Digits
from edgefl.distributions import HEIGHT_M, Constant, HeightM, NonNegative, Positive, Real
from edgefl.mobility import MOBILITY, Area, Mobility
from edgefl.mobility.static import Static
from edgefl.models import MODELS, Model
from edgefl.models.fcn import Mlp
from edgefl.partitions import PARTITIONS, Partition
from edgefl.partitions.iid import Iid
from edgefl.protocols import PROTOCOLS, Policy
from edgefl.protocols.split import Split
from edgefl.protocols.synchronous import Synchronous
from edgefl.scenario.radio import Cells, Radio
from edgefl.scenario.sessions import Sessions
from edgefl.scenario.targets import Accuracy, Target
from edgefl.schedules import SCHEDULES, ConstantRate, Schedule
from edgefl.section import Count, Section, fault, fault_at, shown
from edgefl.selection import SELECTIONS, Selection
from edgefl.selection.uniform import UniformSelection

Share = Annotated[float, Field(ge=0, lt=1)]


def _batch_size(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """One sentence for the two alternatives."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f'must be a whole number from 1 to 1e9 or "full", got {shown(value)}') from None


BatchSize = Annotated[Count | Literal["full"], WrapValidator(_batch_size)]


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
    test_partition: Literal["none", "like_train"] = "none"  # whether devices have test samples of their own, and which
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


class Contributions(Section):
    """What each participant's update is worth: Shapley values (FedAR paper, Fig. 1)."""

    every: Count = 10  # rounds
    permutations: Count = 200  # orders that are drawn where there are more than ten participants
    value: Literal["accuracy", "loss"] = "accuracy"  # of the model on the test set; the loss counts negatively


class ReportSection(Section):
    """What is written down how often."""

    eval_every: Count = 1  # rounds; the last one is always evaluated
    models: Annotated[tuple[Literal["sel", "all"], ...], Field(strict=False)] = ()  # evaluated beside the global one
    contributions: Contributions | None = None
    last_tests: Count = 50  # whose mean and standard deviation the summary has


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
    codec: Annotated[Codec, CODECS] = NoCodec()  # compression of uploads
    minimal_uploads: bool = False  # whether vectors are left out that the server can work out from the others
    batch_norm: Literal["averaged", "local"] = "averaged"  # statistics: with the model, or each device's own
    state_home: Literal["auto", "device", "host", "disk"] = "auto"  # where clients' states are kept

    @property
    def work(self) -> tuple[int | None, int | None, int | None]:
        """Epochs or steps, and the batch size, None for all samples: as `device.local_steps` takes them."""
        return self.local_epochs, self.local_steps, None if self.batch_size == "full" else self.batch_size

    def rate(self, index: int, rounds: int) -> float:
        """The learning rate in round `index`, from 0, of so many."""
        return self.lr * self.lr_schedule.factor(index, rounds)

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
    on_departure: Literal["lost", "completes"] = "lost"  # what becomes of the part of a device that leaves meanwhile
    flops_per_s: PositiveFloat | None = None  # of its half in split learning, for each device; None: it takes no time
    power_w: NonNegativeFloat = 0.0  # while it computes, for each device

    @model_validator(mode="after")
    def _computing(self) -> ServerSection:
        if self.flops_per_s is not None and not isinstance(self.policy, Split):
            name = PROTOCOLS.name_of(self.policy)
            raise fault_at(("flops_per_s",), f"the policy {name} leaves the server nothing to train: leave it out")
        if self.power_w and self.flops_per_s is None:
            raise fault_at(("power_w",), "counts while the server computes: give flops_per_s too")
        return self

    @model_validator(mode="after")
    def _deadline(self) -> ServerSection:
        if self.policy.has_deadline and self.deadline_s is None:
            raise fault_at(("deadline_s",), "is required: how long a round may take")
        if not self.policy.has_deadline and self.deadline_s is not None:
            name = PROTOCOLS.name_of(self.policy)
            raise fault_at(
                ("deadline_s",), f"the policy {name} has no deadline: leave it out, or set policy to deadline"
            )
        return self


class Devices(Section):
    """The population; numbers may be distributions."""

    count: Count = 100
    cpu_hz: Positive = Constant(value=1.0e9)
    flops_per_cycle: Positive = Constant(value=8.0)
    capacitance: Positive = Constant(value=1.0e-28)
    tx_power_dbm: Real = Constant(value=23.0)
    rx_power_w: Positive = Constant(value=0.1)
    idle_power_w: NonNegative = Constant(value=0.0)
    height_m: HeightM = Constant(value=1.5)


class Scenario(Section):
    """A complete scenario: what to run."""

    name: Annotated[str, Field(pattern=r"^[\w-][\w .-]{0,99}$")] = "scenario"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    rounds: Count | None = 60
    sessions: Sessions | None = None  # in place of rounds
    targets: Annotated[tuple[Target, ...], Field(strict=False)] = ()
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
    cost: Literal["full", "paper"] = "full"  # an algorithm's own vectors and passes count, or a model each way does
    report: ReportSection = ReportSection()

    @model_validator(mode="before")
    @classmethod
    def _length(cls, value: Any) -> Any:
        """Rounds or sessions."""
        if not isinstance(value, dict) or value.get("sessions") is None:
            return value
        if value.get("rounds") is not None:
            raise fault_at(("rounds",), "sessions have rounds of their own: leave one of the two out")
        return {**value, "rounds": None}

    @model_validator(mode="before")
    @classmethod
    def _no_rounds(cls, value: Any) -> Any:
        """Where devices of different rounds are under way together, the band is shared as they come and go."""
        if not isinstance(value, dict) or not isinstance(server := value.get("server"), dict):
            return value
        policy, radio = server.get("policy"), value.get("radio") or {}
        fields = {"kind": policy} if isinstance(policy, str) else policy
        if not isinstance(fields, dict) or not isinstance(kind := fields.get("kind"), str):
            return value
        if kind not in PROTOCOLS.members:
            return value
        rolling = PROTOCOLS.load(kind).model_construct(**fields).overlapping
        if rolling and isinstance(radio, dict) and radio.get("sharing") is None:
            return {**value, "radio": {**radio, "sharing": "processor"}}
        return value

    @model_validator(mode="after")
    def _in_two(self) -> Scenario:
        """What training a model in two halves asks of other sections."""
        policy = self.server.policy
        if not isinstance(policy, Split):
            return self
        if reason := self.model.check_cut(policy.cut):
            raise fault_at(("server", "policy", "cut"), reason)
        if type(self.algorithm) is not FedAvg:
            raise fault_at(("algorithm",), "the policy split trains by nothing but SGD: set it to fedavg")
        if self.model.cost is not None:
            raise fault_at(("model", "cost"), "the policy split prices a model's halves by counting them: leave it out")
        if not isinstance(self.training.codec, NoCodec):
            raise fault_at(("training", "codec"), "the policy split uploads no move of the model: leave it out")
        if self.radio.downlink == "broadcast":
            raise fault_at(("radio", "downlink"), "with the policy split each device gets other gradients: set unicast")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        """What no section can see by itself."""
        count, participants = self.devices.count, self.server.participants
        if participants is not None and participants > count:
            raise fault_at(("server", "participants"), f"must be <= devices.count = {count}, got {participants}")
        policy = self.server.policy
        if policy.overlapping and self.radio.downlink == "broadcast":
            raise fault_at(("radio", "downlink"), "with this server.policy nobody waits for a broadcast: set unicast")
        if policy.overlapping and self.radio.sharing == "fixed":
            text = "shares that hold for a round need rounds; with this server.policy set it to processor"
            raise fault_at(("radio", "sharing"), text)
        if policy.overlapping and self.churn.by_round:
            text = f"{CHURN.name_of(self.churn)} needs rounds; with this server.policy set it to none"
            raise fault_at(("churn",), text)
        if reason := self.churn.check(count):
            raise fault_at(("churn",), reason)
        if reason := self.algorithm.check(count):
            raise fault_at(("algorithm",), reason)
        if reason := self.server.selection.check(count):
            raise fault_at(("server", "selection"), reason)
        return self

    @model_validator(mode="after")
    def _in_the_cell(self) -> Scenario:
        """Whether devices can move there as they should, and path losses hold wherever they come."""
        cells, radio = self.cells, self.radio
        if reason := self.mobility.check(Area(cells.min_distance_m, cells.coverage_m)):
            raise fault_at(("mobility",), reason)
        reach = cells.nearest_m if self.mobility.keeps_off else 0.0, cells.farthest_m
        lowest, highest = self.devices.height_m.span()
        heights_m = max(lowest, HEIGHT_M.least), min(highest, HEIGHT_M.most)  # a device that draws more is refused
        if reason := radio.propagation.check(*reach, radio.carrier_hz, cells.bs_height_m, heights_m):
            raise fault_at(("radio", "propagation"), reason)
        if radio.reuse > 1 and cells.sites == 1:
            raise fault_at(("radio", "reuse"), "needs several cells: set cells.layout to hexagonal")
        return self

    @model_validator(mode="after")
    def _updates_apart(self) -> Scenario:
        """Policies under which a round's updates do not all meet: models walk, or base stations have their own."""
        policy, name = self.server.policy, PROTOCOLS.name_of(self.server.policy)
        plain = type(self.algorithm).aggregate is FedAvg.aggregate and self.algorithm.divisible()
        if not policy.averages and not plain:
            text = f"the policy {name} averages nothing: set it to fedavg or fedprox"
            raise fault_at(("algorithm",), f"{text}, without availability or mode wait")
        if self.report.contributions and (policy.edges or not policy.averages):
            text = f"under the policy {name} a round's updates do not meet: leave it out"
            raise fault_at(("report", "contributions"), text)
        if policy.direct and not isinstance(self.training.codec, NoCodec):
            text = "compresses the move from a model that the next device does not have: leave it out"
            raise fault_at(("training", "codec"), f"{text}, or set links to relayed")
        if policy.edges and not self.algorithm.divisible():
            text = f"under the policy {name} each base station keeps a model and nothing else"
            raise fault_at(("algorithm",), f"{text}: set it to fedavg (no availability, no mode wait), fedprox or moon")
        return self

    @model_validator(mode="after")
    def _in_turn(self) -> Scenario:
        """What sessions ask of other sections."""
        if self.sessions is None:
            return self
        policy, name = self.server.policy, PROTOCOLS.name_of(self.server.policy)
        if policy.overlapping or policy.edges:
            text = "one global model" if policy.edges else "rounds that do not overlap"
            raise fault_at(("sessions",), f"need {text}, which the policy {name} does not have: leave them out")
        if isinstance(policy, Split) and self.learning.has_own_loss():
            text = "the policy split trains by nothing but the task's loss: take another"
            raise fault_at(("sessions", "initialisation"), text)
        if isinstance(self.algorithm, FedAvg) and self.algorithm.mode == "wait":
            raise fault_at(("algorithm", "mode"), "wait has no end for devices of other sessions: set it to cap")
        if self.groups > self.devices.count:
            text = f"must be <= devices.count = {self.devices.count}, got {self.groups}"
            raise fault_at(("sessions", "groups"), text)
        if self.sessions.first_group > self.groups:
            text = f"must be <= {self.groups}, the groups that there are, got {self.sessions.first_group}"
            raise fault_at(("sessions", "first_group"), text)
        return self

    @property
    def in_sessions(self) -> Sessions:
        """The run as sessions; without any it is a single one."""
        return self.sessions or Sessions(count=1, rounds=cast("int", self.rounds))

    @property
    def learning(self) -> Algorithm:
        """The algorithm with what sessions add to it."""
        return self.in_sessions.initialisation.around(self.algorithm)

    @property
    def groups(self) -> int:
        """How many groups of devices take turns from session to session."""
        return 1 if self.sessions is None else self.sessions.groups or self.data.partition.groups

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""
        return self.server.participants or self.devices.count
