"""The large-scale channel: path loss, line of sight, shadowing and K between participants and base stations."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import channel
from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.errors import InputError
from edgefl.core.returns import ANYTHING, Array, Contract, Instance, Where, called
from edgefl.core.streams import Purpose, Streams
from edgefl.radio.drop import Drop
from edgefl.radio.gains.spatial_consistency import Maps
from edgefl.radio.propagation import O2I, LargeScale, PathDraws
from edgefl.radio.radio_section import Radio
from edgefl.world.antennas.omni import Omni
from edgefl.world.cells_section import Cells


class Paths(NamedTuple):
    """Paths [n, sites] between devices and all base stations, whose sectors differ only in gains."""

    distance_m: Floats  # 2D
    large: LargeScale
    shadowing_db: Floats
    gains: Floats  # [n, cells] psi: path loss, shadowing and antennas, without fading


class KeyedPathDraws(PathDraws):
    """The random numbers of paths [n, sites], drawn on demand, as most models need few of them.

    Those of a building belong to the device for the whole run.

    Args:
        streams: keyed randomness.
        ids: [n] the devices.
        sites: the number of base stations.
        draw_los: returns the numbers [n, sites] that decide on line of sight.
        place_m: [n, 2] where they are.
    """

    _streams: Streams
    _ids: Ids
    _sites: int
    _draw_los: Callable[[], Floats]

    def __init__(self, streams: Streams, ids: Ids, sites: int, draw_los: Callable[[], Floats], place_m: Floats) -> None:
        # The class is frozen.
        self.__dict__.update(_streams=streams, _ids=ids, _sites=sites, _draw_los=draw_los, place_m=place_m)

    @cached_property
    def los(self) -> Floats:
        """See PathDraws."""
        return self._draw_los()

    @cached_property
    def _of_building(self) -> Floats:
        """[n, 4] One sequence: indoors or not, two for the depth, and the kind of walls."""
        return self._streams.uniform("indoor", self._ids, count=4)

    @property
    def indoor(self) -> Floats:
        """See PathDraws."""
        return self._of_building[:, :1]

    @property
    def indoor_distance(self) -> Floats:
        """[n, 1, 2] The same depth from every base station."""
        return self._of_building[:, None, 1:3]

    @property
    def building(self) -> Floats:
        """See PathDraws."""
        return self._of_building[:, 3:]

    @cached_property
    def penetration(self) -> Floats:
        """See PathDraws."""
        return self._streams.normal("wall", self._ids)[:, None]

    @cached_property
    def environment(self) -> Floats:
        """See PathDraws."""
        return self._streams.uniform("environment", self._ids, count=self._sites)

    @cached_property
    def path_depth(self) -> Floats:
        """See PathDraws."""
        return self._streams.uniform("path_depth", self._ids, count=self._sites)

    @property
    def device(self) -> Ids:
        """[n, 1] See PathDraws."""
        return self._ids[:, None]

    @cached_property
    def floor(self) -> Floats:
        """[n, 1, 2] The same floor from every base station."""
        return self._streams.uniform("floor", self._ids, count=2)[:, None, :]


def path_gain(path_loss_db: Floats, shadowing_db: Floats) -> Floats:
    """Return received over sent power [...], psi = 10^(-(PL + X) / 10), between antennas of 0 dBi."""
    return channel.units.db_to_linear(-(path_loss_db + shadowing_db))


class LargeScaleChannel:
    """The base stations, and the paths between them and the devices.

    Raises:
        InputError: the fading needs a K that neither it nor the propagation model names.
    """

    def __init__(self, radio: Radio, cells: Cells, streams: Streams) -> None:
        self.radio = radio
        self.cells = cells
        self.streams = streams
        self.statistics = radio.propagation.statistics()
        try:
            self.k_statistics_db = radio.fading.k_statistics_db(self.statistics.k_mean_db, self.statistics.k_std_db)
        except ValueError as error:
            raise InputError(f"radio.fading: {error}") from None
        self._maps = Maps(streams, cells.sites)
        self._common_map = Maps(streams, 1)
        self._priced = 0  # paths so far
        self._at_border = 0  # of these

    def paths(self, ids: Ids, positions_m: Floats, height_m: Floats, index: int, *, along_path: bool = False) -> Paths:
        """Return the paths between devices and every base station.

        Args:
            ids: [n] the devices; [1] along the path of one device.
            positions_m: [n, 2] their positions.
            height_m: [n] of their antennas; [1] along a path.
            index: of the round, the key of the draws of each round.
            along_path: whether the positions are those of one device, in the order of its path.
        """
        radio = self.radio
        offsets_m = self.cells.offsets_m(positions_m)
        distance_m = np.hypot(offsets_m[..., 0], offsets_m[..., 1])
        draws = KeyedPathDraws(
            self.streams,
            ids,
            self.cells.sites,
            lambda: self._los_draws(ids, positions_m, index, along_path=along_path),
            positions_m,
        )
        model = radio.propagation
        must = Array((len(height_m), 1), "heights [n, 1] of antennas in metres", least=0.0)
        heights_m = called(model.heights_m, must, height_m[:, None], draws)
        ends = (distance_m, radio.carrier_hz, self.cells.bs_height_m, heights_m)
        large = called(model.large_scale, _large_scale_of(distance_m.shape), *ends, draws)
        self._at_border += called(model.count_at_border, ANYTHING, *ends, positions_m)
        self._priced += distance_m.size
        # A standard deviation in the scenario holds in every state, as in the paper; by default each state has one.
        std_db = large.shadowing_std_db if radio.shadowing_db is None else radio.shadowing_db
        normals = self._normals("shadowing", ids, positions_m, index, large.decorrelation_m, along_path=along_path)
        if radio.site_correlation > 0:
            common = self._common_normals(ids, positions_m, index, large.decorrelation_m, along_path=along_path)
            share = radio.site_correlation  # of the variance: all paths have the same common part
            normals = np.sqrt(share) * common + np.sqrt(1.0 - share) * normals
        shadowing_db = std_db * normals
        gains = np.repeat(path_gain(large.path_loss_db, shadowing_db), self.cells.sectors, axis=1)
        return Paths(distance_m, large, shadowing_db, gains * self._antennas(offsets_m, distance_m, heights_m))

    def border_note(self) -> str | None:
        """Return a note on the paths priced at the border of the model's range so far; None: there are none."""
        if not self._at_border:
            return None
        counts = f"{self._at_border} of {self._priced} paths were priced at the border"
        return f"radio.propagation.out_of_range: clamp: {counts}, and not where their devices were"

    def _antennas(self, offsets_m: Floats, distance_m: Floats, heights_m: Floats) -> Floats | float:
        """Return the factor of both antennas in the gains [n, cells], over isotropic ones."""
        cells = self.cells
        antenna = cells.antenna
        device_dbi = self.radio.device_antenna_gain_dbi
        if type(antenna) is Omni:  # the common case, without angles; a subclass may have a pattern
            return float(channel.units.db_to_linear(antenna.gain_dbi + device_dbi))
        zenith_deg = channel.antenna.zenith_deg(distance_m, cells.bs_height_m, heights_m)
        azimuth_deg = np.degrees(np.arctan2(offsets_m[..., 1], offsets_m[..., 0]))
        beside_deg = channel.antenna.turned_deg(azimuth_deg[..., None] - cells.boresights_deg)  # [n, sites, sectors]
        must = Array(beside_deg.shape, "gains [...] in dBi", least=-400, most=400)
        pattern_dbi = called(antenna.pattern_dbi, must, zenith_deg[..., None], beside_deg)
        return channel.units.db_to_linear(pattern_dbi + device_dbi).reshape(len(beside_deg), cells.count)

    def drop(
        self,
        ids: Ids,
        positions_m: Floats,
        height_m: Floats,
        index: int,
        cell: Ids | None = None,
        *,
        along_path: bool = False,
    ) -> Drop:
        """Return the channel of a round's participants.

        Args:
            ids: [n] the participants.
            positions_m: [n, 2] their positions.
            height_m: [n] of their antennas.
            index: of the round.
            cell: [n] the cells that serve them; by default the strongest ones.
            along_path: whether all are one device, at positions in the order of its path.
        """
        distance_m, large, shadowing_db, gains = self.paths(ids, positions_m, height_m, index, along_path=along_path)
        if cell is None:
            cell = np.argmax(gains, axis=1)  # with shadowing: the nearest one is not always the strongest
        # Table 7.5-6 has a K only for line of sight: only scatter enters a building, whatever the path outdoors.
        indoor = np.asarray(large.state == O2I)
        k_factor = self._k_factor(ids, positions_m, index, large.los & ~indoor, along_path=along_path)
        rows = np.arange(len(ids))
        serving = (rows, self.cells.site_of(cell))  # picks [n] of [n, sites]: each device's path to its base station
        return Drop(
            ids=ids,
            cell=cell,
            distance_m=distance_m[serving],
            los=large.los[serving],
            indoor=indoor[serving],
            pathloss_db=large.path_loss_db[serving],
            shadowing_db=shadowing_db[serving],
            k_factor=k_factor[serving],
            path_gain=gains[rows, cell],
            all_gains=gains,
        )

    def without_paths(self, ids: Ids, positions_m: Floats) -> Drop:
        """Return a drop for recorded links: the nearest base station serves each device; paths are unknown (nan)."""
        distance_m = self.cells.distances_m(positions_m)
        cell = np.argmin(distance_m, axis=1)
        unknown = np.full(len(ids), np.nan)
        return Drop(
            ids=ids,
            cell=cell,
            distance_m=distance_m[np.arange(len(ids)), cell],
            los=np.zeros(len(ids), dtype=bool),
            indoor=np.zeros(len(ids), dtype=bool),
            pathloss_db=unknown,
            shadowing_db=unknown,
            k_factor=np.zeros(len(ids)),
            path_gain=unknown,
            all_gains=np.full(distance_m.shape, np.nan),
        )

    def _los_draws(self, ids: Ids, positions_m: Floats, index: int, *, along_path: bool = False) -> Floats:
        """Return uniform numbers [n, sites]: a path is in line of sight where they are below its probability."""
        decorrelation_m = self.statistics.los_decorrelation_m
        if self.radio.spatial_consistency and decorrelation_m is not None:
            return self._maps.uniform("los_field", positions_m, decorrelation_m, along_path=along_path)
        return self.streams.uniform("los", ids, index, count=self.cells.sites)

    def _normals(
        self,
        purpose: Purpose,
        ids: Ids,
        positions_m: Floats,
        index: int,
        decorrelation_m: npt.ArrayLike,
        *,
        along_path: bool = False,
    ) -> Floats:
        """Return standard normals [n, sites]: a map's values at the positions, or new ones in each round."""
        # New draws in each round jump by 20 to 40 dB between rounds; maps change only as the device moves.
        if not self.radio.spatial_consistency:
            return self.streams.normal(purpose, ids, index, count=self.cells.sites)
        field: Purpose = "shadowing_field" if purpose == "shadowing" else "ricean_k_field"
        distances_m = np.broadcast_to(decorrelation_m, (len(positions_m), self.cells.sites))
        return self._maps.gaussian(field, positions_m, distances_m, along_path=along_path)

    def _common_normals(
        self, ids: Ids, positions_m: Floats, index: int, decorrelation_m: Floats, *, along_path: bool = False
    ) -> Floats:
        """Return standard normals [n, 1], the common part of a device's shadowing to all base stations."""
        if not self.radio.spatial_consistency:
            return self.streams.normal("common_shadowing", ids, index)[:, None]
        # Paths in different states have different distances, where the values of one map would be independent.
        longest_m = decorrelation_m.max(axis=1, keepdims=True)
        return self._common_map.gaussian("common_shadowing_field", positions_m, longest_m, along_path=along_path)

    def _k_factor(self, ids: Ids, positions_m: Floats, index: int, los: Bools, *, along_path: bool = False) -> Floats:
        """Return the linear K [n, sites] of paths that reach the device in line of sight or not [n, sites]."""
        if self.k_statistics_db is None:  # the fading draws no K
            return self._checked_k(los, np.zeros(los.shape))
        mean_db, std_db = self.k_statistics_db
        # Models without a decorrelation distance of K take that of the shadowing in line of sight.
        decorrelation_m = self.statistics.k_decorrelation_m or self.statistics.decorrelation_m[0]
        normals = self._normals("ricean_k", ids, positions_m, index, decorrelation_m, along_path=along_path)
        return self._checked_k(los, mean_db + std_db * normals)

    def _checked_k(self, los: Bools, k_db: Floats) -> Floats:
        must = Array(los.shape, "linear K factors [...] from 0", least=0.0)
        return called(self.radio.fading.k_factor, must, los, k_db)


def _large_scale_of(shape: tuple[int, ...]) -> Contract:
    """Return the contract of what a propagation model returns for distances of a shape."""
    one_each = f"one of each distance, here {list(shape)}"
    fields: dict[str, Contract] = {}
    for name, least in {"path_loss_db": -np.inf, "shadowing_std_db": 0.0, "decorrelation_m": 0.0}.items():
        fields[name] = Array(shape, f"{name} [...] of each distance", least=least)
    for name in ("state", "los"):
        fields[name] = Where(ANYTHING, lambda found: np.shape(found) == shape, one_each, partial(_shaped, name))
    return Instance(LargeScale, "a LargeScale of edgefl.radio.propagation.base", fields)


def _shaped(name: str, found: Any) -> str:
    return f"{name} of shape {list(np.shape(found))}"
