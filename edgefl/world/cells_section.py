"""The section `cells`: base stations, how far they cover, and how devices are handed over between them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from channel.geometry import hexagonal_sites_m, wrapped_m
from edgefl.core.arrays import Floats, Ids
from edgefl.core.catalogue import where_known
from edgefl.core.section import IF_GIVEN, Section, fault_at
from edgefl.world.antennas import ANTENNAS, Antenna
from edgefl.world.antennas.omni import Omni
from edgefl.world.carbon import Carbon
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.hexagons import Hexagons

SiteCoordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
SitePosition = Annotated[tuple[SiteCoordinate, SiteCoordinate], Field(strict=False)]
HandoverSeconds = Annotated[float, Field(ge=0, le=60)]
OffsetDb = Annotated[float, Field(ge=-30, le=30)]
SyncDb = Annotated[float, Field(ge=-100, le=100)]

FILTER_PERIOD_S = 0.2  # between the measurements that the layer-3 filter is specified for (3GPP TS 38.133, no DRX)
RINGS = {1: 0, 7: 1, 19: 2}  # number of rings of hexagons around the middle one, by the number of sites
WIDEST_HOLE = 0.95  # around a base station, as a part of the distance to its hexagon's edges
WRAPPED_REUSE = (7, 7)  # sites and parts of the band: the only reuse pattern that continues across the wrapped edge


class RadioLinkFailure(Section):
    """The failure of a radio link (3GPP TS 38.331, clause 5.3.10) and its recovery; defaults are those of TR 36.839."""

    out_of_sync_db: SyncDb = -8.0  # Signal-to-interference-and-noise ratio below which a device is out of sync.
    in_sync_db: SyncDb = -6.0  # Least signal-to-interference-and-noise ratio in sync.
    n310: Annotated[int, Field(ge=1, le=100)] = 1  # Indications out of sync in a row that start the timer T310.
    n311: Annotated[int, Field(ge=1, le=100)] = 1  # Indications in sync in a row that stop the timer T310.
    t310_s: HandoverSeconds = 1.0  # Time after which the link has failed.
    reestablish_s: HandoverSeconds = 0.2  # Least time until the strongest cell serves the device again.
    t311_s: HandoverSeconds = 10.0  # How long a transfer waits for a cell that is good enough, before it fails.

    @model_validator(mode="after")
    def _check_thresholds(self) -> RadioLinkFailure:
        if self.in_sync_db < self.out_of_sync_db:
            text = f"must be >= out_of_sync_db = {self.out_of_sync_db:g}, got {self.in_sync_db:g}"
            raise fault_at(("in_sync_db",), text)
        return self


class Handover(Section):
    """Event A3 (3GPP TS 38.331, clause 5.5.4.4): a neighbour is better by a hysteresis, for a time to trigger."""

    hysteresis_db: Annotated[float, Field(ge=0, le=30)] = 3.0  # How much better a neighbour must be received.
    offset_db: OffsetDb = 0.0  # Offset of the event A3, added to the hysteresis.
    # Offset of each cell, added to its received level.
    offsets_db: Annotated[tuple[OffsetDb, ...], Field(strict=False)] = ()
    time_to_trigger_s: HandoverSeconds = 0.32  # How long the neighbour must remain better.
    measure_s: Annotated[float, Field(ge=1e-3, le=60)] = 0.04  # Time between two measurements of received power.
    measurement_error_db: Annotated[float, Field(ge=0, le=30)] = 0.0  # Standard deviation of each measurement.
    # Coefficient of the layer-3 filter (TS 38.331); 0 filters nothing.
    filter_k: Annotated[int, Field(ge=0, le=19)] = 8
    interruption_s: HandoverSeconds = 0.05  # How long a transfer pauses.
    # What happens to a transfer that is under way.
    in_transfer: Literal["continue", "restart", "forward", "drop"] = "continue"
    forward_s: HandoverSeconds = 0.02  # Additional pause while base stations forward what has been sent so far.
    # Lets links fail, and devices connect again; `{}` takes all defaults.
    radio_link_failure: RadioLinkFailure | None = None

    @model_validator(mode="after")
    def _check_margin(self) -> Handover:
        if self.hysteresis_db + self.offset_db < 0:
            text = f"must be >= -hysteresis_db = {-self.hysteresis_db:g}, got {self.offset_db:g}"
            raise fault_at(("offset_db",), f"{text}: each of two cells would be better than the other")
        return self

    @property
    def filter_share(self) -> float:
        """Return the weight of a new measurement in the layer-3 filter (3GPP TS 38.331, clause 5.5.3.2)."""
        # k is for measurements every 200 ms. More frequent ones keep the filter's memory in seconds.
        kept = 1.0 - 2.0 ** (-self.filter_k / 4)
        return float(1.0 - kept ** (self.measure_s / FILTER_PERIOD_S))

    @property
    def pause_s(self) -> float:
        """Return how long a transfer stands still at a handover."""
        return self.interruption_s + self.forwarding_s

    @property
    def forwarding_s(self) -> float:
        """Return how long base stations take to forward what has been sent."""
        if self.in_transfer == "forward":
            return self.forward_s
        return 0.0


class BaseStationEnergySection(Section):
    """The power of base stations: P = static_w + slope P_out (EARTH project, D2.3; Auer et al., IEEE WCM 2011)."""

    # Power that each base station with all its sectors draws all the time.
    static_w: Annotated[float, Field(ge=0, le=1e6)]
    slope: Annotated[float, Field(ge=1, le=1000)]  # Watts drawn for each watt that is sent, Delta_p.
    # As devices.carbon_g_kwh.
    carbon_g_kwh: Annotated[Carbon | None, IF_GIVEN] = None


class Cells(Section):
    """The base stations: where they stand and how far they cover."""

    # Where base stations stand. single is one in the middle, hexagonal adds rings around it, listed takes positions_m.
    layout: Literal["single", "hexagonal", "listed"] = "single"
    sites: Annotated[int, Field(ge=1)] = 1  # Number of base stations; by default 7 if the layout is hexagonal.
    # Positions of the base stations in a listed layout.
    positions_m: Annotated[tuple[SitePosition, ...], Field(strict=False, max_length=1000)] = ()
    # Radius of the disc that a base station covers; it reaches the corners of its hexagon.
    radius_m: PositiveFloat = 250.0
    min_distance_m: PositiveFloat = 10.0  # Least distance of a device to the middle, or with hexagons to any site.
    bs_height_m: Annotated[float, Field(gt=1, le=1000)] = 10.0  # Height of the antennas of base stations.
    wrap_around: bool = False  # Whether opposite edges of a hexagonal layout meet.
    # Number of sectors of each base station; each is a separate cell.
    sectors: Annotated[int, Field(ge=1, le=3)] = 1
    boresight_deg: Annotated[float, Field(ge=-360, le=360)] = 0.0  # Azimuth of a site's first sector, from the x axis.
    antenna: Annotated[Antenna, ANTENNAS] = Omni()  # The antenna of each sector.
    # Where devices are placed, in a disc around all cells or in the hexagons.
    drop: Literal["disc", "hexagons"] = "disc"
    handover: Handover | None = None  # When a device changes its cell during a round; by default it never does.
    # What base stations draw; by default their energy is not accounted for.
    energy: BaseStationEnergySection | None = None

    @model_validator(mode="before")
    @classmethod
    def _count_sites(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("sites") is not None:
            return value
        layout = value.get("layout")
        positions = value.get("positions_m")
        if layout == "listed" and isinstance(positions, list | tuple) and positions:
            return {**value, "sites": len(positions)}
        if layout == "hexagonal":
            return {**value, "sites": 7}
        return value

    @model_validator(mode="after")
    def _check_sites(self) -> Cells:
        if self.layout == "listed":
            self._check_listed_sites()
            return self
        if self.positions_m:
            raise fault_at(("positions_m",), f"the layout {self.layout} sets the positions: set layout to listed")
        if self.sites not in RINGS:
            raise fault_at(("sites",), f"must be 1, 7 or 19, got {self.sites}")
        if self.layout == "single" and self.sites > 1:
            raise fault_at(("sites",), f"a single cell has one site, got {self.sites}: set layout to hexagonal")
        return self

    def _check_listed_sites(self) -> None:
        if not self.positions_m:
            raise fault_at(("positions_m",), "is required: [[x, y], ...], where the base stations stand")
        if len(set(self.positions_m)) < len(self.positions_m):
            raise fault_at(("positions_m",), "two base stations stand in the same place: move one or leave it out")
        if self.sites != len(self.positions_m):
            text = f"{len(self.positions_m)} positions are listed, got {self.sites}: leave it out"
            raise fault_at(("sites",), text)

    @model_validator(mode="after")
    def _check_geometry(self) -> Cells:
        if self.min_distance_m >= self.radius_m:
            text = f"must be < radius_m = {self.radius_m:g}, got {self.min_distance_m:g}"
            raise fault_at(("min_distance_m",), text)
        if self.wrap_around and (self.layout != "hexagonal" or self.sites == 1):
            raise fault_at(("wrap_around",), "needs a hexagonal layout of 7 or 19 sites")
        if self.drop == "hexagons":
            self._check_hexagons()
        if self.handover and self.count == 1:
            raise fault_at(("handover",), "needs several cells: set layout to hexagonal or listed")
        if self.handover and len(self.handover.offsets_db) not in {0, self.count}:
            text = f"must have one offset for each of {self.count} cells, got {len(self.handover.offsets_db)}"
            raise fault_at(("handover", "offsets_db"), text)
        return self

    @model_validator(mode="after")
    @where_known
    def _check_sectors(self) -> Cells:
        if self.sectors > 1 and not self.antenna.directional:
            text = f"{self.sectors} sectors need antennas that differ by direction: set cells.antenna to tr38901"
            raise fault_at(("sectors",), f"{text}, or sectors to 1")
        return self

    def _check_hexagons(self) -> None:
        if self.layout != "hexagonal":
            raise fault_at(("drop",), f"the layout {self.layout} has no hexagons: set layout to hexagonal")
        most_m = WIDEST_HOLE * self.spacing_m / 2.0
        if self.min_distance_m > most_m:
            text = f"must be <= {most_m:.4g} with drop: hexagons, whose edges are at {self.spacing_m / 2.0:.4g} m"
            raise fault_at(("min_distance_m",), f"{text}, got {self.min_distance_m:g}")

    def check_reuse(self, reuse: int) -> str | None:
        """Return why the cells cannot divide the band into so many parts; None if they can."""
        if reuse == 1:
            return None
        if self.sites == 1:
            return "needs several cells: set cells.layout to hexagonal"
        if self.layout == "listed":
            return "needs a hexagonal layout, where neighbours are known: leave it out"
        if self.wrap_around and (self.sites, reuse) != WRAPPED_REUSE:
            text = "with wrap_around cells of one part would meet across the edge"
            return f"{text}: set it to 1, or to 7 with 7 sites; got {reuse}"
        return None

    @property
    def sites_m(self) -> Floats:
        """Return the positions [sites, 2] of the base stations."""
        if self.layout == "listed":
            return np.array(self.positions_m, dtype=np.float64)
        return _hexagonal_sites_m(self.sites, self.spacing_m)

    @property
    def count(self) -> int:
        """Return the number of cells: all sectors of all sites. Cell = site * sectors + sector."""
        return self.sites * self.sectors

    def site_of(self, cell: Ids) -> Ids:
        """Return the sites [...] of cells [...]."""
        return np.asarray(cell // self.sectors)

    @property
    def boresights_deg(self) -> Floats:
        """Return the azimuths [sectors] of a site's sectors, counter-clockwise from the x axis."""
        return np.asarray(self.boresight_deg + np.arange(self.sectors) * (360.0 / self.sectors))

    def offsets_m(self, positions_m: Floats) -> Floats:
        """Return ways on the ground [n, sites, 2] from base stations, or their nearest images, to positions [n, 2]."""
        offsets = positions_m[:, None, :] - self.sites_m
        if self.wrap_around:
            offsets = wrapped_m(offsets, self.sites, self.spacing_m)
        return np.asarray(offsets)

    def distances_m(self, positions_m: Floats) -> Floats:
        """Return ground distances [n, sites] of positions [n, 2]; if the layout wraps around, to the nearest images."""
        offsets = self.offsets_m(positions_m)
        return np.hypot(offsets[..., 0], offsets[..., 1])

    @property
    def spacing_m(self) -> float:
        """Return the distance between neighbouring base stations of a hexagonal layout."""
        return math.sqrt(3.0) * self.radius_m

    @property
    def coverage_m(self) -> float:
        """Return the radius of the disc around (0, 0) that contains all that base stations cover."""
        if self.layout == "listed":
            return self.radius_m + max(math.hypot(*position) for position in self.positions_m)
        return self.radius_m + RINGS[self.sites] * self.spacing_m

    @property
    def area(self) -> Area:
        """Return the area of the devices, and the discs in it that base stations cover."""
        sites_m = tuple((x, y) for x, y in self.sites_m.tolist())
        reach_m = math.inf if self.wrap_around else self.radius_m
        if self.drop == "hexagons":
            return Hexagons(self.min_distance_m, self.coverage_m, sites_m, reach_m, self.radius_m)
        return Area(self.min_distance_m, self.coverage_m, sites_m, reach_m)

    @property
    def has_one_cell(self) -> bool:
        """Return whether one base station stands in the middle of the area."""
        return self.sites == 1 and self.layout != "listed"

    @property
    def nearest_m(self) -> float:
        """Return how near a device can come to a base station.

        In a disc, devices keep `min_distance_m` from the middle of the layout only; with several cells this is 0.
        """
        if self.has_one_cell or self.drop == "hexagons":
            return self.min_distance_m
        return 0.0

    @property
    def farthest_m(self) -> float:
        """Return how far a device can be from a base station."""
        if self.wrap_around:
            return math.sqrt(self.sites) * self.radius_m  # to the corner between three images
        if self.has_one_cell:
            return self.coverage_m
        return 2.0 * self.coverage_m


@lru_cache(maxsize=64)
def _hexagonal_sites_m(sites: int, spacing_m: float) -> Floats:
    """Return the positions [sites, 2] of a hexagonal layout; sections keep none, as their fields are compared."""
    return hexagonal_sites_m(sites, spacing_m)
