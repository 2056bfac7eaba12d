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
from edgefl.dvfs import DVFS
from edgefl.dvfs.fixed import FixedClock
from edgefl.mobility import MOBILITY, Area, Mobility
from edgefl.mobility.static import Static
from edgefl.models import MODELS, Model
from edgefl.models.fcn import Mlp
from edgefl.protocols import PROTOCOLS
from edgefl.protocols.hierarchical import Hierarchical
from edgefl.protocols.split import Split
from edgefl.scenario.backhaul import Backhaul
from edgefl.scenario.cells import Cells
from edgefl.scenario.data import DataSection
from edgefl.scenario.devices import Devices
from edgefl.scenario.radio import Radio
from edgefl.scenario.report import ReportSection
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
    backhaul: Backhaul | None = None  # the server is at every base station
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
        """Where devices begin at any time, or change cells, the band is shared as they come and go."""
        if not isinstance(value, dict):
            return value
        cells, radio = value.get("cells"), value.get("radio") or {}
        rolling = _overlapping(value.get("server")) or (isinstance(cells, dict) and cells.get("handover") is not None)
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
        if reason := self.server.selection.check(count, self.participants):
            raise fault_at(("server", "selection"), reason)
        return self

    @model_validator(mode="after")
    def _in_the_cell(self) -> Scenario:
        """Whether devices can move there as they should, and path losses hold wherever they come."""
        cells, radio = self.cells, self.radio
        if reason := self.mobility.check(Area(cells.min_distance_m, cells.coverage_m)):
            raise fault_at(("mobility",), reason)
        reach = cells.nearest_m if self.mobility.keeps_off else 0.0, cells.farthest_m
        lowest, highest = self.devices.span("height_m")
        heights_m = max(lowest, HEIGHT_M.least), min(highest, HEIGHT_M.most)  # a device that draws more is refused
        if reason := radio.propagation.check(*reach, radio.carrier_hz, cells.bs_height_m, heights_m):
            raise fault_at(("radio", "propagation"), reason)
        if reason := cells.check_reuse(radio.reuse):
            raise fault_at(("radio", "reuse"), reason)
        return self

    @model_validator(mode="after")
    def _handed_over(self) -> Scenario:
        """What devices that change cells during their parts ask of other sections."""
        policy = self.server.policy
        if self.cells.handover is None:
            return self
        if isinstance(policy, Split) or policy.direct:
            what = "the policy split" if isinstance(policy, Split) else "links from device to device"
            raise fault_at(("cells", "handover"), f"there is none with {what}: leave it out")
        if not self.radio.spatial_consistency:
            text = "cells.handover needs what a device receives to be a function of its place: set it to true"
            raise fault_at(("radio", "spatial_consistency"), text)
        if self.radio.sharing == "fixed":
            text = "shares that hold for a round need devices that stay in their cells; with cells.handover: processor"
            raise fault_at(("radio", "sharing"), text)
        return self

    @model_validator(mode="after")
    def _powered(self) -> Scenario:
        """What clocks and batteries ask of other sections."""
        devices, server = self.devices, self.server
        if devices.dvfs.needs_deadline and server.deadline_s is None:
            text = "needs server.deadline_s: set server.policy to deadline, or this to fixed"
            raise fault_at(("devices", "dvfs"), f"{DVFS.name_of(devices.dvfs)} {text}")
        if devices.dvfs.needs_deadline and server.selection.polls:
            raise fault_at(("devices", "dvfs"), "the selection polls devices before the deadline runs: set it to fixed")
        if devices.has_batteries and server.policy.direct:
            text = "over direct links a device receives before its part begins: leave it out, or set links to relayed"
            raise fault_at(("devices", "battery"), text)
        if devices.has_batteries and server.selection.polls:
            text = "the selection polls devices, and those that are not chosen have waited for nothing in the books"
            raise fault_at(("devices", "battery"), f"{text}: leave it out, or take another selection")
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
        if self.sessions.trigger and (type(self.churn) is NoChurn or self.churn.by_round):
            text = f"waits for devices that arrive, and with the churn {CHURN.name_of(self.churn)} none does"
            raise fault_at(("sessions", "trigger"), text)
        if self.sessions.trigger and (self.sessions.groups or 1) > 1:
            text = "take turns, but a trigger leaves it to churn who comes: leave it out"
            raise fault_at(("sessions", "groups"), text)
        if self.groups > self.devices.count:
            text = f"must be <= devices.count = {self.devices.count}, got {self.groups}"
            raise fault_at(("sessions", "groups"), text)
        if self.sessions.first_group > self.groups:
            text = f"must be <= {self.groups}, the groups that there are, got {self.sessions.first_group}"
            raise fault_at(("sessions", "first_group"), text)
        return self

    @model_validator(mode="after")
    def _polled(self) -> Scenario:
        """What selections that ask devices for something need of other sections."""
        selection, policy, name = self.server.selection, self.server.policy, PROTOCOLS.name_of(self.server.policy)
        if selection.by_battery and not self.devices.has_batteries:
            text = "no device has a battery: set devices.battery, or by to energy"
            raise fault_at(("server", "selection", "by"), text)
        if selection.polls and not isinstance(self.devices.dvfs, FixedClock):
            text = "asks devices to compute a loss, too, and dvfs sets their clock for the training: leave one out"
            raise fault_at(("server", "selection"), text)
        if selection.reports and isinstance(policy, Split):
            raise fault_at(("server", "selection"), "needs a report with each update, which the policy split has not")
        if selection.polls and (policy.overlapping or policy.edges or not policy.averages or isinstance(policy, Split)):
            text = f"polls devices before rounds in which all train one model; the policy {name} has none"
            raise fault_at(("server", "selection"), f"{text}: set the variant to rpow-d")
        return self

    @model_validator(mode="after")
    def _wired(self) -> Scenario:
        """Whether the backhaul reaches all base stations, and what crosses it."""
        if self.backhaul is None:
            return self
        if reason := self.backhaul.check(self.cells.sites):
            raise fault_at(("backhaul",), reason)
        policy, name = self.server.policy, PROTOCOLS.name_of(self.server.policy)
        if policy.direct or isinstance(policy, Split):
            raise fault_at(("backhaul",), f"is not modelled under the policy {name}: leave it out")
        if isinstance(policy, Hierarchical) and (policy.backhaul_bps or policy.backhaul_delay_s):
            raise fault_at(("server", "policy"), "has a backhaul of its own beside the section backhaul: leave one out")
        return self

    @property
    def wires(self) -> Backhaul | None:
        """The backhaul, also where the policy says what it is like."""
        policy = self.server.policy
        if self.backhaul or not isinstance(policy, Hierarchical):
            return self.backhaul
        return Backhaul(kind="star", rate_bps=policy.backhaul_bps, delay_s=policy.backhaul_delay_s)

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
        if self.sessions is None or self.sessions.trigger:
            return 1
        return self.sessions.groups or self.data.partition.groups

    @property
    def participants(self) -> int:
        """How many devices a round asks for."""
        return self.server.participants or self.devices.count


def _overlapping(server: Any) -> bool:
    """Whether a scenario's section `server`, not yet validated, has a policy without rounds."""
    policy = server.get("policy") if isinstance(server, dict) else None
    fields = {"kind": policy} if isinstance(policy, str) else policy
    if not isinstance(fields, dict) or not isinstance(kind := fields.get("kind"), str):
        return False
    return kind in PROTOCOLS.members and PROTOCOLS.load(kind).model_construct(**fields).overlapping
