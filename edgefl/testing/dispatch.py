"""The check of any member, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from edgefl.testing.report import Report

BASES = {  # the check of each kind of member, and where the base class of that kind is
    "algorithm": "edgefl.learning.algorithms:Algorithm",
    "allocation": "edgefl.radio.allocation:Allocation",
    "antenna": "edgefl.world.antennas:Antenna",
    "background": "edgefl.radio.background:Background",
    "churn": "edgefl.world.churn:Churn",
    "codec": "edgefl.learning.codecs:Codec",
    "csi": "edgefl.coordination.csi:Csi",
    "errors": "edgefl.radio.errors:PacketErrors",
    "fading": "edgefl.radio.fading:Fading",
    "measure": "edgefl.learning.measures:Measure",
    "mobility": "edgefl.world.mobility:Mobility",
    "model": "edgefl.learning.models:Model",
    "multiple_access": "edgefl.radio.multiple_access:MultipleAccess",
    "optimiser": "edgefl.coordination.optimisers:Optimiser",
    "partition": "edgefl.learning.partitions:Partition",
    "policy": "edgefl.coordination.policies:Policy",
    "propagation": "edgefl.radio.propagation:Propagation",
    "rate": "edgefl.radio.rates:Rate",
    "selection": "edgefl.coordination.selection:Selection",
    "traces": "edgefl.radio.traces:LinkTrace",
}


def check(member: Any, **keys: Any) -> Report:
    """Check a member of any kind, a class or an instance, and return the report.

    Args:
        member: what to check.
        keys: the keyword arguments of the check of its kind.

    Raises:
        TypeError: there is no check for it.
        ConformanceError: something is wrong.
    """
    cls = member if isinstance(member, type) else type(member)
    for kind, path in BASES.items():
        module, _, name = path.partition(":")
        if issubclass(cls, getattr(import_module(module), name)):
            return _check_of(kind)(member, **keys)
    # A torch module has no base class of ours. Without torch nobody can have defined one.
    if any(base.__module__.startswith("torch.nn") for base in cls.__mro__):
        return _check_of("model")(member, **keys)
    raise TypeError(f"there is no check for {cls.__qualname__}; checks are for: {', '.join(BASES)}")


def _check_of(kind: str) -> Callable[..., Report]:
    """Return the check of a kind; its module is imported only now, as some need torch."""
    found: Callable[..., Report] = getattr(import_module(f"edgefl.testing.{kind}"), f"check_{kind}")
    return found
