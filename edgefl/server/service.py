"""Which devices a base station serves: those that receive its reference signals well enough."""

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.core.arrays import Bools, Ids
from edgefl.radio.link import Link
from edgefl.world.world import World


@dataclass(eq=False)
class Service:
    """Compares a device's signal with the least level of cell selection (3GPP TS 38.304, clause 5.2.3.2).

    The level is that of `radio.least_rsrp_dbm`, and fading, which a measurement averages out, does not count.
    """

    env: simpy.Environment
    world: World
    link: Link
    least_dbm: float
    moves: bool  # whether positions change with time

    def __post_init__(self) -> None:
        self.out_of_service = 0  # devices [n] of the last call that are not served

    def serves(self, ids: Ids, index: int) -> Bools:
        """Return which of devices [n] are served now, over the channel of selection `index`."""
        positions_m = self.world.positions_m(ids, self.env.now)
        drop = self.link.drop(ids, positions_m, self.world.height_m[ids], index)
        served = self.link.radio.rsrp_dbm(drop.path_gain) >= self.least_dbm
        self.out_of_service = int(np.count_nonzero(~served))
        return served
