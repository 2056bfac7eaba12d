"""What sensors say while steps run: a thread reads them all, and energy is the integral of power."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.measuring.power.reader import NotThere

PERIOD_S = 0.1

Series = Sequence[tuple[float, float]]
"""Times [s] and readings."""


class Sampler:
    """Reads sensors in a `with` block; a sensor that cannot be read any more ends with its last reading.

    Args:
        sensors: by name; None is no reading.
        period_s: between two readings.
    """

    def __init__(self, sensors: Mapping[str, Callable[[], float | None]], period_s: float = PERIOD_S) -> None:
        self.series: dict[str, list[tuple[float, float]]] = {name: [] for name in sensors}
        self._sensors = dict(sensors)
        self.period_s = period_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        time.sleep(2 * self.period_s)  # so that the last row lies between two readings
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(self.period_s):
            for name, read in list(self._sensors.items()):
                try:
                    value = read()
                except NotThere:
                    del self._sensors[name]
                    continue
                if value is not None:
                    self.series[name].append((time.perf_counter(), value))


def within(series: Series, began_s: float, seconds: float) -> list[float]:
    """Return the readings of an interval."""
    return [value for moment_s, value in series if began_s <= moment_s <= began_s + seconds]


class Energy:
    """The energy from the first reading on.

    Args:
        series: readings of the power [W], by which the trapezoidal rule integrates, or of a counter [J].
        is_energy: they are of a counter.
    """

    def __init__(self, series: Series, *, is_energy: bool) -> None:
        numbers = np.array(series, dtype=np.float64).reshape(-1, 2)
        self._moments_s: Floats = numbers[:, 0]
        self._joules: Floats = numbers[:, 1]
        if not is_energy and len(numbers):
            watts = numbers[:, 1]
            pieces = np.diff(self._moments_s) * (watts[1:] + watts[:-1]) / 2
            self._joules = np.concatenate([[0.0], np.cumsum(pieces)])

    def joules(self, began_s: float, seconds: float) -> float | None:
        """Return the energy of an interval; None if the readings do not cover it."""
        ends_s = [began_s, began_s + seconds]
        if not len(self._moments_s) or ends_s[0] < self._moments_s[0] or ends_s[1] > self._moments_s[-1]:
            return None
        first, last = np.interp(ends_s, self._moments_s, self._joules)
        return float(last - first)
