"""Checks for authors of algorithms, selections and other members: one line of a test each.

    from edgefl.testing import check_algorithm
    from my_nova import MyNova

    def test_my_nova():
        check_algorithm(MyNova, mu=0.1)

A check returns a report, whose text has a line for each thing that was checked, or raises an `AssertionError` with that
text. No test framework is needed, and torch is imported only where something is learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgefl.testing.dispatch import KINDS, check, check_of
from edgefl.testing.report import ConformanceError, Report

if TYPE_CHECKING:
    from edgefl.testing.algorithm import check_algorithm
    from edgefl.testing.allocation import check_allocation
    from edgefl.testing.codec import check_codec
    from edgefl.testing.coordination import check_csi, check_optimiser, check_selection
    from edgefl.testing.measure import check_measure
    from edgefl.testing.model import check_model
    from edgefl.testing.policy import check_policy
    from edgefl.testing.samples import check_drift, check_partition
    from edgefl.testing.world import check_antenna, check_churn, check_mobility

__all__ = [
    "ConformanceError",
    "Report",
    "check",
    "check_algorithm",
    "check_allocation",
    "check_antenna",
    "check_churn",
    "check_codec",
    "check_csi",
    "check_drift",
    "check_measure",
    "check_mobility",
    "check_model",
    "check_optimiser",
    "check_partition",
    "check_policy",
    "check_selection",
]


def __getattr__(name: str) -> Any:
    """Import the module of a check when it is first used: only some of them need torch."""
    kind = name.removeprefix("check_")
    if kind not in KINDS:
        raise AttributeError(f"module 'edgefl.testing' has no attribute '{name}'")
    return check_of(kind)
