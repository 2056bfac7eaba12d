"""The whole scenario: its sections, and what no section can see by itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, PositiveFloat, model_validator

from edgefl.algorithms import ALGORITHMS, Algorithm
from edgefl.algorithms.fedavg import FedAvg
from edgefl.churn import CHURN, Churn
from edgefl.churn.none import NoChurn
from edgefl.codecs.none import NoCodec
from edgefl.distributions import HEIGHT_M
from edgefl.mobility import MOBILITY, Area, Mobility
from edgefl.mobility.static import Static
from edgefl.models import MODELS, Model
from edgefl.models.fcn import Mlp
from edgefl.protocols import PROTOCOLS
from edgefl.protocols.split import Split
from edgefl.scenario.data import DataSection
from edgefl.scenario.devices import Devices
from edgefl.scenario.radio import Cells, Radio
from edgefl.scenario.server import ServerSection
from edgefl.scenario.sessions import Sessions
from edgefl.scenario.targets import Accuracy, Target
from edgefl.scenario.training import Training
from edgefl.section import Count, Section, fault_at


class Stop(Section):
    """When to end before the last round: whichever comes first, checked after each round."""

    accuracy: Accuracy | None = None
    time_s: PositiveFloat | None = None
    energy_j: PositiveFloat | None = None


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
