"""Scenarios: what to run, typed, frozen and validated."""

from edgefl.scenario.load import dump, load, load_with_source
from edgefl.scenario.radio import Cells, Radio
from edgefl.scenario.schema import (
    Augmentation,
    DataSection,
    Devices,
    ReportSection,
    Scenario,
    ServerSection,
    Stop,
    Training,
)
from edgefl.scenario.sessions import Place, Sessions
from edgefl.scenario.targets import RelativeTarget

__all__ = [
    "Augmentation",
    "Cells",
    "DataSection",
    "Devices",
    "Place",
    "Radio",
    "RelativeTarget",
    "ReportSection",
    "Scenario",
    "ServerSection",
    "Sessions",
    "Stop",
    "Training",
    "dump",
    "load",
    "load_with_source",
]
