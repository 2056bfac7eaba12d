"""Scenarios: what to run, typed, frozen and validated."""

from edgefl.coordination.server_section import ServerSection
from edgefl.learning.data_section import Augmentation, DataSection
from edgefl.learning.report_section import ReportSection
from edgefl.learning.training_section import Training
from edgefl.radio.backhaul_section import SERVER, Backhaul, BackhaulLink
from edgefl.radio.radio_section import Radio
from edgefl.scenario.load import dump, load, load_with_source
from edgefl.scenario.schema import Scenario, Stop
from edgefl.scenario.sessions_section import RoundKey, Sessions
from edgefl.scenario.sweep import Point, Sweep, is_sweep, load_sweep
from edgefl.scenario.targets import RelativeTarget
from edgefl.world.cells_section import Cells, Handover
from edgefl.world.devices_section import Devices

__all__ = [
    "SERVER",
    "Augmentation",
    "Backhaul",
    "BackhaulLink",
    "Cells",
    "DataSection",
    "Devices",
    "Handover",
    "Point",
    "Radio",
    "RelativeTarget",
    "ReportSection",
    "RoundKey",
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
