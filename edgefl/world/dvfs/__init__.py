"""Clock rules (dynamic voltage and frequency scaling): one file a rule; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.world.dvfs.base import Dvfs, Work

DVFS: Catalogue[Dvfs] = Catalogue(
    noun="clock rule",
    members=members_of(__file__),
    base=Dvfs,
    kind="dvfs",
)

__all__ = ["DVFS", "Dvfs", "Work"]
