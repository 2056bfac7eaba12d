"""Kinds of channel state information, healthy and broken."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from edgefl.coordination.csi import CSI
from edgefl.coordination.csi.base import Gains, ReportedCsi, RequestedCsi


class Quantised(RequestedCsi):
    """Whole decibels (test)."""

    def observe(self, gains: Gains) -> Gains:
        """Return the strength in steps of 1 dB."""
        strength = gains.path_gain * gains.fading
        return gains._replace(path_gain=10 ** (np.rint(10 * np.log10(strength)) / 10), fading=np.ones(len(gains.ids)))


class Relative(ReportedCsi):
    """Relative to the best (test)."""

    def observe(self, gains: Gains) -> Gains:
        """Return what depends on others."""
        return gains._replace(path_gain=gains.path_gain / gains.path_gain.max())


class InDecibels(RequestedCsi):
    """Decibels, which are below 0 (test)."""

    def observe(self, gains: Gains) -> Gains:
        """Return no ratios."""
        return gains._replace(path_gain=10 * np.log10(gains.path_gain))


class Telling(RequestedCsi):
    """Tells the fading while it says that it does not (test)."""

    instantaneous: ClassVar[bool] = False


class Exact(RequestedCsi):
    """Has no error, whatever it is asked for (test)."""

    def disturbed(self, gains: Gains, normal: np.ndarray) -> Gains:
        """Return what it was given."""
        return gains


class Plain(RequestedCsi):
    """Returns a tuple (test)."""

    def observe(self, gains: Gains) -> Any:
        """Return no Gains."""
        return (gains.path_gain, gains.fading)


HEALTHY = [*((CSI.load(name), {}) for name in CSI.members), (Quantised, {"noise_db": 2})]
BROKEN = [
    (Relative, {}, "one of many", "Relative.observe returns others for 20 of 40 devices than for all"),
    (InDecibels, {}, "returns", "as path_gain, expected finite numbers [40] at least 0"),
    (Telling, {}, "mean", "returns a fading besides 1"),
    (Exact, {"noise_db": 3}, "error", "here with noise_db = 3"),
    (Plain, {}, "returns", "returned a tuple, expected the Gains"),
]
