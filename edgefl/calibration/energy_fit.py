"""The power of one type of device in each phase, and the energy of its set-up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgefl.calibration.fitting import relative_fit
from edgefl.calibration.log import PHASES, LogRow

WIDE_RATES = 1.5  # rates within this ratio count as one: a line through them would fit noise
WIDE_CLOCKS = 1.2  # as above


class RadioPower(NamedTuple):
    """The power of a device while it receives or sends: `base_w + j_per_mbit * Mbit/s`."""

    base_w: float
    j_per_mbit: float
    knows_rate: bool  # rates differ enough for the second number

    def at(self, mbit_s: float) -> float:
        """Return the power [W] at a rate."""
        return self.base_w + self.j_per_mbit * mbit_s


class CpuPower(NamedTuple):
    """The power of a device while it computes: `static_w + capacitance f^3`."""

    static_w: float
    capacitance: float  # 0: unknown, as clocks are alike

    def at(self, clock_hz: float | None) -> float:
        """Return the power [W] at a clock."""
        if clock_hz is None:
            return self.static_w
        return self.static_w + self.capacitance * clock_hz**3


@dataclass(frozen=True)
class EnergyFit:
    """One type of device; None where no row has the number."""

    setup_s: float | None
    setup_j: float | None
    idle_w: float | None
    cpu: CpuPower | None
    rx: RadioPower | None
    tx: RadioPower | None


def fit_energy(rows: Sequence[LogRow]) -> EnergyFit:
    """Return the fit to the rows of one type."""
    of_phase: dict[str, list[LogRow]] = {phase: [] for phase in PHASES}
    for row in rows:
        of_phase[row.phase].append(row)
    setup = of_phase["setup"]
    return EnergyFit(
        setup_s=_mean([row.seconds for row in setup]),
        setup_j=_mean([row.joules for row in setup if row.joules is not None]),
        idle_w=_mean_power_w(of_phase["idle"]),
        cpu=_cpu_power(rows),
        rx=_radio_power(of_phase["download"]),
        tx=_radio_power(of_phase["upload"]),
    )


def _mean(numbers: Sequence[float]) -> float | None:
    if not numbers:
        return None
    return float(np.mean(numbers))


def _mean_power_w(rows: Sequence[LogRow]) -> float | None:
    known = [row for row in rows if row.joules is not None]
    if not known:
        return None
    return sum(row.joules or 0.0 for row in known) / sum(row.seconds for row in known)


def _cpu_power(rows: Sequence[LogRow]) -> CpuPower | None:
    known = [row for row in rows if row.phase == "train" and row.power_w]
    if not known:
        return None
    if all(row.clock_hz is not None for row in known):
        clocks_hz = np.array([row.clock_hz for row in known], dtype=np.float64)
        if clocks_hz.max() > WIDE_CLOCKS * clocks_hz.min():
            powers_w = np.array([row.power_w for row in known])
            features = np.stack([np.ones(len(known)), clocks_hz**3], axis=1)
            return CpuPower(*relative_fit(features, powers_w).tolist())
    return CpuPower(_mean_power_w(known) or 0.0, 0.0)


def _radio_power(rows: Sequence[LogRow]) -> RadioPower | None:
    known = [row for row in rows if row.power_w]
    if not known:
        return None
    rates = np.array([row.mbit_s for row in known])
    if rates.max() > WIDE_RATES * rates.min():
        powers_w = np.array([row.power_w for row in known])
        base_w, j_per_mbit = relative_fit(np.stack([np.ones(len(known)), rates], axis=1), powers_w).tolist()
        return RadioPower(base_w, j_per_mbit, knows_rate=True)
    return RadioPower(_mean_power_w(known) or 0.0, 0.0, knows_rate=False)
