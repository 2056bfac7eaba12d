"""Joint optimisers of bandwidth, power and clock: one file each; `base.py` says how to write one."""

from edgefl.coordination.optimisers.base import Optimiser
from edgefl.core.catalogue import Catalogue, members_of

OPTIMISERS: Catalogue[Optimiser] = Catalogue(
    noun="optimiser",
    members=members_of(__file__),
    base=Optimiser,
    kind="optimisers",
)

__all__ = ["OPTIMISERS", "Optimiser"]
