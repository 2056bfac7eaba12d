"""Cumulants of the bits that consecutive slots of Rayleigh fading carry, tabulated over the SNR and the correlation.

Rates are functions of `x = |h|^2 ~ Exp(1)`, and a step of the Gauss-Markov process multiplies the Laguerre polynomial
`L_j(x)` by `r^j` on average, `r = rho^2` (Hardy-Hille formula, DLMF 18.18.27 with alpha = 0). In this basis the
generating function of the sum `S_n` over n slots is the power of a matrix, and its cumulants follow from the largest
eigenvalue.

Everything scales with `d = 1 - r`, the part of an independent sample that a slot is worth: n slots are `n d` *effective
samples*, and in these units the cumulants hardly depend on rho, so coarse tables suffice.
docs/channel/fast.md derives the method.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, positive, require, within
from channel.rate import SHANNON, Efficiency, mean_rayleigh_bps_hz

LOW_DB = -40  # lowest and highest mean SNR of the tables, in steps of 1 dB
HIGH_DB = 120
MEAN_STEPS = 4  # of the table of the mean within 1 dB
WORTH_STEPS = 12  # of the tables over the worth d of a slot, even in sqrt(d)
LINES = 6  # numbers that give the cumulants of a sum: ln V, A2, C3, B3, C4, B4
MODES = 48  # Laguerre polynomials
NODES = 480  # points at which functions of x are known
SILENT_BPS_HZ = 1e-12  # mean below which a link's cumulants do not matter: nothing gets through


class Cumulants(NamedTuple):
    """First four cumulants of a sum, each of the shape of the arguments."""

    mean: Floats
    variance: Floats
    third: Floats
    fourth: Floats


def sum_cumulants(
    mean_snr: ArrayLike, correlation: ArrayLike, slots: ArrayLike, efficiency: Efficiency = SHANNON
) -> Cumulants:
    """Return the cumulants of the sum of the spectral efficiencies of `slots` consecutive slots of Rayleigh fading.

    Terms that fall as `r^slots`, `r = correlation^2`, are left out, so a sum needs some effective samples.

    Args:
        mean_snr: mean signal-to-noise ratio [1], -40 to 120 dB.
        correlation: rho of the fading between neighbouring slots, inside (-1, 1).
        slots: number of slots, positive.
        efficiency: spectral efficiency over the SNR of a slot.

    Returns:
        Cumulants [(bit/s/Hz)^p, p = 1 to 4], of the broadcast shape of the arguments.

    Example:
        Similar neighbouring slots (rho near 1) increase the variance of the sum.

        >>> bool(sum_cumulants(10.0, 0.9, 100).variance > sum_cumulants(10.0, 0.0, 100).variance)
        True
    """
    rho = within("correlation", correlation, -1.0, 1.0)
    require(np.abs(rho) < 1, rho, "correlation", "inside (-1, 1)")
    snr = within("mean_snr", mean_snr, 10.0 ** (LOW_DB / 10), 10.0 ** (HIGH_DB / 10), BORDER)
    snr, rho, n = np.broadcast_arrays(snr, rho, positive("slots", slots))
    tables = tables_of(efficiency)
    worth = slot_worth(rho)
    db = decibels(snr)
    lines = tables.lines(db.ravel(), worth.ravel()).reshape(-1, *n.shape)
    variance, third, fourth = scaled_cumulants(n * worth, lines)
    unit = np.exp(tables.log_mean(db)) / worth  # bit/s/Hz of an effective sample at the mean rate
    return Cumulants(unit * n * worth, unit**2 * variance, unit**3 * third, unit**4 * fourth)


def slot_worth(correlation: Floats) -> Floats:
    """Return the effective samples in a slot, `d = 1 - rho^2`, without cancellation near 1."""
    return np.asarray((1.0 - correlation) * (1.0 + correlation))


def decibels(snr: Floats) -> Floats:
    """Return SNRs [1] in dB; 0 becomes a level far below the tables."""
    return np.asarray(10.0 * np.log10(np.maximum(snr, 1e-30)))


def scaled_cumulants(samples: Floats, lines: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the second to fourth cumulant of `S_n d / m` over `t = n d` effective samples, `m` the mean rate.

    They are straight lines over t: `V (t + A2)`, `V (C3 t + B3)` and `V (C4 t + B4)`.

    Args:
        samples: effective samples t, [...].
        lines: [ln V, A2, C3, B3, C4, B4], [6, ...], from `Tables.lines`.
    """
    log_v, a2, c3, b3, c4, b4 = lines
    v = np.exp(log_v)
    # A2 is negative for some links, but the variance of very few samples must stay positive.
    variance = v * np.maximum(samples + a2, 0.25 * samples)
    return variance, v * (c3 * samples + b3), v * (c4 * samples + b4)


class Tables(NamedTuple):
    """Tables of one efficiency, over the mean SNR from `LOW_DB` to `HIGH_DB`."""

    log_means: Floats  # ln E[e], `MEAN_STEPS` in 1 dB
    line_grid: Floats  # [6, dB * (WORTH_STEPS + 1)]: see `scaled_cumulants`; one in 1 dB, and over sqrt(d) from 0 to 1

    def log_mean(self, db: Floats) -> Floats:
        """Return the logarithm of `E[e]` at mean SNRs [dB] by the cubic through the four nearest entries.

        Long transfers vary by less than a thousandth, so the mean needs more digits than linear interpolation gives.
        """
        table = self.log_means
        position = np.clip((db - LOW_DB) * MEAN_STEPS, 0.0, table.size - 1.0)
        at = np.clip(position.astype(np.intp), 1, table.size - 3)
        f = position - at
        # Lagrange's polynomials on the points -1, 0, 1 and 2 around `at`, taken in pairs.
        outer = f * (f - 1.0) / 6.0
        inner = (f + 1.0) * (f - 2.0) / 2.0
        return np.asarray(
            outer * ((f + 1.0) * table[at + 2] - (f - 2.0) * table[at - 1])
            + inner * ((f - 1.0) * table[at] - f * table[at + 1])
        )

    def lines(self, db: Floats, worth: Floats) -> Floats:
        """Return the lines of `scaled_cumulants`, [6, n], linear between the four nearest entries.

        Args:
            db: mean SNRs [dB], [n].
            worth: effective samples in a slot, [n].
        """
        row = np.clip(db - LOW_DB, 0.0, HIGH_DB - LOW_DB)
        column = np.sqrt(worth) * WORTH_STEPS
        i = np.minimum(row.astype(np.intp), HIGH_DB - LOW_DB - 1)
        j = np.minimum(column.astype(np.intp), WORTH_STEPS - 1)
        down = row - i
        right = column - j
        # One flat index for both axes: `take` is several times as fast as indexing with two arrays.
        at = i * (WORTH_STEPS + 1) + j
        upper = self.line_grid.take(at, axis=1) * (1.0 - right) + self.line_grid.take(at + 1, axis=1) * right
        at += WORTH_STEPS + 1
        lower = self.line_grid.take(at, axis=1) * (1.0 - right) + self.line_grid.take(at + 1, axis=1) * right
        return np.asarray(upper * (1.0 - down) + lower * down)


@cache
def tables_of(efficiency: Efficiency) -> Tables:
    """Return the tables of an efficiency, which take about 0.2 s once in a process."""
    snr = 10.0 ** (np.arange(LOW_DB, HIGH_DB + 1) / 10.0)
    x, root, modes = _laguerre()
    values = np.asarray(efficiency.bps_hz(snr[:, None] * x))
    # At the ends, d = 0 and 1, the geometric sums over r^j have no value but a limit.
    worth = np.clip(np.linspace(0.0, 1.0, WORTH_STEPS + 1) ** 2, 1e-8, 1.0 - 1e-8)
    line_grid = np.stack([_lines_at(values, d, root, modes) for d in worth], axis=-1)
    # The mean has a closed form for each efficiency, which is more accurate than the quadrature above.
    fine_db = np.linspace(LOW_DB, HIGH_DB, MEAN_STEPS * (HIGH_DB - LOW_DB) + 1)
    means = mean_rayleigh_bps_hz(efficiency, 10.0 ** (fine_db / 10.0))
    return Tables(np.log(np.maximum(means, SILENT_BPS_HZ)), line_grid.reshape(6, -1))


def _laguerre() -> tuple[Floats, Floats, Floats]:
    """Return the points and weights of a quadrature over Exp(1), and the Laguerre polynomials on them.

    Returns:
        Points x [q], roots of their weights [q], and Laguerre polynomials times these roots [k, q]. Times the roots,
        polynomials are orthonormal vectors, and the operators of `_lines_at` are symmetric matrices.
    """
    # Points are even in t with x = ln(1 + e^t)^2: many in deep fades, and some to every wave of the polynomials.
    t = np.linspace(-14.0, 16.5, NODES)
    amplitude = np.logaddexp(0.0, t)
    x = amplitude**2
    weight = np.exp(-x) * 2.0 * amplitude / (1.0 + np.exp(-t)) * (t[1] - t[0])
    modes = np.empty((MODES, NODES))
    modes[0] = 1.0
    modes[1] = 1.0 - x
    for j in range(1, MODES - 1):  # DLMF 18.9.1
        modes[j + 1] = ((2 * j + 1 - x) * modes[j] - j * modes[j - 1]) / (j + 1)
    root = np.sqrt(weight)
    return x, root, modes * root


def _lines_at(values: Floats, worth: float, root: Floats, modes: Floats) -> Floats:
    """Return [ln V, A2, C3, B3, C4, B4] of `scaled_cumulants` for one worth of a slot, [6, s].

    `E[exp(theta S_n)] = <1, (M D)^n 1>`, where `M` multiplies by `exp(theta e(x))` and `D` by `r^j` on the polynomial
    `L_j`. It tends to `A(theta) lambda(theta)^n`. With `M D u = lambda u` and `<1, u> = 1`, `A = 1 / <u, D u>`, since
    `M` and `D` are symmetric. Powers of theta are solved for one by one (the perturbation series of Rayleigh and
    Schroedinger); cumulants are the Taylor coefficients of `ln lambda` and `ln A`.

    Args:
        values: efficiencies [s, q] at the points of `_laguerre`.
        worth: effective samples in a slot, d.
        root: from `_laguerre`.
        modes: from `_laguerre`.
    """
    # Relative to the mean and centred, e = m (1 + f): the cumulants of f do not lose digits to the mean.
    mean = values @ root**2
    audible = mean[:, None] > SILENT_BPS_HZ
    f = np.where(audible, values / np.maximum(mean, SILENT_BPS_HZ)[:, None] - 1.0, 0.0)
    log_r_j = np.arange(1, MODES) * np.log1p(-worth)
    memory = np.exp(log_r_j) / -np.expm1(log_r_j)  # r^j / (1 - r^j)

    # Coefficients of theta^p: of exp(theta f), of the eigenvector u, of D u and of the eigenvalue lambda.
    power = (np.ones_like(f), f, f**2 / 2.0, f**3 / 6.0, f**4 / 24.0)
    u = [np.broadcast_to(root, f.shape)]
    stepped = [u[0]]  # D u
    eigenvalue = [np.ones(len(f))]
    for p in range(1, 5):
        forced = np.zeros_like(f)
        for q in range(1, p + 1):
            forced += power[q] * stepped[p - q]
        eigenvalue.append(forced @ root)
        carried = np.zeros_like(f)
        for q in range(1, p + 1):
            carried += eigenvalue[q][:, None] * u[p - q]
        # (1 - D) u = rest, solved on the polynomials, where D is diagonal; the constant one is fixed by <1, u> = 1.
        rest = forced - carried
        u.append(rest + ((rest @ modes[1:].T) * memory) @ modes[1:])
        stepped.append(u[p] - rest)

    # Of <u, D u>, the coefficients of theta^2 to theta^4; that of theta^1 vanishes, as the first orders have no mean.
    norm2 = _inner(u[1], stepped[1])
    norm3 = 2.0 * _inner(u[1], stepped[2])
    norm4 = _inner(u[2], stepped[2]) + 2.0 * _inner(u[1], stepped[3])

    # n k_p + a_p is the cumulant of order p: k_p from ln lambda, a_p from ln A.
    k2 = 2.0 * eigenvalue[2]
    k3 = 6.0 * eigenvalue[3]
    k4 = 24.0 * (eigenvalue[4] - eigenvalue[2] ** 2 / 2.0)
    a2 = -2.0 * norm2
    a3 = -6.0 * norm3
    a4 = -24.0 * (norm4 - norm2**2 / 2.0)
    k2 = np.maximum(k2, 1e-30)  # a rate that does not vary
    ratios = np.stack([a2 * worth, k3 * worth, a3 * worth**2, k4 * worth**2, a4 * worth**3]) / k2
    return np.vstack([np.log(k2 * worth), ratios])


def _inner(one: Floats, other: Floats) -> Floats:
    """Return the inner products [s] of vectors [s, q]."""
    return np.asarray(np.einsum("sq,sq->s", one, other))
