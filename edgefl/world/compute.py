"""Time and energy of local training on a device's processor (dynamic-devices paper, eq. 27 and 28)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.returns import Array, called
from edgefl.core.streams import Streams
from edgefl.world.dvfs import Dvfs, Work

UploadEstimate = Callable[[Floats, slice], Floats]
"""Returns the expected upload times [r] of the devices in some rows, given their download times [r], in seconds."""

LEAST_HZ = np.finfo(np.float64).tiny  # a clock of 0 would never end
ROUNDING = 1e-9  # a clock may be above the highest by as much, relative to it


def flops_per_s(cpu_hz: Floats, flops_per_cycle: Floats) -> Floats:
    """Return the speed [n] of processors in operations a second: f chi, as in eq. 27."""
    return cpu_hz * flops_per_cycle


def compute_s(flops: Floats, speed_flops_per_s: Floats | float) -> Floats:
    """Return the seconds [n] that `flops` [n] operations take (eq. 27: ``N_p phi e B / (f chi)``)."""
    return flops / speed_flops_per_s


def compute_j(
    flops: Floats, cpu_hz: Floats, flops_per_cycle: Floats, capacitance: Floats, static_w: Floats | float
) -> Floats:
    """Return the joules [n] that `flops` [n] operations take.

    Source: eq. 28, ``xi (N_p phi e B / chi) f^2``, and the power `static_w` for as long as it takes, which a processor
    draws at any clock (leakage, memory; Kim et al., IEEE Computer 36(12), 2003).
    """
    dynamic_j = capacitance * (flops / flops_per_cycle) * cpu_hz**2
    return dynamic_j + static_w * compute_s(flops, flops_per_s(cpu_hz, flops_per_cycle))


def cpu_power_w(cpu_hz: Floats, flops_per_cycle: Floats, capacitance: Floats, static_w: Floats | float) -> Floats:
    """Return the power [n] in watts of processors at work: the energy of an operation over its time."""
    operation = np.ones(len(cpu_hz))  # so that the power cannot differ from energy over time
    energy_j = compute_j(operation, cpu_hz, flops_per_cycle, capacitance, static_w)
    return energy_j / compute_s(operation, flops_per_s(cpu_hz, flops_per_cycle))


class Jitter:
    """Training times vary from round to round, by whatever else a processor does.

    The factors are lognormal with mean 1 and given variation [devices], each a function of (seed, device, round).
    """

    def __init__(self, variation: Floats, streams: Streams) -> None:
        self._sigma = np.sqrt(np.log1p(variation**2))
        self._streams = streams

    def factors(self, ids: Ids, index: int) -> Floats:
        """Return the factors [n] of devices [n] in round `index`."""
        sigma = self._sigma[ids]
        drawn = self._streams.normal("computing", ids, index)
        return np.asarray(np.exp(sigma * drawn - sigma**2 / 2))


@dataclass(frozen=True)
class LocalComputation:
    """The computation of devices [n] between download and upload; each chooses its clock after its download."""

    dvfs: Dvfs
    flops: Floats  # operations of the local training
    cpu_hz: Floats  # the highest clocks
    flops_per_cycle: Floats  # chi
    deadline_s: Floats  # time for download, computing and upload together
    estimate_upload_s: UploadEstimate | None = None  # None if no clock depends on the upload
    clock_share: Floats | None = None  # of the highest clocks, chosen from outside; None: `dvfs` chooses

    def clock_hz(self, download_s: Floats, rows: slice = slice(None)) -> Floats:
        """Return the clocks [r] of the devices in `rows`, given their download times [r] in seconds."""
        if self.clock_share is not None:
            return self.cpu_hz[rows] * self.clock_share[rows]
        cycles = self.flops[rows] / self.flops_per_cycle[rows]
        if self.estimate_upload_s is None:
            upload_s = np.zeros(len(download_s))
        else:
            upload_s = self.estimate_upload_s(download_s, rows)
        work = Work(cycles, self.cpu_hz[rows], download_s, upload_s, self.deadline_s[rows])
        highest_hz = self.cpu_hz[rows] * (1 + ROUNDING)
        what = "clocks [n] in hertz, above 0 and not above `work.cpu_hz`"
        return called(self.dvfs.clock_hz, Array(download_s.shape, what, least=LEAST_HZ, most=highest_hz), work)

    def durations_s(self, download_s: Floats) -> Floats:
        """Return the computing times [n] in seconds, given download times [n] in seconds."""
        return self._durations_s(self.clock_hz(download_s))

    def of_device(self, row: int, download_s: float) -> tuple[float, float]:
        """Return the clock [Hz] and the computing time [s] of the device in a row, after its download."""
        if not self._depends_on_download:
            return self._at_once[row]
        rows = slice(row, row + 1)
        clock_hz = self.clock_hz(np.array([download_s]), rows)
        return clock_hz.item(), self._durations_s(clock_hz, rows).item()

    @property
    def _depends_on_download(self) -> bool:
        return self.clock_share is None and self.dvfs.scales_clock

    @cached_property
    def _at_once(self) -> list[tuple[float, float]]:
        """Return the results of `of_device` for all devices; calls on single numbers take long."""
        clock_hz = self.clock_hz(np.zeros(len(self.cpu_hz)))
        return list(zip(clock_hz.tolist(), self._durations_s(clock_hz).tolist(), strict=True))

    def _durations_s(self, clock_hz: Floats, rows: slice = slice(None)) -> Floats:
        return compute_s(self.flops[rows], flops_per_s(clock_hz, self.flops_per_cycle[rows]))
