"""Antennas of base stations: one file a pattern; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue
from edgefl.world.antennas.base import Antenna

ANTENNAS: Catalogue[Antenna] = Catalogue(
    noun="antenna",
    members={
        "omni": "edgefl.world.antennas.omni:Omni",
        "tr38901": "edgefl.world.antennas.tr38901:Tr38901",
    },
    base=Antenna,
    kind="antenna",
)

__all__ = ["ANTENNAS", "Antenna"]
