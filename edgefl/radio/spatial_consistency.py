"""Spatially consistent large-scale parameters: maps of random fields, one for each base station and quantity."""

from __future__ import annotations

from functools import cache

import numpy as np

import channel
from edgefl.core.arrays import Floats
from edgefl.core.streams import Purpose, Streams

WAVES = 512  # of a map: its autocorrelation then scatters by 3 %, no more than what any field shows within a cell


class Maps:
    """Maps of the cells, whose values are functions of the position: near devices see much the same.

    The waves of a map are drawn once a run, so a device that comes back meets the same shadow.
    """

    def __init__(self, streams: Streams, sites: int) -> None:
        self._streams = streams
        self._sites = sites
        self._waves = cache(self._draw)

    def uniform(self, purpose: Purpose, positions_m: Floats, decorrelation_m: float) -> Floats:
        """Return uniform values [n, sites] at positions [n, 2]."""
        columns = [
            channel.field.uniform(self._waves(purpose, site), positions_m, decorrelation_m)
            for site in range(self._sites)
        ]
        return np.stack(columns, axis=1)

    def gaussian(self, purpose: Purpose, positions_m: Floats, decorrelation_m: Floats) -> Floats:
        """Return standard normal values [n, sites] at positions [n, 2], with decorrelation distances [n, sites]."""
        columns = [
            channel.field.gaussian(self._waves(purpose, site), positions_m, decorrelation_m[:, site])
            for site in range(self._sites)
        ]
        return np.stack(columns, axis=1)

    def _draw(self, purpose: Purpose, site: int) -> channel.field.Waves:
        """Return the waves of one base station's map."""
        # Three uniforms a wave: its wave number, direction and phase.
        return channel.field.waves(self._streams.uniform(purpose, np.arange(WAVES), site, count=3))
