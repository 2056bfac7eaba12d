"""Frequency-selective fading."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from channel import fading, tdl, waves
from channel.tdl import Taps
from channel.waves import Waves
from edgefl.core.arrays import Bools, Floats, Rows
from edgefl.core.section import fault, fault_at
from edgefl.radio.fading.base import DrawUniform, Fading, ScatteredPaths

DRAWS_A_WAVE = 2  # its angle and its phase
MOST_TAPS = 24  # of a profile: the draws of a device do not depend on its profile
WITH_LINE = ("D", "E")
NANOSECOND_S = 1e-9


class Tdl(Fading):
    """Taps A to E of a channel that differs over the band, each by Jakes (3GPP TR 38.901, clause 7.7.2)."""

    profile: Literal["A", "B", "C", "D", "E"] = "C"  # Profile of Tables 7.7.2-1 to 7.7.2-5; D and E have line of sight.
    los_profile: Literal["D", "E"] | None = None  # Profile of devices in line of sight; by default the same profile.
    # Delay spread; by default the propagation model's.
    delay_spread_ns: Annotated[float, Field(ge=0, le=1e6)] | None = None
    k_db: Annotated[float, Field(ge=-100, le=100)] | None = None  # K-factor of D and E, line of sight over all scatter.
    sinusoids: Annotated[int, Field(ge=8, le=1024)] = 16  # Number of waves of each tap.
    subband_hz: PositiveFloat | None = None  # Widest band that counts as flat; by default a tenth of 1 / delay spread.

    slots_only: ClassVar[bool] = True

    @model_validator(mode="after")
    def _consistent(self) -> Tdl:
        if self.los_profile is not None and self.profile in WITH_LINE:
            raise fault_at(("profile",), f"must be A, B or C with los_profile, got {self.profile}")
        if self.k_db is not None and self.los_profile is None and self.profile not in WITH_LINE:
            raise fault_at(("k_db",), f"profile {self.profile} has no line of sight: choose D or E, or a los_profile")
        return self

    def check_delay_spread(self, *, known: bool) -> None:
        """See Fading."""
        if self.delay_spread_ns is None and not known:
            raise fault("tdl needs delay_spread_ns, because the propagation model names no delay spread")

    def k_factor(self, los: Bools, k_db: Floats) -> Floats:
        """Return the K [...] of the profile of each device; 0 is a profile without a line of sight."""
        if self.los_profile is not None:
            return np.where(los, self._k_of(self.los_profile), 0.0)
        return np.full(los.shape, self._k_of(self.profile))

    def waves(self, paths: ScatteredPaths, draw: DrawUniform) -> Waves:
        """Return the taps [n], each a sum of waves from all directions, the first with the line of sight."""
        count = len(paths.speed_mps)
        spread_s = self._spread_s(paths)
        delay = np.zeros((count, MOST_TAPS))  # over the delay spread
        power = np.zeros((count, MOST_TAPS))
        line_power = np.zeros(count)
        for profile, rows in self._rows(paths.k_factor > 0).items():
            taps = self._taps(profile)
            places = np.arange(taps.delay_s.size)
            delay[rows[:, None], places] = taps.delay_s
            power[rows[:, None], places] = taps.scatter_power
            line_power[rows] = taps.line_power

        uniform = draw(DRAWS_A_WAVE * MOST_TAPS * self.sinusoids + 1)
        around = uniform[:, 1:].reshape(count, MOST_TAPS, self.sinusoids, DRAWS_A_WAVE)
        doppler_hz = fading.doppler_hz(paths.speed_mps, paths.carrier_hz)
        found = waves.scatter(around, doppler_hz, delay * spread_s[:, None], power)
        if line_power.any():
            found = waves.with_line(found, line_power, tdl.LOS_SHIFT * doppler_hz, uniform[:, 0])
        return replace(found, subband_hz=self.subband_hz)

    def _spread_s(self, paths: ScatteredPaths) -> Floats:
        """Return the delay spread [n] of each device."""
        if self.delay_spread_ns is not None:
            return np.full(len(paths.speed_mps), self.delay_spread_ns * NANOSECOND_S)
        self.check_delay_spread(known=paths.delay_spread_s is not None)
        return np.asarray(paths.delay_spread_s)

    def _rows(self, with_line: Bools) -> dict[str, Rows]:
        if self.los_profile is None:
            return {self.profile: np.arange(with_line.size)}
        return {self.profile: np.flatnonzero(~with_line), self.los_profile: np.flatnonzero(with_line)}

    def _taps(self, profile: str) -> Taps:
        """Return the taps of a profile, their delays over the delay spread."""
        k_db = self.k_db if profile in WITH_LINE else None
        return tdl.taps(profile, 1.0, k_db)

    def _k_of(self, profile: str) -> float:
        """Return the linear K of a profile."""
        taps = self._taps(profile)
        return taps.line_power / float(taps.scatter_power.sum())
