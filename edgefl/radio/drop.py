"""A drop of users: the large-scale channel between a round's participants and the base stations."""

from __future__ import annotations

from dataclasses import dataclass, fields

from edgefl.core.arrays import Bools, Floats, Ids, Rows


@dataclass(frozen=True)
class Drop:
    """The large-scale channel of a round's participants, constant during the round (dynamic-devices paper, eq. 34).

    "Drop" is 3GPP's word: users are dropped at random into the cells, and their large-scale parameters hold for as
    long as the drop lasts (TR 38.901, clause 7.5).
    """

    ids: Ids  # [n]
    cell: Ids  # the sector of a base station that serves each device
    distance_m: Floats  # to that base station, 2D
    los: Bools  # of the way outdoors
    indoor: Bools  # behind a building's wall: no line of sight reaches the device
    pathloss_db: Floats
    shadowing_db: Floats
    k_factor: Floats  # linear
    path_gain: Floats  # psi = 10^(-(PL + X - G) / 10), G of both antennas
    all_gains: Floats  # [n, cells]: the same to every cell

    def only(self, rows: Rows) -> Drop:
        """Return the channel of the participants `rows` [r]."""
        return Drop(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})
