"""What local training costs a device: time and energy of its CPU (dynamic-devices paper, eq. 27 and 28)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgefl.dvfs import Dvfs, Work

Floats = npt.NDArray[np.float64]
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


def local_steps(sizes: npt.NDArray[np.int64], epochs: int | None, steps: int | None, batch: int | None) -> Floats:
    """Optimiser steps [n] of one round of local training; arguments as in `local_samples`."""
    if epochs is None and steps is None:
        raise ValueError("either epochs or steps must be given")
    passes = np.inf if epochs is None else epochs * epoch_steps(sizes, batch)
    return np.asarray(np.minimum(np.full(len(sizes), np.inf if steps is None else float(steps)), passes))


def local_samples(sizes: npt.NDArray[np.int64], epochs: int | None, steps: int | None, batch: int | None) -> Floats:
    """Samples [n] that devices with `sizes` [n] samples process in one round of local training.

    Args:
        sizes: samples held.
        epochs: passes over the local data, or None.
        steps: mini-batches, wrapping over the local data whose last batch may be short, or None. Where both are given,
            what ends first.
        batch: mini-batch size; None for all local data.
    """
    return samples_in(local_steps(sizes, epochs, steps, batch), sizes, batch)


def samples_in(steps: Floats, sizes: npt.NDArray[np.int64], batch: int | None) -> Floats:
    """Samples [n] of so many `steps` [n] of devices with `sizes` [n] samples, pass after pass."""
    size, per_epoch = np.minimum(sizes, batch) if batch else sizes, epoch_steps(sizes, batch)
    return np.asarray((steps // per_epoch) * sizes + (steps % per_epoch) * size)


def batch_sizes(size: int, epochs: int | None, steps: int | None, batch: int | None) -> npt.NDArray[np.int64]:
    """Samples [K] of each of a device's mini-batches in one round; arguments as in `local_samples`, for one device."""
    full = min(size, batch) if batch else size
    epoch = np.full(-(-size // full), full, dtype=np.int64)
    epoch[-1] = size - full * (len(epoch) - 1)
    return np.resize(epoch, int(local_steps(np.array([size]), epochs, steps, batch)[0]))


def epoch_steps(sizes: npt.NDArray[np.int64], batch: int | None) -> npt.NDArray[np.int64]:
    """Mini-batches [n] of an epoch."""
    return -(-sizes // (np.minimum(sizes, batch) if batch else sizes))
