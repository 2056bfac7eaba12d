"""The other users of the cells' bands: how many there are, what they leave to the devices, and how they interfere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

import channel
from edgefl.core.arrays import Floats, Ints
from edgefl.core.returns import check_number, check_type, is_trusted
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.background import Background, OtherUsers
from edgefl.radio.budget.link_budget import LinkBudget, OtherTransmitters
from edgefl.radio.gains.large_scale import LargeScaleChannel
from edgefl.radio.transfers import Way
from edgefl.world.cells_section import Cells

PURPOSES: dict[Way, Purpose] = {"down": "background_down", "up": "background_up"}
POINTS_A_CELL = 200  # at which other users may be, for the mean of their path gains
POINT_HEIGHT_M = 1.5


class BandUsers:
    """The other users of some cells in one direction, up to a time.

    Args:
        of_cell: the users of each cell, by its number.
        received_w: [cells, cells] what the second's base station receives of one of the first's.
    """

    def __init__(self, of_cell: dict[int, OtherUsers], received_w: Floats) -> None:
        self._of_cell = of_cell
        self._received_w = received_w

    def advance(self, time_s: float, transfers: Ints) -> None:
        """Let time pass until `time_s` [s], during which `transfers` [cells] of devices are under way."""
        for cell, users in self._of_cell.items():
            users.advance(time_s, int(transfers[cell]))

    def next_change_s(self, transfers: Ints) -> float:
        """Return when their number changes next [s], in any of the cells; inf: never."""
        return min(users.next_change_s(int(transfers[cell])) for cell, users in self._of_cell.items())

    def others(self, transfers: Ints) -> OtherTransmitters:
        """Return who they are now, while `transfers` [cells] of devices are under way."""
        counts = np.zeros(len(transfers))
        free = np.ones(len(transfers))
        for cell, users in self._of_cell.items():
            counts[cell] = users.count
            free[cell] = users.free_share(int(transfers[cell]))
            if not is_trusted(users):
                what = "the share of the band that is left to the devices, above 0 and at most 1"
                check_number(users, "count", users.count, "how many other users there are, from 0", least=0.0)
                check_number(users, "free_share", float(free[cell]), what, least=np.finfo(float).tiny)
                check_number(users, "free_share", float(1.0 - free[cell]), what, least=0.0)
        return OtherTransmitters(counts, free, self._received_w)


class Traffic:
    """The background traffic of a run.

    Args:
        cells: where the base stations stand.
        streams: keyed randomness.
        budget: the band that it shares, and who interferes.
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
        """Return the other users of some cells from time 0 on; None if there are none in this direction."""
        model = self.model
        if model is None or model.times(way) == 0:
            return None
        capacity_hz = self._resources.capacity_hz(way)
        of_cell: dict[int, OtherUsers] = {}
        for cell in cells:
            # Each cell draws from a sequence of its own, so that nothing depends on which one is asked first.
            users = model.users(way, capacity_hz, self._streams.sequence(PURPOSES[way], cell, 0))
            check_type(model, "users", users, OtherUsers, "an OtherUsers of edgefl.radio.background")
            of_cell[cell] = users
        return BandUsers(of_cell, self._received_w(way))

    def mean_others(self, way: Way) -> OtherTransmitters | None:
        """Return the other users in the mean over time, as shares that hold for a round see them; None: none."""
        if self.model is None:
            return None
        load = self.model.mean_load(way, self._resources.capacity_hz(way))
        if not load:  # none in this direction, or nobody knows how many: then fixed shares are refused
            return None
        cells = self._cells.count
        return OtherTransmitters(np.full(cells, load), np.full(cells, 1.0 - load), self._received_w(way))

    def _received_w(self, way: Way) -> Floats:
        """Return the powers [cells, cells] that base stations receive of one user of each cell; 0 where none asks."""
        if way == "down" or self.model is None or not self._budget.interferes:
            return np.zeros((self._cells.count, self._cells.count))
        return self._mean_gains * float(channel.units.dbm_to_w(self.model.tx_power_dbm))

    @cached_property
    def _mean_gains(self) -> Floats:
        """The mean path gains [cells, cells] from users whom the first cell serves to the second.

        Users are anywhere in the area, each served by the strongest cell. Their places are drawn once for a run.
        """
        cells = self._cells
        # Draws of their own: a point is no device, and shares no shadowing with one.
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
