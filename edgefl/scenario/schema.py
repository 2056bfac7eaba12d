"""The whole scenario: its sections; `consistency.py` has what no section can see by itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, PositiveFloat, model_validator

from edgefl.coordination.policies import POLICIES
from edgefl.coordination.server_section import ServerSection
from edgefl.core.section import Count, Section, fault_at
from edgefl.learning.algorithms import ALGORITHMS, Algorithm
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.data_section import DataSection
from edgefl.learning.models import MODELS, Model
from edgefl.learning.models.fcn import Mlp
from edgefl.learning.report_section import ReportSection
from edgefl.learning.training_section import Training
from edgefl.radio.backhaul_section import Backhaul
from edgefl.radio.radio_section import Radio
from edgefl.scenario import consistency
from edgefl.scenario.sessions_section import Sessions
from edgefl.scenario.targets import Accuracy, Target
from edgefl.world.cells_section import Cells
from edgefl.world.churn import CHURN, Churn
from edgefl.world.churn.none import NoChurn
from edgefl.world.devices_section import Devices
from edgefl.world.mobility import MOBILITY, Mobility
from edgefl.world.mobility.static import Static


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
    def _consistent(self) -> Scenario:
        """What no section can see by itself."""
        consistency.check(self)
        return self

    @property
    def wires(self) -> Backhaul | None:
        """The backhaul, also where the policy says what it is like."""
        star = self.server.policy.star_backhaul
        if self.backhaul or star is None:
            return self.backhaul
        return Backhaul(kind="star", rate_bps=star.rate_bps, delay_s=star.delay_s)

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
    return kind in POLICIES.members and POLICIES.load(kind).model_construct(**fields).overlapping
