"""The world: which devices there are, where they are and what they are made of; arrays, evaluated when asked."""

from __future__ import annotations

import numpy as np

import channel
from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.distributions import HEIGHT_M, NON_NEGATIVE, POSITIVE, REAL
from edgefl.core.streams import Streams
from edgefl.world.batteries import Batteries, BatteryParameters
from edgefl.world.cells_section import Cells
from edgefl.world.churn import Presence
from edgefl.world.churn.within import covered
from edgefl.world.compute import LocalComputation, UploadEstimate, cpu_power_w, flops_per_s
from edgefl.world.devices_section import Devices
from edgefl.world.mobility import Mobility


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
        self.count = devices.count
        self.cpu_hz = devices.draw("cpu_hz", POSITIVE, streams)
        self.flops_per_cycle = devices.draw("flops_per_cycle", POSITIVE, streams)
        self.capacitance = devices.draw("capacitance", POSITIVE, streams)
        self.tx_power_dbm = devices.draw("tx_power_dbm", REAL, streams)
        self.rx_power_w = devices.draw("rx_power_w", POSITIVE, streams)
        self.idle_power_w = devices.draw("idle_power_w", NON_NEGATIVE, streams)
        self.height_m = devices.draw("height_m", HEIGHT_M, streams)
        self.batteries = Batteries(BatteryParameters.drawn(devices, streams)) if devices.has_batteries else None
        self.dvfs = devices.dvfs
        self._track = mobility.track(cells.area, devices.count, streams)
        self._cells = cells
        self.presence = covered(presence) if self._track.can_leave else presence
        self.presence.observe_coverage(self.is_covered, self.coverage_holds_until_s)

    def is_covered(self, ids: Ids, time_s: float) -> Bools:
        """Which of devices [n] are on the map at a time, within `cells.radius_m` of a base station."""
        near = self._inside_m(ids, time_s) >= -1e-9 * self._cells.radius_m  # the edge counts
        return np.asarray(near & self.on_map(ids, time_s))

    def coverage_holds_until_s(self, ids: Ids, time_s: float) -> Floats:
        """The times [n] until which `covered` certainly says the same of devices [n] as at a time."""
        slack_m = np.abs(self._inside_m(ids, time_s)) * (1 - 1e-6)
        return self._track.stays_within_until_s(ids, time_s, slack_m)

    def _inside_m(self, ids: Ids, time_s: float) -> Floats:
        """How far devices [n] are within the border of what the nearest base station covers; outside it is negative."""
        return np.asarray(self._cells.radius_m - self._cells.distances_m(self.positions_m(ids, time_s)).min(axis=1))

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        """Which of devices [n] the map or trace has at a time, wherever they are."""
        return self._track.on_map(ids, time_s)

    def present(self, time_s: float, index: int) -> Ids:
        """Ids [n] of the devices that are there, and have not run out, at a time, when the round `index` begins."""
        there = self.presence.present(time_s, index)
        return there if self.batteries is None else self.batteries.with_charge(there, time_s)

    def computing(
        self, ids: Ids, flops: Floats, deadline_s: Floats, upload_s: UploadEstimate | None = None
    ) -> LocalComputation:
        """The local computing of devices [n]: operations, the time for all of a part, and what the upload may take."""
        return LocalComputation(self.dvfs, flops, self.cpu_hz[ids], self.flops_per_cycle[ids], deadline_s, upload_s)

    def tx_power_w(self, ids: Ids) -> Floats:
        """Return the powers [n] at which devices [n] transmit [W].

        The radio's rates and the devices' energy both start here, so an uplink power control belongs here.
        """
        return np.asarray(channel.units.dbm_to_w(self.tx_power_dbm[ids]))

    def powers_w(self, ids: Ids, cpu_hz: Floats | None = None) -> dict[str, Floats]:
        """What devices [n] draw while they receive, compute, send and wait (dynamic-devices paper, eq. 27, 28, 42).

        They compute at `cpu_hz` [n]; where not given, at their fastest clocks.
        """
        clock_hz = self.cpu_hz[ids] if cpu_hz is None else cpu_hz
        return {
            "rx": self.rx_power_w[ids],
            "cpu": cpu_power_w(clock_hz, self.flops_per_cycle[ids], self.capacitance[ids]),
            "tx": self.tx_power_w(ids),
            "idle": self.idle_power_w[ids],
        }

    def flops_per_s(self, ids: Ids) -> Floats:
        """Return how many operations a second the processors of devices [n] do at their highest clocks."""
        return flops_per_s(self.cpu_hz[ids], self.flops_per_cycle[ids])

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2] relative to the base station."""
        return self._track.positions_m(ids, time_s)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Speeds [n], which drive the Doppler spread."""
        return self._track.speeds_mps(ids, time_s)
