"""Spatially consistent large-scale parameters: maps of random fields, one for each base station and quantity."""

from functools import cache

import numpy as np

import channel
from edgefl.core.arrays import Floats
from edgefl.core.streams import Purpose, Streams

WAVES = 512  # of a map: its autocorrelation then scatters by 3 %, as any field does within a cell


class Maps:
    """Maps of the cells, whose values are functions of the position: near devices have similar values.

    The waves of a map are drawn once a run, so a device that returns to a place meets the same shadow. Values along the
    path of one device are faster than those at unordered positions, and equal them within 1e-5.
    """

    def __init__(self, streams: Streams, sites: int) -> None:
        self._streams = streams
        self._sites = sites
        self._waves = cache(self._stack)

    def uniform(
        self, purpose: Purpose, positions_m: Floats, decorrelation_m: float, *, along_path: bool = False
    ) -> Floats:
        """Return uniform values [n, sites] at positions [n, 2], which may be the path of one device."""
        from scipy.special import ndtr  # late: its import takes long, and many scenarios need none of it

        distances_m = np.full((len(positions_m), self._sites), decorrelation_m)
        return np.asarray(ndtr(self.gaussian(purpose, positions_m, distances_m, along_path=along_path)))

    def gaussian(
        self, purpose: Purpose, positions_m: Floats, decorrelation_m: Floats, *, along_path: bool = False
    ) -> Floats:
        """Return standard normal values [n, sites] at positions [n, 2], with decorrelation distances [n, sites]."""
        waves = self._waves(purpose)
        if not along_path:
            return channel.field.gaussians(waves, positions_m, decorrelation_m)
        values = np.empty(decorrelation_m.shape)
        # Each of the few distances, one for each state of a path, gets the whole path, which is then one line.
        for distance_m in np.unique(decorrelation_m).tolist():
            here = decorrelation_m == distance_m
            at_all = here.any(axis=0)
            some = channel.field.Waves(waves.frequencies[at_all], waves.phases[at_all])
            of_distance = np.empty(values.shape)
            of_distance[:, at_all] = channel.field.along_path(some, positions_m, distance_m)
            values[here] = of_distance[here]
        return values

    def _stack(self, purpose: Purpose) -> channel.field.Waves:
        return channel.field.stacked([self._draw(purpose, site) for site in range(self._sites)])

    def _draw(self, purpose: Purpose, site: int) -> channel.field.Waves:
        # Three uniforms a wave: its wave number, direction and phase.
        uniforms = self._streams.uniform(purpose, np.arange(WAVES), site, count=3)
        # A state compares the map with a level. If the map was not smooth, a path would change its state infinitely
        # often around each crossing, and handovers would grow with the number of measurements.
        return channel.field.waves(uniforms, smooth=purpose == "los_field")
