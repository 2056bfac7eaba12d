"""The energy that a source of power tells of intervals: a thread reads it while steps run."""

import threading
import time
from typing import Self

import numpy as np
from scipy.integrate import cumulative_trapezoid

from edgefl.measuring.power.source import NotThere, Source


class Sampler:
    """Reads a source of power in a `with` block, and then knows the energy of intervals in it.

    Args:
        source: of power.
        period_s: between two readings.
    """

    def __init__(self, source: Source, period_s: float = 0.1) -> None:
        self._source = source
        self._period_s = period_s
        self._series: list[tuple[float, float]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        time.sleep(2 * self._period_s)  # so that the last interval lies between two readings
        self._ended.set()
        self._thread.join()
        self._source.close()
        if self._source.rows is not None:
            unix_s = time.time() - time.perf_counter()  # at the 0 of the other clock
            self._series = [(moment_s - unix_s, watts) for moment_s, watts in self._source.rows()]

    def _sample(self) -> None:
        while self._source.read is not None and not self._ended.wait(self._period_s):
            try:
                value = self._source.read()
            except NotThere:  # any more: later intervals have no energy
                return
            self._series.append((time.perf_counter(), value))

    def joules(self, began_s: float, seconds: float) -> float | None:
        """Return the energy of an interval; None if the readings do not cover it.

        Powers are integrated by the trapezoidal rule.
        """
        if not self._series:
            return None
        moments_s, joules = np.array(self._series).T
        if not self._source.is_energy:
            joules = cumulative_trapezoid(joules, moments_s, initial=0)
        ends_s = [began_s, began_s + seconds]
        found = float(np.diff(np.interp(ends_s, moments_s, joules, left=np.nan, right=np.nan)).item())
        return None if np.isnan(found) else found
