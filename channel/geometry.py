"""Where terminals and base stations are."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._arrays import Floats
from channel._checks import non_negative, positive, require, within

_REUSE_STEP = {1: 0, 3: 2, 7: 5}  # (1, 1) and (2, 1) and their turns by 60 degrees fall on group 0


def annulus_distance_m(u: ArrayLike, min_distance_m: float, radius_m: float) -> Floats:
    """Ground distance [m] of terminals spread with uniform areal density over an annulus.

    The inverse CDF of f(d) = 2d / (R^2 - d_min^2), d_min <= d <= R (dynamic-devices paper, eq. 22 and 38).

    Args:
        u: draws of the uniform distribution on [0, 1], any shape.
        min_distance_m: inner radius [m].
        radius_m: outer radius [m].

    Returns:
        Distances [m], the shape of `u`.

    Raises:
        ValueError: `u` is outside [0, 1], or not 0 <= min_distance_m < radius_m < infinity.
    """
    share = within("u", u, 0.0, 1.0)
    radius = np.asarray(radius_m, dtype=np.float64)
    inner = non_negative("min_distance_m", min_distance_m)
    require((radius > inner) & (radius < np.inf), radius, "radius_m", f"finite and above min_distance_m = {inner:g}")
    return np.asarray(np.sqrt(inner**2 + share * (radius**2 - inner**2)))


def distance_3d_m(distance_2d_m: ArrayLike, bs_height_m: ArrayLike, ut_height_m: ArrayLike) -> Floats:
    """Distance [m] between the antennas (3GPP TR 38.901, Figure 7.4.1-1).

    Args:
        distance_2d_m: ground distance [m].
        bs_height_m: antenna height of the base station [m].
        ut_height_m: antenna height of the terminal [m].

    Returns:
        sqrt(d_2D^2 + (h_BS - h_UT)^2) [m], the broadcast shape of the arguments.
    """
    climb_m = np.asarray(bs_height_m, dtype=np.float64) - np.asarray(ut_height_m, dtype=np.float64)
    return np.asarray(np.sqrt(np.asarray(distance_2d_m, dtype=np.float64) ** 2 + climb_m**2))


def hexagonal_sites_m(count: int, spacing_m: float) -> Floats:
    """Base stations of a hexagonal layout: one in the middle, then ring by ring (3GPP TR 38.901, Table 7.8-1).

    Args:
        count: 1, 7 or 19.
        spacing_m: distance between neighbouring sites [m]; sqrt(3) times a cell's corner radius.

    Returns:
        Positions [count, 2] [m], the middle at (0, 0).

    Raises:
        ValueError: another count, or a spacing that is not positive.
    """
    return np.asarray(_plane(_axial(count)) * positive("spacing_m", spacing_m))


def reuse_group(count: int, reuse: int) -> NDArray[np.int64]:
    """Which part of the band each site of `hexagonal_sites_m` uses: cells on one part are as far apart as may be.

    Co-channel cells form the sub-lattice with shifts (i, j), reuse = i^2 + i j + j^2 (Rappaport 2002, section 3.2).

    Args:
        count: 1, 7 or 19 sites.
        reuse: reuse factor 1, 3, 4 or 7; cells of one group share a band, 1 is full reuse.

    Returns:
        Groups [count] from 0 to reuse - 1; the middle has 0.

    Raises:
        ValueError: another count or factor.
    """
    along, across = _axial(count).T
    if reuse == 4:
        return np.asarray(2 * (along % 2) + across % 2)
    if reuse not in _REUSE_STEP:
        raise ValueError(f"reuse = {reuse}: it must be 1, 3, 4 or 7")
    return np.asarray((along + _REUSE_STEP[reuse] * across) % reuse)


def wrapped_m(offsets_m: ArrayLike, count: int, spacing_m: float) -> Floats:
    """Offsets to the nearest images where `hexagonal_sites_m` wraps around: copies of the layout tile the plane.

    With r rings, copies stand at the shifts (r + 1, r) and their turns by 60 degrees: i^2 + i j + j^2 = 7 and 19
    (geographical distance based wrapping, Rec. ITU-R M.2101-0, Annex 1, Attachment 2).

    Args:
        offsets_m: from sites to terminals, [..., 2] [m].
        count: 7 or 19 sites.
        spacing_m: distance between neighbouring sites [m].

    Returns:
        The shortest offset [..., 2] [m] among all copies.

    Raises:
        ValueError: another count, or a spacing that is not positive.
    """
    rings = {7: 1, 19: 2}.get(count)
    if rings is None:
        raise ValueError(f"count = {count}: layouts that wrap around have 7 or 19 sites")
    shifts = np.array([(0, 0), (rings + 1, rings), (-rings, 2 * rings + 1), (-2 * rings - 1, rings + 1)])
    copies = _plane(np.concatenate([shifts, -shifts[1:]])) * positive("spacing_m", spacing_m)
    offsets = np.asarray(offsets_m, dtype=np.float64)
    basis = copies[1:3]
    near = offsets - np.rint(offsets @ np.linalg.inv(basis)) @ basis  # at most one copy away from the shortest
    images = near[..., None, :] - copies
    shortest = np.argmin((images**2).sum(axis=-1), axis=-1)
    return np.asarray(np.take_along_axis(images, shortest[..., None, None], axis=-2)[..., 0, :])


def _plane(axial: NDArray[np.int64]) -> Floats:
    """Points [n, 2] of axial coordinates [n, 2], for a spacing of 1."""
    along, across = axial.T
    return np.stack([along + across / 2.0, across * np.sqrt(3.0) / 2.0], axis=-1)


def _axial(count: int) -> NDArray[np.int64]:
    """Axial coordinates [count, 2] of the hexagons, by ring, then by angle."""
    rings = {1: 0, 7: 1, 19: 2}
    if count not in rings:
        raise ValueError(f"count = {count}: hexagonal layouts have 1, 7 or 19 sites")
    reach = rings[count]
    cells = [
        (max(abs(q), abs(r), abs(q + r)), math.atan2(r * math.sqrt(3.0) / 2.0, q + r / 2.0) % (2.0 * math.pi), q, r)
        for q in range(-reach, reach + 1)
        for r in range(-reach, reach + 1)
        if abs(q + r) <= reach
    ]
    return np.array([cell[2:] for cell in sorted(cells)], dtype=np.int64)
