"""Antennas of base stations: one file a pattern; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.world.antennas.base import Antenna

ANTENNAS: Catalogue[Antenna] = Catalogue(
    noun="antenna",
    members=members_of(__file__),
    base=Antenna,
    kind="antenna",
)

__all__ = ["ANTENNAS", "Antenna"]
