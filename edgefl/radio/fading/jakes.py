"""Fading with the correlation of Clarke and Jakes."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from channel import fading, waves
from channel.waves import Waves
from edgefl.core.arrays import Bools, Floats
from edgefl.core.section import fault
from edgefl.radio.fading.base import DrawUniform, ScatteredPaths
from edgefl.radio.fading.ricean import Ricean

DRAWS_A_WAVE = 2  # its angle and its phase
DRAWS_OF_LINE = 2  # the angle and the phase of the line of sight


class Jakes(Ricean):
    """Rayleigh, or Ricean in line of sight, of correlation J0(2 pi f_d t): sums of waves (Xiao et al., TWC 2006)."""

    sinusoids: Annotated[int, Field(ge=8, le=1024)] = 64  # Number of waves in the sum.
    line_of_sight: bool = False  # Whether devices in line of sight have Ricean fading, with K as in ricean.

    slots_only: ClassVar[bool] = True

    def k_statistics_db(self, mean_db: float | None, std_db: float | None) -> tuple[float, float] | None:
        """Return the statistics of `ricean` with `line_of_sight`, otherwise None."""
        if self.line_of_sight:
            return super().k_statistics_db(mean_db, std_db)
        if self.k_mean_db is not None or self.k_std_db is not None:
            raise fault("k_mean_db and k_std_db need line_of_sight: true")
        return None

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """Return the drawn K [...] with `line_of_sight`, otherwise 0, which is pure scatter."""
        if self.line_of_sight:
            return super().k_factor(los, k_db)
        return np.zeros(los.shape)

    def waves(self, paths: ScatteredPaths, draw: DrawUniform) -> Waves:
        """Return waves from all directions [n], and the line of sight from a random one."""
        count = len(paths.speed_mps)
        uniform = draw(DRAWS_A_WAVE * self.sinusoids + DRAWS_OF_LINE)
        around = uniform[:, DRAWS_OF_LINE:].reshape(count, 1, self.sinusoids, DRAWS_A_WAVE)
        doppler_hz = fading.doppler_hz(paths.speed_mps, paths.carrier_hz)
        line_power = paths.k_factor / (paths.k_factor + 1.0)
        scattered = waves.scatter(around, doppler_hz, np.zeros(1), 1.0 - line_power[:, None])
        if not self.line_of_sight:
            return scattered
        line_hz = doppler_hz * np.cos(2.0 * np.pi * uniform[:, 0])
        return waves.with_line(scattered, line_power, line_hz, uniform[:, 1])
