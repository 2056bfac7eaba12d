"""Clock rules (dynamic voltage and frequency scaling): one file a rule; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue
from edgefl.world.dvfs.base import Dvfs, Work

DVFS: Catalogue[Dvfs] = Catalogue(
    noun="clock rule",
    members={
        "fixed": "edgefl.world.dvfs.fixed:FixedClock",
        "deadline": "edgefl.world.dvfs.deadline:DeadlineClock",
    },
    base=Dvfs,
    kind="dvfs",
)

__all__ = ["DVFS", "Dvfs", "Work"]
