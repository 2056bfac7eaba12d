"""At which clock devices compute: one file a rule of dynamic voltage and frequency scaling."""

from edgefl.core.catalogue import Catalogue
from edgefl.world.dvfs.base import Dvfs, Work

DVFS: Catalogue[Dvfs] = Catalogue(
    "clock rule",
    {
        "fixed": "edgefl.world.dvfs.fixed:FixedClock",
        "deadline": "edgefl.world.dvfs.deadline:DeadlineClock",
    },
)

__all__ = ["DVFS", "Dvfs", "Work"]
