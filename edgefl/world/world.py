"""The world: the devices, their positions, presence and hardware, as arrays that are evaluated when asked for."""

from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.per_device import EFFICIENCY, HEIGHT_M, NON_NEGATIVE, POSITIVE, REAL, PerDevice
from edgefl.core.returns import Array, Instance, Subset, called
from edgefl.core.streams import Streams
from edgefl.world.batteries import Batteries
from edgefl.world.battery_parameters import BatteryParameters
from edgefl.world.bit_energy import bits_j
from edgefl.world.cells_section import Cells
from edgefl.world.churn import Presence
from edgefl.world.churn.within_coverage import within_coverage
from edgefl.world.compute import Jitter, LocalComputation, UploadEstimate, compute_s, cpu_power_w, flops_per_s
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.devices_section import Devices
from edgefl.world.mobility import Mobility
from edgefl.world.mobility.base import Track
from edgefl.world.power_control import PowerControl
from edgefl.world.throttling import Heat
from edgefl.world.uplink_power_control import FULL, UplinkPowerControl, full_power_w

EDGE_TOLERANCE = 1e-9  # of the cell's radius: rounding may put a device on the edge that far outside
SAFE_PART = 1 - 1e-6  # of the distance to the edge, after which a device has not reached it, whatever the rounding
FAR_M = 1e12  # the limit of positions in metres and of speeds in metres a second


@dataclass(kw_only=True, eq=False)
class World:
    """The devices around a base station at (0, 0), and around its neighbours if there are any.

    Raises:
        InputError: a device draws an attribute that is not allowed.
    """

    devices: Devices  # number and hardware
    cells: Cells
    mobility: Mobility
    presence: Presence
    streams: Streams
    control: Control = BY_SCENARIO  # may choose clocks and transmit powers instead of the scenario
    heights: PerDevice = HEIGHT_M  # of antennas that the path-loss model allows
    by_radio: PowerControl = FULL  # power control of devices that have none of their own

    def __post_init__(self) -> None:
        devices = self.devices
        streams = self.streams
        self.count = devices.count

        def draw(name: str, bound: PerDevice) -> Floats:
            return devices.draw(name, bound, streams)

        def of_radio(key: str, bound: PerDevice) -> Floats:
            return devices.draw(key, bound, streams, lambda of: getattr(of.radio_energy, key))

        # Attributes [devices], drawn once: all are keyed by device and name, so their order here does not matter.
        self.cpu_hz = draw("cpu_hz", POSITIVE)
        self.flops_per_cycle = draw("flops_per_cycle", POSITIVE)
        self.capacitance = draw("capacitance", POSITIVE)
        self.cpu_static_w = draw("cpu_static_w", NON_NEGATIVE)
        self.tx_power_dbm = draw("tx_power_dbm", REAL)
        self.power_control = UplinkPowerControl.of_devices(devices, self.tx_power_dbm, streams, self.by_radio)
        self.rx_power_w = draw("rx_power_w", POSITIVE)
        self.idle_power_w = draw("idle_power_w", NON_NEGATIVE)
        self.setup_s = draw("setup_s", NON_NEGATIVE)
        self.setup_j = draw("setup_j", NON_NEGATIVE)
        self.pa_efficiency = of_radio("pa_efficiency", EFFICIENCY)
        self.circuit_w = of_radio("circuit_w", NON_NEGATIVE)
        self.drx_tail_s = of_radio("drx_tail_s", NON_NEGATIVE)
        self.drx_tail_w = of_radio("drx_tail_w", NON_NEGATIVE)
        self.rx_j_per_mbit = of_radio("rx_j_per_mbit", NON_NEGATIVE)
        self.tx_j_per_mbit = of_radio("tx_j_per_mbit", NON_NEGATIVE)
        self.height_m = draw("height_m", self.heights)
        self.memory_bytes = devices.draw("memory_bytes", POSITIVE, streams, lambda of: of.memory_bytes or np.inf)
        self.dvfs = devices.dvfs
        self.heat = Heat.drawn(devices, streams)
        self._jitter: Jitter | None = None
        if devices.has_jitter:
            self._jitter = Jitter(devices.draw("jitter", NON_NEGATIVE, streams, lambda of: of.compute.jitter), streams)
        self.batteries: Batteries | None = None
        if devices.has_batteries:
            self.batteries = Batteries(BatteryParameters.drawn(devices, streams))
        must = Instance(Track, "a Track of edgefl.world.mobility.base")
        self._track = called(self.mobility.track, must, self.cells.area, devices.count, streams)
        self._all = np.arange(devices.count, dtype=np.int64)
        # Positions cost time: they are only looked at where movement can lead out of coverage.
        if self._track.can_leave:
            self.presence = within_coverage(self.presence)
        self.presence.observe_coverage(self.is_covered, self.coverage_holds_until_s)

    def is_covered(self, ids: Ids, time_s: float) -> Bools:
        """Return which of devices [n] are on the map at a time, within `cells.radius_m` of a base station."""
        near = self._inside_m(ids, time_s) >= -EDGE_TOLERANCE * self.cells.radius_m
        return np.asarray(near & self.on_map(ids, time_s))

    def coverage_holds_until_s(self, ids: Ids, time_s: float) -> Floats:
        """Return the times [n] until which `is_covered` certainly stays the same for devices [n]."""
        # A device inside leaves no sooner than it can reach the edge, one outside comes no sooner.
        distance_to_edge_m = np.abs(self._inside_m(ids, time_s)) * SAFE_PART
        return self._track.stays_within_until_s(ids, time_s, distance_to_edge_m)

    def _inside_m(self, ids: Ids, time_s: float) -> Floats:
        """Return how far [n] devices are inside the edge of the nearest base station's disc; negative: outside."""
        distances_m = self.cells.distances_m(self.positions_m(ids, time_s))  # [n, sites]
        return np.asarray(self.cells.radius_m - distances_m.min(axis=1))

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        """Return which of devices [n] are on the map or in the trace at a time, covered or not."""
        return self._track.on_map(ids, time_s)

    def present(self, time_s: float, index: int) -> Ids:
        """Return the ids [n] of the devices that are present and have charge when round `index` begins."""
        ids = called(self.presence.present, Subset(self._all, "ids of devices, each once"), time_s, index)
        if self.batteries is None:
            return ids
        return self.batteries.with_charge(ids, time_s)

    def computing(
        self, ids: Ids, flops: Floats, deadline_s: Floats, estimate_upload_s: UploadEstimate | None = None
    ) -> LocalComputation:
        """Return the local computation of devices [n].

        Args:
            ids: the devices.
            flops: [n] operations.
            deadline_s: [n] seconds for download, computing and upload together.
            estimate_upload_s: returns the expected upload times; None if no clock depends on them.
        """
        return LocalComputation(
            self.dvfs,
            flops,
            self.cpu_hz[ids],
            self.flops_per_cycle[ids],
            deadline_s,
            estimate_upload_s,
            self.control.clock_share(ids),
        )

    def as_long_as_now(self, ids: Ids, flops: Floats, index: int, time_s: float) -> Floats:
        """Return the operations [n] that usually take as long as `flops` [n] take devices [n] that begin now.

        Args:
            ids: the devices.
            flops: [n] of their training.
            index: number of rounds that have ended; it keys the jitter.
            time_s: now, as a processor may be hot.
        """
        if self._jitter is not None:
            flops = flops * self._jitter.factors(ids, index)
        if self.heat is not None:
            flops = flops * self.heat.stretch(ids, compute_s(flops, self.flops_per_s(ids)), time_s)
        return flops

    def flops_per_s(self, ids: Ids) -> Floats:
        """Return how many operations a second the processors of devices [n] do at their highest clocks."""
        return flops_per_s(self.cpu_hz[ids], self.flops_per_cycle[ids])

    def tx_power_w(self, ids: Ids) -> Floats:
        """Return the full powers [n] of devices [n] [W], before power control."""
        return full_power_w(self.tx_power_dbm[ids], self.control.power_share(ids))

    def scenario_tx_power_w(self, ids: Ids) -> Floats:
        """Return the full powers [n] that the scenario gives devices [n] [W], whatever controls the run."""
        return full_power_w(self.tx_power_dbm[ids])

    def powers_w(self, ids: Ids, cpu_hz: Floats | None = None, tx_power_w: Floats | None = None) -> dict[str, Floats]:
        """Return the powers [n] that devices [n] draw in each activity [W].

        A device that receives draws "rx", one that computes "cpu", one that waits "idle". One that transmits draws
        "circuit" and what its power amplifier takes: "tx" at full power, and in proportion below. While its radio stays
        awake after its last transfer, it draws "tail" instead of "idle". While it sets up, it draws "setup"; 0 if that
        takes no time.

        Source: dynamic-devices paper, eq. 27, 28, 42.

        Args:
            ids: the devices.
            cpu_hz: [n] clocks at which they compute; their highest ones if None.
            tx_power_w: [n] their full powers; those of a participation that begins now if None.
        """
        clock_hz = self.cpu_hz[ids] if cpu_hz is None else cpu_hz
        cpu_w = cpu_power_w(clock_hz, self.flops_per_cycle[ids], self.capacitance[ids], self.cpu_static_w[ids])
        for (first, end), hardware in zip(self.devices.borders, self.devices.made_of, strict=True):
            if hardware.power_points is not None:
                rows = np.flatnonzero((ids >= first) & (ids < end))
                cpu_w[rows] = np.interp(clock_hz[rows], *np.transpose(hardware.power_points))
        sent_w = self.tx_power_w(ids) if tx_power_w is None else tx_power_w
        setup_s = self.setup_s[ids]
        setup_w = np.divide(self.setup_j[ids], setup_s, out=np.zeros(len(ids)), where=setup_s > 0)
        return {
            "rx": self.rx_power_w[ids],
            "cpu": cpu_w,
            "tx": sent_w / self.pa_efficiency[ids],
            "circuit": self.circuit_w[ids],
            "idle": self.idle_power_w[ids],
            "tail": self.drx_tail_w[ids],
            "setup": setup_w,
        }

    def receiving_j(self, ids: Ids, bits: Floats | float) -> Floats:
        """Return the energy that devices [n] draw for received bits [n], besides the power of receiving [J]."""
        return np.asarray(bits_j(bits, self.rx_j_per_mbit[ids]))

    def sending_j(self, ids: Ids, bits: Floats | float) -> Floats:
        """Return the energy that devices [n] draw for sent bits [n], besides the power of sending [J]."""
        return np.asarray(bits_j(bits, self.tx_j_per_mbit[ids]))

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Return positions [n, 2] relative to the base station."""
        must = Array((len(ids), 2), "finite positions [n, 2] in metres", least=-FAR_M, most=FAR_M)
        return called(self._track.positions_m, must, ids, time_s)

    def path_m(self, device: int, times_s: Floats) -> Floats:
        """Return the positions [t, 2] of one device at ascending times [t]."""
        must = Array((len(times_s), 2), "finite positions [t, 2] in metres", least=-FAR_M, most=FAR_M)
        return called(self._track.path_m, must, device, times_s)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Return the speeds [n] of devices, which drive the Doppler spread."""
        must = Array((len(ids),), "speeds [n] in m/s, from 0", least=0.0, most=FAR_M)
        return called(self._track.speeds_mps, must, ids, time_s)
