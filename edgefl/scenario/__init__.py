"""Scenarios: what to run, typed, frozen and validated."""

from edgefl.scenario.load import dump, load, load_with_source
from edgefl.scenario.schema import (
    Augmentation,
    Cells,
    DataSection,
    Devices,
    Radio,
    Scenario,
    ServerSection,
    Stop,
    Training,
)

__all__ = [
    "Augmentation",
    "Cells",
    "DataSection",
    "Devices",
    "Radio",
    "Scenario",
    "ServerSection",
    "Stop",
    "Training",
    "dump",
    "load",
    "load_with_source",
]
