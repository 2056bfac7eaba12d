"""All sections of a scenario, and properties that follow from several of them."""

from functools import cached_property
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from edgefl.coordination.policies import POLICIES
from edgefl.coordination.server_section import ServerSection
from edgefl.core.paths import SearchFolder
from edgefl.core.plugin_import import NotImported
from edgefl.core.section import IF_GIVEN, Count, Section, fault, fault_at, shown
from edgefl.learning.algorithms import ALGORITHMS, Algorithm
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.data_section import DataSection
from edgefl.learning.models import MODELS, Model
from edgefl.learning.models.fcn import Mlp
from edgefl.learning.models.parted import in_parts
from edgefl.learning.report_section import ReportSection
from edgefl.learning.training_section import Training
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.radio.backhaul_section import Backhaul
from edgefl.radio.radio_section import Radio
from edgefl.scenario import presets
from edgefl.scenario.sessions_section import Sessions
from edgefl.scenario.targets import Accuracy, AccuracyTarget
from edgefl.world.cells_section import Cells
from edgefl.world.churn import CHURN, Churn
from edgefl.world.churn.none import NoChurn
from edgefl.world.devices_section import Devices
from edgefl.world.mobility import MOBILITY, Mobility
from edgefl.world.mobility.static import Static
from edgefl.world.power_control import PowerControl

EXTENDS = "extends"  # the key of `Sections` that is gone when they are validated: `overlays.py` reads its files
MOST_LABEL_LETTERS = 100


def _check_label(label: str) -> str:
    if not label or not label.isprintable() or label != label.strip() or len(label) > MOST_LABEL_LETTERS:
        wanted = f"must be one line of 1 to {MOST_LABEL_LETTERS} letters, without spaces around it"
        raise fault(f"{wanted}, got {shown(label)}")
    return label


class Patience(Section):
    """The end of a run whose model no longer improves (early stopping): how long it may wait for an improvement."""

    rounds: Count  # Number of rounds without an improvement after which the run ends.
    # The column of rounds.csv that is to improve. By default the accuracy, or the loss of a regression, on the
    # validation set if there is one, otherwise on the test set.
    of: Literal["validation_accuracy", "validation_loss", "test_accuracy", "test_loss", "train_loss"] | None = None
    min_delta: NonNegativeFloat = 0.0  # Changes up to this size do not count as an improvement.


class Stop(Section):
    """Conditions that end a run before its last round; checked after each round, and the first that holds counts.

    Policies without rounds (`asynchronous`, `buffered`) end at `time_s` itself.
    """

    accuracy: Accuracy | None = None  # Test accuracy at which the run ends, from 0 to 1.
    time_s: PositiveFloat | None = None  # Virtual time at which the run ends.
    energy_j: PositiveFloat | None = None  # Energy of all devices at which the run ends.
    # Number of devices that have run out of charge at once, at which the run ends.
    depleted: Annotated[Count | None, IF_GIVEN] = None
    # Ends a run that no longer improves.
    patience: Annotated[Patience | None, IF_GIVEN] = None


class Sections(Section):
    """All sections of a scenario, each validated separately; `Scenario` adds the checks between them."""

    # Scenario files or names of shipped scenarios, whose keys count where the file has none; of several the last one.
    extends: Annotated[str | tuple[str, ...] | None, Field(exclude_if=lambda _: True)] = None
    # Name of the run, and of its folder in results/.
    name: Annotated[str, Field(pattern=r"^[\w-][\w .-]{0,99}$")] = "scenario"
    # What tables, figures and pages call the run; by default the keys that tell it from the other runs. A label changes
    # no result.
    label: Annotated[Annotated[str, AfterValidator(_check_label)] | None, IF_GIVEN] = None
    # Folders with the modules of plug-ins; by default the folder of the scenario file. Written only if a plug-in was
    # found in one.
    import_from: Annotated[tuple[SearchFolder, ...], Field(strict=False, exclude_if=lambda folders: not folders)] = ()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1  # Seed of all random draws.
    rounds: Count | None = 60  # Number of global rounds. Scenarios with sessions have their rounds there.
    sessions: Sessions | None = None  # Several sessions instead of a single one, each with its own rounds.
    # Accuracies whose time and energy are reported.
    targets: Annotated[tuple[AccuracyTarget, ...], Field(strict=False)] = ()
    stop: Stop = Stop()  # Conditions that end a run before its last round.
    data: DataSection = DataSection()  # The dataset, and its partition among the devices.
    model: Annotated[Model, MODELS] = Mlp()  # The network that is trained; by default the one of the dataset.
    training: Training = Training(local_epochs=5)  # How each participant trains on its own samples.
    algorithm: Annotated[Algorithm, ALGORITHMS] = FedAvg()  # How updates are aggregated, and what devices do for it.
    server: ServerSection = ServerSection()  # When rounds begin and end, and which devices take part.
    devices: Devices = Devices()  # The devices, with their number, processors, powers and batteries.
    cells: Cells = Cells()  # The base stations, and the area that they cover.
    # Links between the base stations and the server; without them the server stands at every base station.
    backhaul: Backhaul | None = None
    radio: Radio = Radio()  # The channel, the band and how it is shared.
    mobility: Annotated[Mobility, MOBILITY] = Static()  # How devices move.
    churn: Annotated[Churn, CHURN] = NoChurn()  # How devices come and go.
    # What taking part costs. With paper it is one model each way, whatever else the algorithm sends or computes.
    cost: Literal["full", "paper"] = "full"
    report: ReportSection = ReportSection()  # When models are evaluated, and what else is measured.

    # Both validators below see the file's own keys: after validation, a default looks like a given value.

    @model_validator(mode="before")
    @classmethod
    def _rounds_or_sessions(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("sessions") is None:
            return value
        if value.get("rounds") is not None:
            raise fault_at(("rounds",), "sessions have rounds of their own: leave one of the two out")
        return {**value, "rounds": None}

    @model_validator(mode="before")
    @classmethod
    def _default_sharing(cls, value: Any, info: ValidationInfo) -> Any:
        """Make processor sharing the default if transfers can begin, change cells, or take turns at any time."""
        if not isinstance(value, dict):
            return value
        radio = value.get("radio") or {}
        if not isinstance(radio, dict) or radio.get("sharing") is not None:
            return value
        if radio.get("downlink") == "broadcast":
            return value  # a rule refuses processor sharing with a broadcast
        cells = value.get("cells")
        hands_over = isinstance(cells, dict) and cells.get("handover") is not None
        if hands_over or _takes_turns(radio, info) or _rounds_overlap(value.get("server"), info):
            return {**value, "radio": {**radio, "sharing": "processor"}}
        return value

    @model_validator(mode="before")
    @classmethod
    def _fill_presets(cls, value: Any, info: ValidationInfo) -> Any:
        """Fill in the keys of presets and profiles, before the validators above; pydantic calls them in reverse."""
        return presets.filled_in(value, info) if isinstance(value, dict) else value

    @property
    def effective_backhaul(self) -> Backhaul | None:
        """The section `backhaul`, or else the star that the policy's own keys describe; None if there is neither."""
        star = self.server.policy.star_backhaul
        if self.backhaul or star is None:
            return self.backhaul
        return Backhaul(kind="star", rate_bps=star.rate_bps, delay_s=star.delay_s)

    @property
    def in_sessions(self) -> Sessions:
        """The section `sessions`; a run without it is a single session."""
        # So that the server has one path for both kinds of run.
        return self.sessions or Sessions(count=1, rounds=cast("int", self.rounds))

    @property
    def learning(self) -> Algorithm:
        """The algorithm, with what the sessions' initialisation adds to it."""
        return self.in_sessions.initialisation.wrap(self.algorithm)

    @cached_property
    def network(self) -> Model:
        """The model as it trains: with its adapters, and with the parts that `training.parts` names."""
        return in_parts(self.model, self.training.parts)

    @property
    def power_controls(self) -> list[PowerControl]:
        """How the devices of each group set their transmit powers."""
        return [hardware.power_control or self.radio.power_control for hardware in self.devices.made_of]

    @property
    def groups(self) -> int:
        """The number of groups of devices that take turns from session to session."""
        if self.sessions is None or self.sessions.trigger:
            return 1  # with a trigger churn decides who is present, not a turn
        return self.sessions.groups or self.data.partition.groups

    @property
    def participants(self) -> int:
        """The number of participants that a round asks for."""
        return self.server.participants or self.devices.count


def _takes_turns(radio: dict[str, Any], info: ValidationInfo) -> bool:
    """Return whether the section `radio`, not yet validated, has an allocation that gives turns in time."""
    if radio.get("allocation") is None:
        return False
    try:
        return ALLOCATIONS.parse(radio["allocation"], info).in_time
    except (ValidationError, PydanticCustomError, NotImported):
        return False  # the section's own validation reports what is wrong


def _rounds_overlap(server: Any, info: ValidationInfo) -> bool:
    """Return whether the section `server`, not yet validated, has a policy whose rounds overlap."""
    if not isinstance(server, dict) or server.get("policy") is None:  # the default policy is synchronous
        return False
    try:
        return POLICIES.parse(server["policy"], info).overlapping
    except (ValidationError, PydanticCustomError, NotImported):
        return False  # the section's own validation reports what is wrong
