"""The section `server` of a scenario: its policy, its selection and its computer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from edgefl.coordination.csi import CSI, Csi
from edgefl.coordination.csi.none import NoCsi
from edgefl.coordination.optimisers import OPTIMISERS, Optimiser
from edgefl.coordination.optimisers.none import NoOptimiser
from edgefl.coordination.policies import POLICIES, Policy
from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.coordination.selection import SELECTIONS, Selection
from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.core.catalogue import where_known
from edgefl.core.section import Count, Seconds, Section, fault_at

LARGEST_ANSWER_BITS = 10**12


class DeviceEvaluationSection(Section):
    """Devices download the new model, evaluate it on samples of their own and answer, before the round ends."""

    # Share of a device's samples on which it evaluates; at least one sample.
    samples: Annotated[float, Field(gt=0, le=1)] = 0.1
    every: Count = 1  # Rounds from one evaluation to the next.
    # Which devices evaluate, either those whose update has arrived, or all that are present.
    devices: Literal["participants", "present"] = "participants"
    answer_bits: Annotated[int, Field(ge=1, le=LARGEST_ANSWER_BITS)] = 32  # Size of an answer; 32 bits are one number.
    # Time after which the server stops waiting for answers; by default it waits for all.
    deadline_s: Seconds | None = None


class ServerSection(Section):
    """The server: how it runs rounds, and how it treats devices that leave."""

    policy: Annotated[Policy, POLICIES] = Synchronous()  # When a round begins and ends.
    participants: Count | None = None  # Number of devices that a round asks for; by default all devices.
    selection: Annotated[Selection, SELECTIONS] = UniformSelection()  # Which devices take part.
    csi: Annotated[Csi, CSI] = NoCsi()  # What the server knows of channels when it decides.
    # Decides on the band, powers and clocks of the participants together.
    optimiser: Annotated[Optimiser, OPTIMISERS] = NoOptimiser()
    deadline_s: Seconds | None = None  # Time after which a round ends without late devices, for policies that have one.
    # Whether a participation is lost when its device departs, or completes.
    on_departure: Literal["lost", "completes"] = "lost"
    # Whether departed devices keep their state; if it is forgotten, the server drops it, too.
    departed_state: Literal["kept", "lost", "forgotten"] = "kept"
    # Lets devices evaluate each round's new model before the round ends; by default they do not.
    device_evaluation: DeviceEvaluationSection | None = None
    # Speed of the server for each device in split learning; by default its computing takes no time.
    flops_per_s: PositiveFloat | None = None
    power_w: NonNegativeFloat = 0.0  # Power of the server for each device while it computes.

    @model_validator(mode="after")
    @where_known
    def _check_computing(self) -> ServerSection:
        if self.flops_per_s is not None and not self.policy.splits_model:
            name = POLICIES.name_of(self.policy)
            raise fault_at(("flops_per_s",), f"the policy {name} leaves the server nothing to train: leave it out")
        if self.power_w and self.flops_per_s is None:
            raise fault_at(("power_w",), "counts while the server computes: give flops_per_s too")
        return self

    @model_validator(mode="after")
    @where_known
    def _check_csi(self) -> ServerSection:
        if self.selection.needs_csi and not self.csi.known:
            name = SELECTIONS.name_of(self.selection)
            raise fault_at(("csi",), f"the selection {name} needs to know channels: set csi to perfect, mean or last")
        if self.selection.needs_fading and not self.csi.instantaneous:
            name = SELECTIONS.name_of(self.selection)
            text = f"the selection {name} compares the fading, which {CSI.name_of(self.csi)} does not know"
            raise fault_at(("csi",), f"{text}: set csi to perfect")
        if self.optimiser.decides and not self.csi.known:
            name = OPTIMISERS.name_of(self.optimiser)
            raise fault_at(("csi",), f"the optimiser {name} needs to know channels: set csi to perfect, mean or last")
        return self

    @model_validator(mode="after")
    @where_known
    def _check_optimiser(self) -> ServerSection:
        if self.optimiser.decides and self.optimiser.needs_deadline and self.deadline_s is None:
            name = OPTIMISERS.name_of(self.optimiser)
            text = f"{name} needs to know when rounds have to be over: set its key deadline_s"
            raise fault_at(("optimiser",), f"{text}, or policy to deadline with server.deadline_s")
        return self

    @model_validator(mode="after")
    @where_known
    def _check_deadline(self) -> ServerSection:
        if self.policy.has_deadline and self.deadline_s is None:
            raise fault_at(("deadline_s",), "is required: how long a round may take")
        if self.selection.needs_deadline and self.deadline_s is None:
            name = SELECTIONS.name_of(self.selection)
            text = f"{name} fills a round up to it: set it, or set policy to deadline and give server.deadline_s"
            raise fault_at(("selection", "deadline_s"), text)
        if not self.policy.has_deadline and self.deadline_s is not None:
            name = POLICIES.name_of(self.policy)
            text = f"the policy {name} has no deadline: leave it out, or set policy to deadline"
            raise fault_at(("deadline_s",), text)
        return self
