"""The check of an antenna."""

from typing import Any

import numpy as np

from edgefl.testing.calls import Calls
from edgefl.testing.report import Report
from edgefl.world.antennas import Antenna

# The middles of equal steps in both angles; a beam of 2 degrees is still seen.
ZENITH_DEG = (np.arange(360)[:, None] + 0.5) / 2.0
AZIMUTH_DEG = np.arange(720)[None, :] / 2.0 - 179.75
SLACK = 1.1
"""The largest mean over the sphere: TR 38.901's column, which neglects coupling between elements, has 1.06."""

SAME_DB = 1e-6


def check_antenna(antenna: type[Antenna] | Antenna, **keys: Any) -> Report:
    """Check that a pattern radiates no more power than the antenna is fed, and return the report."""
    calls = Calls(antenna, keys, Antenna, "an antenna")
    fed = calls.begin("power", "the mean of the gain over the sphere is about 1 at most (0 dBi)")
    flat = calls.begin("directional", "without `directional` the gain is the same all around")
    with calls.noting("a pattern"):
        shape = (ZENITH_DEG.size, AZIMUTH_DEG.size)
        pattern_dbi = calls.array("pattern_dbi", ZENITH_DEG, AZIMUTH_DEG, shape=shape, of="gains in dBi")
        rings = np.mean(10.0 ** (pattern_dbi / 10.0), axis=1)
        area = np.sin(np.radians(ZENITH_DEG[:, 0]))  # of each ring
        mean = float(np.average(rings, weights=area))
        if mean > SLACK:
            text = f"radiates {mean:.3g} times as much as it is fed, on average over all directions"
            calls.note(fed, "pattern_dbi", f"{text}: lower its gain by {10 * np.log10(mean):.2g} dB")
        if not calls.subject.directional and float(np.ptp(pattern_dbi, axis=1).max()) > SAME_DB:
            calls.note(flat, "pattern_dbi", "depends on the azimuth: set directional to True")
    return calls.finished()
