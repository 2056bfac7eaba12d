"""The other users of the cells' bands: their number, the share they leave to the devices, and their interference."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

import channel
from edgefl.core.arrays import Floats, Ints
from edgefl.core.returns import Instance, Number, called, check, is_trusted
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.background import Background, OtherUsers
from edgefl.radio.budget.link_budget import LinkBudget, OtherTransmitters
from edgefl.radio.gains.large_scale import LargeScaleChannel
from edgefl.radio.transfers import Way
from edgefl.world.cells_section import Cells

PURPOSES: dict[Way, Purpose] = {"down": "background_down", "up": "background_up"}
POINTS_A_CELL = 200  # places of other users, for the mean of their path gains
POINT_HEIGHT_M = 1.5


class BandUsers:
    """The other users of some cells in one direction, up to a time.

    Args:
        of_cell: the users of each cell, by its number.
        received_w: [cells, cells] power that the second's base station receives of one user of the first.
    """

    def __init__(self, of_cell: dict[int, OtherUsers], received_w: Floats) -> None:
        self._of_cell = of_cell
        self._received_w = received_w

    def advance(self, time_s: float, transfers: Ints) -> None:
        """Advance to `time_s` [s], while `transfers` [cells] of devices are under way."""
        for cell, users in self._of_cell.items():
            users.advance(time_s, int(transfers[cell]))

    def next_change_s(self, transfers: Ints) -> float:
        """Return the time [s] of the next change of their number in any of the cells; inf: never."""
        return min(users.next_change_s(int(transfers[cell])) for cell, users in self._of_cell.items())

    def others(self, transfers: Ints) -> OtherTransmitters:
        """Return the other users now, while `transfers` [cells] of devices are under way."""
        counts = np.zeros(len(transfers))
        free = np.ones(len(transfers))
        for cell, users in self._of_cell.items():
            counts[cell] = users.count
            free[cell] = users.free_share(int(transfers[cell]))
            if not is_trusted(users):
                what = "the share of the band that is left to the devices, above 0 and at most 1"
                check(users, "count", users.count, Number("how many other users there are, from 0", least=0.0))
                check(users, "free_share", float(free[cell]), Number(what, least=np.finfo(float).tiny))
                check(users, "free_share", float(1.0 - free[cell]), Number(what, least=0.0))
        return OtherTransmitters(counts, free, self._received_w)


class Traffic:
    """The background traffic of a run.

    Args:
        cells: places of the base stations.
        streams: keyed randomness.
        budget: the band that it shares, and the interference.
    """

    def __init__(self, cells: Cells, streams: Streams, budget: LinkBudget) -> None:
        self._radio = budget.radio
        self._cells = cells
        self._streams = streams
        self._budget = budget
        self._resources = budget.resources

    @property
    def model(self) -> Background | None:
        """The scenario's background traffic; None if there is none."""
        return self._radio.background

    def users(self, way: Way, cells: Sequence[int]) -> BandUsers | None:
        """Return the other users of some cells from time 0 on; None: there are none in this direction."""
        model = self.model
        if model is None or model.times(way) == 0:
            return None
        capacity_hz = self._resources.capacity_hz(way)
        of_cell: dict[int, OtherUsers] = {}
        for cell in cells:
            # Each cell has its own sequence of draws, so that nothing depends on their order.
            draws = self._streams.sequence(PURPOSES[way], cell, 0)
            must = Instance(OtherUsers, "an OtherUsers of edgefl.radio.background")
            of_cell[cell] = called(model.users, must, way, capacity_hz, draws)
        return BandUsers(of_cell, self._received_w(way))

    def mean_others(self, way: Way) -> OtherTransmitters | None:
        """Return the other users averaged over time, for shares that hold for a round; None: none."""
        if self.model is None:
            return None
        load = self.model.mean_load(way, self._resources.capacity_hz(way))
        if not load:  # none in this direction, or an unknown number: then fixed shares are refused
            return None
        cells = self._cells.count
        return OtherTransmitters(np.full(cells, load), np.full(cells, 1.0 - load), self._received_w(way))

    def _received_w(self, way: Way) -> Floats:
        """Return the powers [cells, cells] that base stations receive of one user of each cell; 0 where not needed."""
        if way == "down" or self.model is None or not self._budget.interferes:
            return np.zeros((self._cells.count, self._cells.count))
        return self._mean_gains * float(channel.units.dbm_to_w(self.model.tx_power_dbm))

    @cached_property
    def _mean_gains(self) -> Floats:
        """The mean path gains [cells, cells] from the users of the first cell to the second.

        Users are uniform over the area, each served by the strongest cell. Their places are drawn once for a run.
        """
        cells = self._cells
        # Separate draws: a place is not a device, and shares no shadowing with one.
        streams = self._streams.apart("background")
        propagation = self._radio.propagation
        if "out_of_range" in type(propagation).model_fields:
            propagation = propagation.model_copy(update={"out_of_range": "clamp"})
        radio = self._radio.model_copy(update={"propagation": propagation})
        count = POINTS_A_CELL * cells.count
        ids = np.arange(count)
        uniform = streams.uniform("placement", ids, count=2)
        radius_m = cells.coverage_m * np.sqrt(uniform[:, 0])  # uniform over the area
        angle = 2 * np.pi * uniform[:, 1]
        positions_m = np.stack([radius_m * np.cos(angle), radius_m * np.sin(angle)], axis=-1)
        far = cells.distances_m(positions_m).min(axis=1) >= cells.min_distance_m
        ids = ids[far]
        heights_m = np.full(len(ids), POINT_HEIGHT_M)
        gains = LargeScaleChannel(radio, cells, streams).paths(ids, positions_m[far], heights_m, 0).gains
        serving = gains.argmax(axis=1)
        mean = np.zeros((cells.count, cells.count))
        for cell in range(cells.count):
            if (serving == cell).any():
                mean[cell] = gains[serving == cell].mean(axis=0)
        return mean
