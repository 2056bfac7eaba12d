"""Random fields over the plane: shadowing, line of sight and Ricean K as functions of the position (3GPP TR 38.901).

A field is a sum of plane waves (the spectral method; Jaeckel et al., "Efficient sum-of-sinusoids based spatial
consistency for the 3GPP New-Radio channel model", IEEE GLOBECOM Workshops 2018). It is a function of the position and
of the draws alone: whoever asks, whenever and in whichever order, gets the same value at the same spot. Clauses 7.4.4
and 7.6.3 of TR 38.901 ask for the correlations.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from channel._arrays import Floats
from channel._checks import finite, positive, require

CHUNK_COSINES = 2**16  # cosines taken at once: bounds the memory, whatever the number of positions


@dataclass(frozen=True, eq=False)
class Waves:
    """The plane waves whose sum is one field."""

    frequencies: Floats  # [M, 2] spatial frequencies along x and y [cycles/m], for a decorrelation distance of 1 m
    phases: Floats  # [M] at the origin [cycles]


def waves(uniforms: ArrayLike) -> Waves:
    """Return the plane waves of a field from M x 3 uniforms: wave number, direction and phase of each.

    The autocorrelation `exp(-r)` has the spectrum `(1 + k^2)^(-3/2)` over the plane, so the wave number `k` of a wave
    drawn from it has `P(k > x) = (1 + x^2)^(-1/2)`, and `k = (u^-2 - 1)^(1/2)`. One `u` is drawn from each of M equal
    strata, which leaves its distribution uniform and keeps every field close to the ensemble.

    Args:
        uniforms: independent uniforms in (0, 1], [M, 3]. M of about 500 is enough: one position's excess kurtosis is
            -1.5 / M, and the autocorrelation of one field over the plane scatters by (2 M)^(-1/2) about the ensemble's.

    Returns:
        The waves. Independent uniforms give independent fields.

    Raises:
        ValueError: another shape, no row, a number that is not in (0, 1].
    """
    draws = np.asarray(uniforms, dtype=np.float64)
    if draws.ndim != 2 or draws.shape[0] == 0 or draws.shape[1] != 3:
        raise ValueError(f"uniforms must have shape [M, 3] with M > 0, but they have shape {draws.shape}")
    require((draws > 0) & (draws <= 1), draws, "uniforms", "above 0 and not above 1")
    u = (np.arange(len(draws)) + draws[:, 0]) / len(draws)
    number = np.sqrt(u**-2.0 - 1.0)
    direction = 2.0 * np.pi * draws[:, 1]
    vectors = number * np.stack([np.cos(direction), np.sin(direction)])
    return Waves(vectors.T / (2.0 * np.pi), draws[:, 2])


def gaussian(waves: Waves, positions_m: ArrayLike, decorrelation_m: ArrayLike) -> Floats:
    """Return the field `g(p) = (2 / M)^(1/2) sum_m cos(k_m . p / d_cor + phi_m)`, standard normal for many waves.

    Its autocorrelation over draws is `exp(-|dx| / d_cor)` at every distance, for any number of waves (TR 38.901 clause
    7.4.4, eq. 7.4-5, and clause 7.6.3.1; distances d_cor in Tables 7.5-6 and 7.6.3.1-2). Each element of the result is
    a function of its own position and decorrelation distance, bit for bit, whatever stands beside it.

    Args:
        waves: the draws, from `waves`.
        positions_m: positions (x, y) [m], [..., 2].
        decorrelation_m: d_cor [m], broadcastable to [...]. Elements of different d_cor see the same waves at different
            scales: a position p has correlation `exp(-|p| |1 / d_1 - 1 / d_2|)` between its values of d_1 and d_2.

    Returns:
        The field's values [1], [...].

    Raises:
        ValueError: positions of another shape or not finite, a d_cor that is not positive, NaN.

    Example:
        Two devices at one spot share its shadowing: 4 dB times the field.

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


def uniform(waves: Waves, positions_m: ArrayLike, decorrelation_m: ArrayLike) -> Floats:
    """Return a field of uniforms, `Phi(g)`, for the state of a path (TR 38.901, clause 7.6.3.3).

    A position is in line of sight where its uniform is below `P_LoS`.

    Args:
        waves: the draws, from `waves`.
        positions_m: positions (x, y) [m], [..., 2].
        decorrelation_m: d_cor [m], broadcastable to [...]; see `gaussian`.

    Returns:
        The field's values in [0, 1], [...].

    Raises:
        ValueError: positions of another shape or not finite, a d_cor that is not positive, NaN.
    """
    return np.asarray(ndtr(gaussian(waves, positions_m, decorrelation_m)))


def _cosines(waves: Waves, scaled: Floats) -> Floats:
    """Return the sums of the cosines [n] at scaled positions [n, 2]."""
    # No matrix product, and the sum along rows: the rounding of a value must not depend on how many there are.
    cycles: Floats = scaled[:, :1] * waves.frequencies[:, 0]
    cycles += scaled[:, 1:] * waves.frequencies[:, 1]
    cycles += waves.phases
    # At most half a turn is left, for which single precision will do, at a sixth of the time.
    cycles -= np.rint(cycles)
    angles = np.float32(2.0 * np.pi) * cycles.astype(np.float32)
    return np.asarray(np.cos(angles).sum(axis=1), dtype=np.float64)
