"""The world: which devices there are, where they are and what they are made of; arrays, evaluated when asked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.churn import Churn
from edgefl.distributions import HEIGHT_M, NON_NEGATIVE, POSITIVE, REAL, draw
from edgefl.mobility import Area, Mobility
from edgefl.scenario import Cells, Devices
from edgefl.streams import Streams

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class World:
    """The devices around a base station at (0, 0), and around its neighbours where there are any.

    Raises:
        InputError: a device draws an attribute that cannot be.
    """

    def __init__(self, devices: Devices, cells: Cells, mobility: Mobility, churn: Churn, streams: Streams) -> None:
        ids = np.arange(devices.count, dtype=np.int64)
        self.count = devices.count
        self.churn = churn
        self.cpu_hz = draw("cpu_hz", devices.cpu_hz, POSITIVE, ids, streams)
        self.flops_per_cycle = draw("flops_per_cycle", devices.flops_per_cycle, POSITIVE, ids, streams)
        self.capacitance = draw("capacitance", devices.capacitance, POSITIVE, ids, streams)
        self.tx_power_dbm = draw("tx_power_dbm", devices.tx_power_dbm, REAL, ids, streams)
        self.rx_power_w = draw("rx_power_w", devices.rx_power_w, POSITIVE, ids, streams)
        self.idle_power_w = draw("idle_power_w", devices.idle_power_w, NON_NEGATIVE, ids, streams)
        self.height_m = draw("height_m", devices.height_m, HEIGHT_M, ids, streams)
        self.speed_mps = draw("speed_mps", mobility.speed_mps, NON_NEGATIVE, ids, streams)
        self._track = mobility.track(Area(cells.min_distance_m, cells.coverage_m), self.speed_mps, streams)

    def present(self, time_s: float) -> Ids:
        """Ids [n] of the devices that are in the cell at a time."""
        return self.churn.present(self.count, time_s)

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2] relative to the base station."""
        return self._track.positions_m(ids, time_s)
