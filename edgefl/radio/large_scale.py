"""The large-scale channel: path loss, line of sight, shadowing and K between participants and base stations."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import channel
from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.errors import InputError
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.propagation import Draws, LargeScale
from edgefl.radio.radio_section import Radio
from edgefl.world.cells_section import Cells

WAVES = 512  # in each map of shadowing, line of sight or K


@dataclass(frozen=True)
class Drop:
    """The large-scale channel of a round's participants, constant during the round (dynamic-devices paper, eq. 34)."""

    ids: Ids  # [n]
    cell: Ids  # the base station that serves it
    distance_m: Floats  # to it, 2D
    los: Bools
    pathloss_db: Floats
    shadowing_db: Floats
    k_factor: Floats  # linear
    path_gain: Floats  # psi = 10^(-(PL + X) / 10)
    all_gains: Floats  # [n, sites]: the same to every base station

    def only(self, rows: npt.NDArray[np.intp]) -> Drop:
        """That of some participants."""
        return Drop(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})


class Paths(NamedTuple):
    """Paths [n, sites] between devices and all base stations."""

    distance_m: Floats
    large: LargeScale
    shadowing_db: Floats
    gains: Floats  # psi


class LargeScaleChannel:
    """Where base stations are, and what lies between them and the devices.

    Raises:
        InputError: the fading needs a K that neither it nor the propagation model names.
    """

    def __init__(self, radio: Radio, cells: Cells, streams: Streams) -> None:
        self.radio, self.cells, self.streams = radio, cells, streams
        self.statistics = radio.propagation.statistics()
        k_mean, k_std = self.statistics.k_mean_db, self.statistics.k_std_db
        try:
            self.k_statistics_db = radio.fading.k_statistics_db(k_mean, k_std)
        except ValueError as error:
            raise InputError(f"radio.fading: {error}") from None
        self._waves = cache(self._map)

    def paths(self, ids: Ids, positions_m: Floats, height_m: Floats, index: int) -> Paths:
        """What lies between devices `ids` [n] at `positions_m` [n, 2] in round `index` and each base station."""
        radio, distance = self.radio, self.cells.distances_m(positions_m)
        draws = self._draws(ids, positions_m, index)
        large = radio.propagation.large_scale(
            distance, radio.carrier_hz, self.cells.bs_height_m, height_m[:, None], draws
        )
        std_db = large.shadowing_std_db if radio.shadowing_db is None else radio.shadowing_db
        shadowing = std_db * self._normals("shadowing", ids, positions_m, index, large.decorrelation_m)
        return Paths(distance, large, shadowing, channel.units.db_to_linear(-(large.path_loss_db + shadowing)))

    def drop(self, ids: Ids, positions_m: Floats, height_m: Floats, index: int, cell: Ids | None = None) -> Drop:
        """The channel of participants `ids` [n] at `positions_m` [n, 2] in round `index`.

        Base stations `cell` [n] serve them; where not given, the strongest ones do.
        """
        distance, large, shadowing, gains = self.paths(ids, positions_m, height_m, index)
        cell = np.argmax(gains, axis=1) if cell is None else cell
        serving = np.arange(len(ids)), cell
        return Drop(
            ids=ids,
            cell=cell,
            distance_m=distance[serving],
            los=large.los[serving],
            pathloss_db=large.path_loss_db[serving],
            shadowing_db=shadowing[serving],
            k_factor=self._k_factor(ids, positions_m, index, large.los)[serving],
            path_gain=gains[serving],
            all_gains=gains,
        )

    def _draws(self, ids: Ids, positions_m: Floats, index: int) -> Draws:
        """The random numbers of all paths; those of a building belong to the device for the whole run."""
        streams = self.streams
        house = streams.uniform("indoor", ids, count=4)
        if self.radio.spatial_consistency and self.statistics.los_decorrelation_m is not None:
            waves, decorrelation = self._waves, self.statistics.los_decorrelation_m
            maps = [channel.field.uniform(waves("los_field", s), positions_m, decorrelation) for s in self._sites()]
            los = np.stack(maps, axis=1)
        else:
            los = streams.uniform("los", ids, index, count=self.cells.sites)
        return Draws(
            los=los,
            indoor=house[:, :1],
            indoor_distance=house[:, None, 1:3],
            building=house[:, 3:],
            penetration=streams.normal("wall", ids)[:, None],
            environment=streams.uniform("environment", ids, count=self.cells.sites),
        )

    def _normals(
        self, purpose: Purpose, ids: Ids, positions_m: Floats, index: int, decorrelation_m: npt.ArrayLike
    ) -> Floats:
        """Standard normals [n, sites]: a map's values at the positions, or new ones for each device and round."""
        if not self.radio.spatial_consistency:
            return self.streams.normal(purpose, ids, index, count=self.cells.sites)
        field: Purpose = "shadowing_field" if purpose == "shadowing" else "ricean_k_field"
        decorrelation = np.broadcast_to(decorrelation_m, (len(ids), self.cells.sites))
        maps = [channel.field.gaussian(self._waves(field, s), positions_m, decorrelation[:, s]) for s in self._sites()]
        return np.stack(maps, axis=1)

    def _k_factor(self, ids: Ids, positions_m: Floats, index: int, los: Bools) -> Floats:
        if self.k_statistics_db is None:
            return self.radio.fading.k_factor(los, np.zeros(los.shape))
        mean_db, std_db = self.k_statistics_db
        decorrelation = self.statistics.k_decorrelation_m or self.statistics.decorrelation_m[0]
        normals = self._normals("ricean_k", ids, positions_m, index, decorrelation)
        return self.radio.fading.k_factor(los, mean_db + std_db * normals)

    def _sites(self) -> range:
        return range(self.cells.sites)

    def _map(self, purpose: Purpose, site: int) -> channel.field.Waves:
        """The waves of one base station's map."""
        return channel.field.waves(self.streams.uniform(purpose, np.arange(WAVES), site, count=3))
