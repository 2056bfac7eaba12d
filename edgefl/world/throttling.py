"""Processors that get slower as they get hotter.

The heat of a device that computes is h(t) = 1 - (1 - h0) exp(-t / heat_s), and its speed 1 / (1 + slowdown h). Work of
W seconds on a cold processor takes T seconds with ``W = integral from 0 to T of dt / (1 + slowdown h(t))``, which has a
closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.per_device import NON_NEGATIVE, POSITIVE, PerDevice
from edgefl.core.streams import Streams
from edgefl.world.devices_section import Devices


def hot_s(cold_s: Floats, heat: Floats, slowdown: Floats, heat_s: Floats) -> Floats:
    """Return the seconds [n] that work takes on a processor that gets hot.

    Args:
        cold_s: [n] the seconds that it takes on a cold processor.
        heat: [n] heat of the processor when it begins, from 0 to 1.
        slowdown: [n] relative increase of the time on a hot processor.
        heat_s: [n] time constant of getting hot.
    """
    # W = (heat_s / a) ln((a exp(T / heat_s) - b) / (a - b)), solved for T; written so that nothing overflows.
    a = 1.0 + slowdown
    b = slowdown * (1.0 - heat)
    stretched = a * cold_s / heat_s
    return np.asarray(heat_s * (stretched + np.log(((a - b) + b * np.exp(-stretched)) / a)))


@dataclass(eq=False)
class Heat:
    """How hot each processor is, from 0 to 1."""

    slowdown: Floats  # [devices] relative increase of times on a hot processor; 0: it keeps its speed
    heat_s: Floats  # [devices] time constant of getting hot
    cool_s: Floats  # [devices] time constant of cooling down

    def __post_init__(self) -> None:
        self._level = np.zeros(len(self.slowdown))  # when each one last stopped computing
        self._since_s = np.zeros(len(self.slowdown))  # when that was

    @classmethod
    def drawn(cls, devices: Devices, streams: Streams) -> Heat | None:
        """Return the heat of all devices, cold at first; None if no processor gets slower."""
        if not any(hardware.compute.throttling for hardware in devices.made_of):
            return None

        def number(key: str, bound: PerDevice, without: float) -> Floats:
            return devices.draw(key, bound, streams, lambda of: getattr(of.compute.throttling, key, without))

        return cls(
            number("slowdown", NON_NEGATIVE, without=0.0),
            number("heat_s", POSITIVE, without=1.0),
            number("cool_s", POSITIVE, without=1.0),
        )

    def levels(self, ids: Ids, time_s: float) -> Floats:
        """Return the heat of the processors of devices [n] at a time, if they have not computed since the last one."""
        away_s = np.maximum(time_s - self._since_s[ids], 0.0)
        return np.asarray(self._level[ids] * np.exp(-away_s / self.cool_s[ids]))

    def stretch(self, ids: Ids, cold_s: Floats, time_s: float) -> Floats:
        """Return the factors [n] of the time that work of `cold_s` [n] takes on devices [n] that begin at a time."""
        hot = hot_s(cold_s, self.levels(ids, time_s), self.slowdown[ids], self.heat_s[ids])
        factors = np.ones(len(ids))
        slows = (cold_s > 0) & (self.slowdown[ids] > 0)  # the others keep their last digit
        np.divide(hot, cold_s, out=factors, where=slows)
        return factors

    def computed(self, device: int, from_s: float, until_s: float) -> None:
        """Note that a device has computed from a time until another."""
        ids = np.array([device])
        heat = self.levels(ids, from_s)
        self._level[ids] = 1.0 - (1.0 - heat) * np.exp(-(until_s - from_s) / self.heat_s[ids])
        self._since_s[ids] = until_s
