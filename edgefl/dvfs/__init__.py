"""At which clock devices compute: one file a rule of dynamic voltage and frequency scaling."""

from edgefl.catalogue import Catalogue
from edgefl.dvfs.base import Dvfs, Work

DVFS: Catalogue[Dvfs] = Catalogue(
    "clock rule",
    {
        "fixed": "edgefl.dvfs.fixed:FixedClock",
        "deadline": "edgefl.dvfs.deadline:DeadlineClock",
    },
)

__all__ = ["DVFS", "Dvfs", "Work"]
