"""Positions of terminals and base stations: the annulus of one cell, hexagonal layouts, reuse and wrap-around.

Sources: dynamic-devices paper (eq. 22 and 38), 3GPP TR 38.901 (Figure 7.4.1-1, Table 7.8-1), Rappaport, "Wireless
communications: principles and practice", 2nd ed., section 3.2, and Rec. ITU-R M.2101-0.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Ints
from channel._checks import non_negative, pairs, positive, require, within

_RINGS = {1: 0, 7: 1, 19: 2}  # around the middle, by number of sites
NEWTON_STEPS = 12  # exact to rounding for holes up to 0.95 of the way to the edge; the same for all draws
_REUSE_STEP = {1: 0, 3: 2, 7: 5}  # (1, 1) and (2, 1) and their turns by 60 degrees fall on group 0


def annulus_distance_m(u: ArrayLike, min_distance_m: float, radius_m: float) -> Floats:
    """Return ground distances of terminals spread with uniform areal density over an annulus.

    The inverse CDF of `f(d) = 2d / (R^2 - d_min^2)`, `d_min <= d <= R` (dynamic-devices paper, eq. 22 and 38).

    Args:
        u: draws of the uniform distribution on [0, 1], any shape.
        min_distance_m: inner radius [m].
        radius_m: outer radius [m].

    Returns:
        Distances [m], the shape of `u`.

    Example:
        Half the area lies within 177 m.

        >>> annulus_distance_m([0.0, 0.5, 1.0], 10.0, 250.0).round(1)
        array([ 10. , 176.9, 250. ])
    """
    share = within("u", u, 0.0, 1.0)
    radius = np.asarray(radius_m, dtype=np.float64)
    inner = non_negative("min_distance_m", min_distance_m)
    require((radius > inner) & (radius < np.inf), radius, "radius_m", f"finite and above min_distance_m = {inner:g}")
    return np.asarray(np.sqrt(inner**2 + share * (radius**2 - inner**2)))


def hexagon_offsets_m(u: ArrayLike, min_distance_m: ArrayLike, radius_m: ArrayLike) -> Floats:
    """Return offsets of uniform areal density in a hexagon around a base station, outside a hole around it.

    The hexagon is a cell of `hexagonal_sites_m`: its edges face the directions 0, 60, ..., 300 degrees. The angle
    inverts its distribution function, `F(t) ~ a^2 tan t - r^2 t` within 30 degrees of an edge's normal, with the
    distance a of the edge and the radius r of the hole; the distance is then drawn as in an annulus that ends at the
    edge.

    Args:
        u: draws of the uniform distribution on [0, 1], [..., 2]: for the angle, and for the distance.
        min_distance_m: radius of the hole [m], below `radius_m * sqrt(3) / 2`.
        radius_m: distance of the corners [m].

    Returns:
        Offsets [..., 2] in m.

    Example:
        The largest draws give a corner.

        >>> hexagon_offsets_m([1.0, 1.0], 0.0, 2.0).round(3)
        array([ 1.732, -1.   ])
    """
    draws = pairs("u", u)
    edge_m = np.asarray(radius_m, dtype=np.float64) * np.sqrt(3.0) / 2.0
    hole = non_negative("min_distance_m", min_distance_m)
    require((edge_m > hole) & (edge_m < np.inf), edge_m, "radius_m * sqrt(3) / 2", "finite and above min_distance_m")
    sector = np.minimum(np.floor(6.0 * draws[..., 0]), 5.0)
    part = 6.0 * draws[..., 0] - sector  # within its sector
    ratio = (hole / edge_m) ** 2
    target = (2.0 * part - 1.0) * (np.tan(np.pi / 6.0) - ratio * np.pi / 6.0)
    # Newton's method: both sides are monotone, and convex towards the corners, where it starts.
    angle = np.sign(target) * np.pi / 6.0
    for _ in range(NEWTON_STEPS):
        slope = 1.0 / np.cos(angle) ** 2 - ratio
        step = np.divide(np.tan(angle) - ratio * angle - target, slope, out=np.zeros_like(angle), where=slope > 0)
        angle = angle - step
    border_m = edge_m / np.cos(angle)
    distance = np.sqrt(hole**2 + draws[..., 1] * (border_m**2 - hole**2))
    azimuth = sector * np.pi / 3.0 + angle
    return np.stack([distance * np.cos(azimuth), distance * np.sin(azimuth)], axis=-1)


def distance_3d_m(distance_2d_m: ArrayLike, bs_height_m: ArrayLike, ut_height_m: ArrayLike) -> Floats:
    """Return the distance between the antennas [m], `sqrt(d_2D^2 + (h_BS - h_UT)^2)` (TR 38.901, Figure 7.4.1-1)."""
    climb_m = np.asarray(bs_height_m, dtype=np.float64) - np.asarray(ut_height_m, dtype=np.float64)
    return np.asarray(np.sqrt(np.asarray(distance_2d_m, dtype=np.float64) ** 2 + climb_m**2))


def hexagonal_sites_m(count: int, spacing_m: float) -> Floats:
    """Return the base stations of a hexagonal layout: the middle, then ring by ring (3GPP TR 38.901, Table 7.8-1).

    Args:
        count: 1, 7 or 19.
        spacing_m: distance between neighbouring sites [m]; sqrt(3) times a cell's corner radius.

    Returns:
        Positions [count, 2] in m, the middle at (0, 0).

    Example:
        >>> hexagonal_sites_m(7, 200.0)[:3].round(1)
        array([[  0. ,   0. ],
               [200. ,   0. ],
               [100. , 173.2]])
    """
    return np.asarray(_plane(axial_sites(count)) * positive("spacing_m", spacing_m))


def reuse_group(count: int, reuse: int) -> Ints:
    """Return the part of the band that each site of `hexagonal_sites_m` uses; equal parts are far apart.

    Co-channel cells form the sub-lattice with shifts (i, j), `reuse = i^2 + i j + j^2` (Rappaport 2002, section 3.2).

    Args:
        count: 1, 7 or 19 sites.
        reuse: reuse factor 1, 3, 4 or 7; cells of one group use the same band, 1 is full reuse.

    Returns:
        Groups [count] from 0 to reuse - 1; the middle has 0.

    Example:
        >>> reuse_group(7, 3)
        array([0, 1, 2, 1, 2, 1, 2])
    """
    along, across = axial_sites(count).T
    if reuse == 4:  # shifts (2, 0): the group is the parity of both coordinates
        return np.asarray(2 * (along % 2) + across % 2)
    if reuse not in _REUSE_STEP:
        raise ValueError(f"reuse = {reuse}: it must be 1, 3, 4 or 7")
    return np.asarray((along + _REUSE_STEP[reuse] * across) % reuse)


def wrapped_m(offsets_m: ArrayLike, count: int, spacing_m: float) -> Floats:
    """Return offsets to the nearest images of terminals if copies of `hexagonal_sites_m` tile the plane.

    With r rings, copies stand at the shifts (r + 1, r) and their turns by 60 degrees: `i^2 + i j + j^2 = 7` and 19
    (geographical distance based wrapping, Rec. ITU-R M.2101-0, Annex 1, Attachment 2).

    Args:
        offsets_m: from sites to terminals, [..., 2] in m.
        count: 7 or 19 sites.
        spacing_m: distance between neighbouring sites [m].

    Returns:
        The shortest offset [..., 2] in m among all copies.
    """
    if count not in {7, 19}:
        raise ValueError(f"count = {count}: layouts that wrap around have 7 or 19 sites")
    copies = _plane(np.concatenate([np.zeros((1, 2), dtype=np.int64), wrapping_shifts(count)]))
    copies = copies * positive("spacing_m", spacing_m)
    offsets = np.asarray(offsets_m, dtype=np.float64)
    # Offsets may span many copies. Without whole steps of the lattice they are at most one copy from the shortest.
    basis = copies[1:3]
    steps = np.rint(offsets @ np.linalg.inv(basis))
    near = offsets - steps @ basis
    images = near[..., None, :] - copies
    shortest = np.argmin((images**2).sum(axis=-1), axis=-1)
    return np.asarray(np.take_along_axis(images, shortest[..., None, None], axis=-2)[..., 0, :])


def wrapping_shifts(count: int) -> Ints:
    """Return the axial coordinates [6, 2] of the copies around a layout that wraps around; see `wrapped_m`.

    Args:
        count: 1, 7 or 19 sites.
    """
    if count not in _RINGS:
        raise ValueError(f"count = {count}: hexagonal layouts have 1, 7 or 19 sites")
    rings = _RINGS[count]
    # Half of the six copies; the other half stands opposite.
    shifts = np.array([(rings + 1, rings), (-rings, 2 * rings + 1), (-2 * rings - 1, rings + 1)])
    return np.concatenate([shifts, -shifts])


def _plane(axial: Ints) -> Floats:
    """Return the points [n, 2] of axial coordinates [n, 2], for a spacing of 1."""
    along, across = axial.T
    return np.stack([along + across / 2.0, across * np.sqrt(3.0) / 2.0], axis=-1)


def axial_sites(count: int) -> Ints:
    """Return the axial coordinates [count, 2] of `hexagonal_sites_m`, by ring, then by angle.

    Neighbours differ by (1, 0), (0, 1) or (1, -1).

    Args:
        count: 1, 7 or 19.
    """
    if count not in _RINGS:
        raise ValueError(f"count = {count}: hexagonal layouts have 1, 7 or 19 sites")
    reach = _RINGS[count]
    cells = []
    for q in range(-reach, reach + 1):
        for r in range(-reach, reach + 1):
            ring = max(abs(q), abs(r), abs(q + r))
            if ring <= reach:
                angle = math.atan2(r * math.sqrt(3.0) / 2.0, q + r / 2.0) % (2.0 * math.pi)
                cells.append((ring, angle, q, r))
    cells.sort()
    return np.array([(q, r) for _, _, q, r in cells], dtype=np.int64)
