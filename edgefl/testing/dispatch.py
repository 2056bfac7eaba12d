"""The check of any member, by its kind."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from edgefl.testing.report import Report

BASES = {  # the base class of each kind of member
    "algorithm": "edgefl.learning.algorithms:Algorithm",
    "allocation": "edgefl.radio.allocation:Allocation",
    "antenna": "edgefl.world.antennas:Antenna",
    "background": "edgefl.radio.background:Background",
    "churn": "edgefl.world.churn:Churn",
    "codec": "edgefl.learning.codecs:Codec",
    "csi": "edgefl.coordination.csi:Csi",
    "drift": "edgefl.learning.drifts:Drift",
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
    kind = _kind(cls)
    # Imported only now, as some checks need torch.
    check_of: Callable[..., Report] = getattr(import_module(f"edgefl.testing.{kind}"), f"check_{kind}")
    return check_of(member, **keys)


def _kind(cls: type) -> str:
    for kind, path in BASES.items():
        module, _, name = path.partition(":")
        if issubclass(cls, getattr(import_module(module), name)):
            return kind
    # A torch module has none of our base classes; its own shows what it is without importing torch.
    if any(base.__module__.startswith("torch.nn") for base in cls.__mro__):
        return "model"
    raise TypeError(f"there is no check for {cls.__qualname__}; checks are for: {', '.join(BASES)}")
