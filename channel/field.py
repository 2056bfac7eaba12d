"""Random fields over the plane: shadowing, line of sight and Ricean K as functions of the position (3GPP TR 38.901).

A field is a sum of plane waves (the spectral method; Jaeckel et al., "Efficient sum-of-sinusoids based spatial
consistency for the 3GPP New-Radio channel model", IEEE GLOBECOM Workshops 2018). It is a function of only the position
and the draws: its value at a spot does not depend on when it is evaluated, or in what order. Clauses 7.4.4 and 7.6.3 of
TR 38.901 specify the correlations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from channel import _special
from channel._arrays import Floats
from channel._checks import finite, positive, require

CHUNK_COSINES = 2**14  # cosines taken together: more would not fit into a processor's cache
SMOOTH_DECAY = 2.146193220620583  # (1 + x) exp(-x) = 1 / e: lengths of the smooth autocorrelation in one d_cor
STRAIGHT = 1e-9  # of the decorrelation distance: steps that differ by less form one straight line
SHORT_LINE = 12  # points of a line up to which single cosines are faster


@dataclass(frozen=True, eq=False)
class Waves:
    """The plane waves whose sum is one field, or those of several fields [F]."""

    frequencies: Floats  # [M, 2] or [F, M, 2] along x and y [cycles/m], for a decorrelation distance of 1 m
    phases: Floats  # [M] or [F, M] at the origin [cycles]


def stacked(waves: Sequence[Waves]) -> Waves:
    """Return the waves of several fields with equally many waves, for `gaussians` and `along_path`."""
    frequencies = np.stack([field.frequencies for field in waves])
    return Waves(frequencies, np.stack([field.phases for field in waves]))


def waves(uniforms: ArrayLike, *, smooth: bool = False) -> Waves:
    """Return the plane waves of a field from M x 3 uniforms: wave number, direction and phase of each.

    The autocorrelation `exp(-r)` has the spectrum `(1 + k^2)^(-3/2)` over the plane, so the wave number `k` of a wave
    drawn from it has `P(k > x) = (1 + x^2)^(-1/2)`, and `k = (u^-2 - 1)^(1/2)`. One `u` is drawn from each of M equal
    strata, which leaves its distribution uniform and keeps every field close to the ensemble.

    This field is continuous but nowhere smooth: where a straight path crosses a level once, it crosses it infinitely
    often. A smooth field has the autocorrelation `(1 + c r) exp(-c r)`, c = 2.146, which is also 1 / e at r = 1
    (Matern, smoothness 3/2; Stein, "Interpolation of Spatial Data", 1999, section 2.7). Its spectrum
    `(1 + (k / c)^2)^(-5/2)` gives `k = c (u^(-2/3) - 1)^(1/2)`, and a path crosses its mean `c / pi` times per d_cor.

    Args:
        uniforms: independent uniforms in (0, 1], [M, 3]. M of about 500 suffices: the excess kurtosis at a position is
            -1.5 / M, and the autocorrelation of one field over the plane scatters by (2 M)^(-1/2) about the ensemble's.
        smooth: whether paths cross a level of the field finitely often.

    Returns:
        The waves. Independent uniforms give independent fields.
    """
    draws = np.asarray(uniforms, dtype=np.float64)
    if draws.ndim != 2 or draws.shape[0] == 0 or draws.shape[1] != 3:
        raise ValueError(f"uniforms must have shape [M, 3] with M > 0, but they have shape {draws.shape}")
    require((draws > 0) & (draws <= 1), draws, "uniforms", "above 0 and not above 1")
    u = (np.arange(len(draws)) + draws[:, 0]) / len(draws)
    if smooth:
        number = SMOOTH_DECAY * np.sqrt(u ** (-2.0 / 3.0) - 1.0)
    else:
        number = np.sqrt(u**-2.0 - 1.0)
    direction = 2.0 * np.pi * draws[:, 1]
    vectors = number * np.stack([np.cos(direction), np.sin(direction)])
    return Waves(vectors.T / (2.0 * np.pi), draws[:, 2])


def gaussian(waves: Waves, positions_m: ArrayLike, decorrelation_m: ArrayLike) -> Floats:
    """Return the field `g(p) = (2 / M)^(1/2) sum_m cos(k_m . p / d_cor + phi_m)`, standard normal for many waves.

    Its autocorrelation over draws is `exp(-|dx| / d_cor)` at every distance, for any number of waves (TR 38.901 clause
    7.4.4, eq. 7.4-5, and clause 7.6.3.1; distances d_cor in Tables 7.5-6 and 7.6.3.1-2). Each element of the result
    depends only on its own position and decorrelation distance, bit for bit.

    Args:
        waves: the draws, from `waves`.
        positions_m: positions (x, y) [m], [..., 2].
        decorrelation_m: d_cor [m], broadcastable to [...]. Elements of different d_cor see the same waves at different
            scales: the values of d_1 and d_2 at a position p have the correlation `exp(-|p| |1 / d_1 - 1 / d_2|)`.

    Returns:
        The field's values [1], [...].

    Example:
        Two devices at one spot have the same shadowing, 4 dB times the field.

        >>> plane = waves(1.0 - np.random.default_rng(1).random((500, 3)))
        >>> one, other, far = 4.0 * gaussian(plane, [[30.0, 40.0], [30.0, 40.0], [300.0, 400.0]], decorrelation_m=10.0)
        >>> bool(one == other), bool(one == far)
        (True, False)
    """
    positions = np.asarray(positions_m, dtype=np.float64)
    if positions.ndim == 0 or positions.shape[-1] != 2:
        raise ValueError(f"positions_m must have shape [..., 2], but they have shape {positions.shape}")
    finite("positions_m", positions)
    scaled = (positions / positive("decorrelation_m", decorrelation_m)[..., None]).reshape(-1, 2)
    shape = np.broadcast_shapes(positions.shape[:-1], np.shape(decorrelation_m))
    count = max(1, CHUNK_COSINES // len(waves.phases))
    sums = np.empty(len(scaled))
    for first in range(0, len(scaled), count):
        sums[first : first + count] = _cosines(waves, scaled[first : first + count])
    return np.asarray(np.sqrt(2.0 / len(waves.phases)) * sums).reshape(shape)


def gaussians(waves: Waves, positions_m: Floats, decorrelation_m: Floats) -> Floats:
    """Return the values [1], [n, F], of F fields at positions (x, y) [m], [n, 2]: those of `gaussian`, bit for bit.

    Args:
        waves: the draws of the fields, from `stacked`.
        positions_m: positions [m], [n, 2].
        decorrelation_m: d_cor [m] of each position and field, [n, F].
    """
    finite("positions_m", positions_m)
    distances_m = positive("decorrelation_m", decorrelation_m)
    count = max(1, CHUNK_COSINES // waves.phases.size)
    sums = np.empty(distances_m.shape)
    for first in range(0, len(sums), count):
        rows = slice(first, first + count)
        sums[rows] = _cosines(waves, positions_m[rows, None] / distances_m[rows, :, None])
    return np.asarray(np.sqrt(2.0 / waves.phases.shape[-1]) * sums)


def along_path(waves: Waves, positions_m: ArrayLike, decorrelation_m: float) -> Floats:
    """Return the values of several fields along a path, faster than `gaussians` on its straight parts.

    On a straight line with equal steps, the cosine of wave m at step `a B + b` is that of a sum of two angles, one of a
    and one of b. A line of `A B` steps thus takes A + B cosines of each wave instead of A B, and the sums over waves
    are products of matrices, whose last digits depend on where the line begins and ends.

    Args:
        waves: the draws of F fields, from `stacked`.
        positions_m: positions (x, y) [m], [t, 2], in their order along the path.
        decorrelation_m: d_cor [m].

    Returns:
        The fields' values [1], [t, F], within 1e-5 of those of `gaussian`.
    """
    positions = np.asarray(positions_m, dtype=np.float64)
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise ValueError(f"positions_m must have shape [t, 2], but they have shape {positions.shape}")
    finite("positions_m", positions)
    scaled = positions / positive("decorrelation_m", decorrelation_m)
    fields, size = waves.phases.shape
    sums = np.empty((len(scaled), fields))
    first = 0
    for end in _ends_of_lines(scaled):
        line = scaled[first:end]
        if len(line) > SHORT_LINE:
            sums[first:end] = _cosines_on_line(waves, line[0], line[-1], len(line))
        else:
            for field in range(fields):
                one = Waves(waves.frequencies[field], waves.phases[field])
                sums[first:end, field] = _cosines(one, line)
        first = end
    return np.asarray(np.sqrt(2.0 / size) * sums)


def uniform(waves: Waves, positions_m: ArrayLike, decorrelation_m: ArrayLike) -> Floats:
    """Return a field of uniforms, `Phi(g)`, for the state of a path (TR 38.901, clause 7.6.3.3).

    A position is in line of sight where the uniform is below `P_LoS`. The arguments are those of `gaussian`.
    """
    return np.asarray(_special.ndtr(gaussian(waves, positions_m, decorrelation_m)))


def _ends_of_lines(scaled: Floats) -> list[int]:
    """Return the index after the last position of each straight line of equal steps in scaled positions [t, 2]."""
    count = len(scaled)
    steps = np.diff(scaled, axis=0)
    turns = np.abs(np.diff(steps, axis=0)).max(axis=1) > STRAIGHT
    corners = np.flatnonzero(turns) + 2  # the first position that is off the line of the two before it
    ends = []
    first = 0
    for corner in corners.tolist():
        # A corner shows in two steps: from the old line to the corner, and from there to the new line.
        if corner > first + 1:
            ends.append(corner)
            first = corner
    if count:
        ends.append(count)
    return ends


def _cosines_on_line(waves: Waves, start: Floats, end: Floats, count: int) -> Floats:
    """Return the sums of the cosines [count, F] at `count` equal steps from one scaled position [2] to another."""
    fine = max(1, round(np.sqrt(count)))
    coarse = -(-count // fine)
    step_cycles = waves.frequencies @ ((end - start) / (count - 1))
    start_cycles = waves.frequencies @ start + waves.phases
    fields, size = waves.phases.shape
    sums = np.empty((fields, coarse * fine))
    together = max(1, CHUNK_COSINES // (size * (fine + coarse)))  # fields whose angles stay in the cache
    for first in range(0, fields, together):
        few = slice(first, first + together)
        step = step_cycles[few, None]
        inside = _angles(step * np.arange(fine)[:, None])  # [f, fine, M]
        begins = _angles(start_cycles[few, None] + step * (fine * np.arange(coarse))[:, None])
        # cos(x + y) = cos x cos y - sin x sin y, summed over waves.
        cosines = np.cos(begins) @ np.cos(inside).transpose(0, 2, 1)
        cosines -= np.sin(begins) @ np.sin(inside).transpose(0, 2, 1)
        sums[few] = cosines.reshape(len(cosines), -1)
    return sums[:, :count].T


def _angles(cycles: Floats) -> npt.NDArray[np.float32]:
    """Return angles in single precision, which suffices as they are at most half a turn."""
    cycles -= np.rint(cycles)
    return np.asarray(np.float32(2.0 * np.pi) * cycles.astype(np.float32))


def _cosines(waves: Waves, scaled: Floats) -> Floats:
    """Return the sums of the cosines [n] at scaled positions [n, 2]; [n, F] at [n, F, 2] of several fields."""
    # A sum along rows and not a matrix product: the rounding of a value must not depend on the number of rows.
    cycles: Floats = scaled[..., :1] * waves.frequencies[..., 0]
    cycles += scaled[..., 1:] * waves.frequencies[..., 1]
    cycles += waves.phases
    # At most half a turn is left, so single precision suffices, which takes a sixth of the time.
    cycles -= np.rint(cycles)
    angles = np.float32(2.0 * np.pi) * cycles.astype(np.float32)
    return np.asarray(np.cos(angles).sum(axis=-1), dtype=np.float64)
