"""Scenarios: typed, frozen and validated descriptions of a run.

The class of each section lies in the package that it configures (`edgefl.radio.radio_section`, ...). This package
composes the sections, checks them against each other, and reads and writes them as YAML.
"""

from edgefl.scenario.dump import dump
from edgefl.scenario.load import changed, load, load_model, load_with_source, without
from edgefl.scenario.scenario import Scenario
from edgefl.scenario.sections import Patience, Stop
from edgefl.scenario.sessions_section import RoundKey, Sessions
from edgefl.scenario.sweep_file import Sweep, SweepPoint, is_sweep, load_sweep
from edgefl.scenario.targets import RelativeTarget

__all__ = [
    "Patience",
    "RelativeTarget",
    "RoundKey",
    "Scenario",
    "Sessions",
    "Stop",
    "Sweep",
    "SweepPoint",
    "changed",
    "dump",
    "is_sweep",
    "load",
    "load_model",
    "load_sweep",
    "load_with_source",
    "without",
]
