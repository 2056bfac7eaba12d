"""The world: which devices there are, where they are and what they are made of; arrays, evaluated when asked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import channel
from edgefl.churn import Presence
from edgefl.device import compute_j, compute_s
from edgefl.distributions import HEIGHT_M, NON_NEGATIVE, POSITIVE, REAL, draw
from edgefl.mobility import Area, Mobility
from edgefl.scenario import Cells, Devices
from edgefl.streams import Streams

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class World:
    """The devices around a base station at (0, 0), and around its neighbours where there are any.

    Args:
        devices: what they are made of.
        cells: where the base stations stand.
        mobility: how the devices move.
        presence: which of them are there.
        streams: keyed randomness.

    Raises:
        InputError: a device draws an attribute that cannot be.
    """

    def __init__(
        self, devices: Devices, cells: Cells, mobility: Mobility, presence: Presence, streams: Streams
    ) -> None:
        ids = np.arange(devices.count, dtype=np.int64)
        self.count = devices.count
        self.presence = presence
        self.cpu_hz = draw("cpu_hz", devices.cpu_hz, POSITIVE, ids, streams)
        self.flops_per_cycle = draw("flops_per_cycle", devices.flops_per_cycle, POSITIVE, ids, streams)
        self.capacitance = draw("capacitance", devices.capacitance, POSITIVE, ids, streams)
        self.tx_power_dbm = draw("tx_power_dbm", devices.tx_power_dbm, REAL, ids, streams)
        self.rx_power_w = draw("rx_power_w", devices.rx_power_w, POSITIVE, ids, streams)
        self.idle_power_w = draw("idle_power_w", devices.idle_power_w, NON_NEGATIVE, ids, streams)
        self.height_m = draw("height_m", devices.height_m, HEIGHT_M, ids, streams)
        self._track = mobility.track(Area(cells.min_distance_m, cells.coverage_m), devices.count, streams)
        self._sites_m = channel.geometry.hexagonal_sites_m(cells.sites, cells.spacing_m)
        self._radius_m = cells.radius_m
        presence.follow(self.covered)

    def covered(self, ids: Ids, time_s: float) -> Bools:
        """Which of devices [n] are on the map at a time, within `cells.radius_m` of a base station."""
        offsets = self.positions_m(ids, time_s)[:, None, :] - self._sites_m
        near = np.hypot(offsets[..., 0], offsets[..., 1]).min(axis=1) <= self._radius_m * (1 + 1e-9)  # the edge counts
        return np.asarray(near & self._track.there(ids, time_s))

    def present(self, time_s: float, index: int) -> Ids:
        """Ids [n] of the devices that are there at a time, when the round `index` begins."""
        return self.presence.present(time_s, index)

    def powers_w(self, ids: Ids) -> dict[str, Floats]:
        """What devices [n] draw while they receive, compute, send and wait (dynamic-devices paper, eq. 27, 28, 42)."""
        cpu = np.ones(len(ids)), self.cpu_hz[ids], self.flops_per_cycle[ids]
        return {
            "rx": self.rx_power_w[ids],
            "cpu": compute_j(*cpu, self.capacitance[ids]) / compute_s(*cpu),
            "tx": channel.units.dbm_to_w(self.tx_power_dbm[ids]),
            "idle": self.idle_power_w[ids],
        }

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2] relative to the base station."""
        return self._track.positions_m(ids, time_s)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Speeds [n], which drive the Doppler spread."""
        return self._track.speeds_mps(ids, time_s)
