"""Scenarios: what to run, typed, frozen and validated."""

from edgefl.scenario.backhaul import SERVER, Backhaul, BackhaulLink
from edgefl.scenario.cells import Cells, Handover
from edgefl.scenario.data import Augmentation, DataSection
from edgefl.scenario.devices import Devices
from edgefl.scenario.load import dump, load, load_with_source
from edgefl.scenario.radio import Radio
from edgefl.scenario.report import ReportSection
from edgefl.scenario.schema import Scenario, Stop
from edgefl.scenario.server import ServerSection
from edgefl.scenario.sessions import Place, Sessions
from edgefl.scenario.sweep import Point, Sweep, is_sweep, load_sweep
from edgefl.scenario.targets import RelativeTarget
from edgefl.scenario.training import Training

__all__ = [
    "SERVER",
    "Augmentation",
    "Backhaul",
    "BackhaulLink",
    "Cells",
    "DataSection",
    "Devices",
    "Handover",
    "Place",
    "Point",
    "Radio",
    "RelativeTarget",
    "ReportSection",
    "Scenario",
    "ServerSection",
    "Sessions",
    "Stop",
    "Sweep",
    "Training",
    "dump",
    "is_sweep",
    "load",
    "load_sweep",
    "load_with_source",
]
