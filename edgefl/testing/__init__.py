"""Checks for authors of algorithms, selections and other members: one line of a test each.

    from edgefl.testing import check_algorithm
    from my_nova import MyNova

    def test_my_nova():
        check_algorithm(MyNova, mu=0.1)

A check returns a report, whose text has a line for each thing that was checked, or raises an `AssertionError` with that
text. No test framework is needed, and torch is imported only where something is learned.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgefl.testing.algorithm import check_algorithm
    from edgefl.testing.allocation import check_allocation
    from edgefl.testing.antenna import check_antenna
    from edgefl.testing.background import check_background
    from edgefl.testing.churn import check_churn
    from edgefl.testing.codec import check_codec
    from edgefl.testing.csi import check_csi
    from edgefl.testing.dispatch import check
    from edgefl.testing.drift import check_drift
    from edgefl.testing.errors import check_errors
    from edgefl.testing.fading import check_fading
    from edgefl.testing.measure import check_measure
    from edgefl.testing.mobility import check_mobility
    from edgefl.testing.model import check_model
    from edgefl.testing.multiple_access import check_multiple_access
    from edgefl.testing.optimiser import check_optimiser
    from edgefl.testing.partition import check_partition
    from edgefl.testing.policy import check_policy
    from edgefl.testing.propagation import check_propagation
    from edgefl.testing.rate import check_rate
    from edgefl.testing.report import ConformanceError, Report
    from edgefl.testing.selection import check_selection
    from edgefl.testing.traces import check_traces

__all__ = [
    "ConformanceError",
    "Report",
    "check",
    "check_algorithm",
    "check_allocation",
    "check_antenna",
    "check_background",
    "check_churn",
    "check_codec",
    "check_csi",
    "check_drift",
    "check_errors",
    "check_fading",
    "check_measure",
    "check_mobility",
    "check_model",
    "check_multiple_access",
    "check_optimiser",
    "check_partition",
    "check_policy",
    "check_propagation",
    "check_rate",
    "check_selection",
    "check_traces",
]

_MODULES = {"ConformanceError": "report", "Report": "report", "check": "dispatch"}


def __getattr__(name: str) -> Any:
    """Import the module of a check when it is first used: only some of them need torch."""
    if name not in __all__:
        raise AttributeError(f"module 'edgefl.testing' has no attribute '{name}'")
    module = _MODULES.get(name, name.removeprefix("check_"))
    return getattr(import_module(f"edgefl.testing.{module}"), name)
