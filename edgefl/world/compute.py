"""What local training costs a device: time and energy of its CPU (dynamic-devices paper, eq. 27 and 28)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.world.dvfs import Dvfs, Work

Estimate = Callable[[Floats, slice], Floats]  # seconds [r] of some devices, after downloads of so many seconds [r]


def compute_s(flops: Floats, cpu_hz: Floats, flops_per_cycle: Floats) -> Floats:
    """Seconds [n] that `flops` [n] operations take (eq. 27: N_p phi e B / (f chi))."""
    return flops / (cpu_hz * flops_per_cycle)


def compute_j(flops: Floats, cpu_hz: Floats, flops_per_cycle: Floats, capacitance: Floats) -> Floats:
    """Joules [n] that `flops` [n] operations take (eq. 28: xi (N_p phi e B / chi) f^2)."""
    return capacitance * (flops / flops_per_cycle) * cpu_hz**2


@dataclass(frozen=True)
class Computing:
    """Local training of devices [n]; each chooses its clock when its download has ended."""

    dvfs: Dvfs
    flops: Floats
    cpu_hz: Floats  # the fastest clocks
    flops_per_cycle: Floats
    deadline_s: Floats  # for download, computing and upload
    upload_s: Estimate | None = None  # of uploads; None where no clock depends on it

    def clock_hz(self, download_s: Floats, rows: slice = slice(None)) -> Floats:
        """Clocks [r] of some of them, after downloads of so many seconds [r]."""
        cycles = self.flops[rows] / self.flops_per_cycle[rows]
        upload_s = self.upload_s(download_s, rows) if self.upload_s else np.zeros(len(download_s))
        return self.dvfs.clock_hz(Work(cycles, self.cpu_hz[rows], download_s, upload_s, self.deadline_s[rows]))

    def seconds(self, download_s: Floats) -> Floats:
        """Times [n] after downloads of so many seconds [n]."""
        return compute_s(self.flops, self.clock_hz(download_s), self.flops_per_cycle)

    def of(self, row: int, download_s: float) -> tuple[float, float]:
        """One device's clock and time."""
        at = slice(row, row + 1)
        clock_hz = self.clock_hz(np.array([download_s]), at)
        return clock_hz.item(), compute_s(self.flops[at], clock_hz, self.flops_per_cycle[at]).item()
