"""Random fields: autocorrelation, marginals and line of sight of `channel.field` against their closed forms."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from channel import field, umi
from channel._arrays import Floats
from channel_validation.report import KS_ONE_PERCENT, Check, even_shares, figure, share_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DECORRELATION_M = 10.0  # of UMi's shadowing in line of sight
LOS_DECORRELATION_M = 50.0  # of UMi's LoS state
SHADOWING_STD_DB = 4.0
LAGS = np.array([0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])  # in decorrelation distances
FIELDS = 400
PAIRS = 30  # of positions in each field
ENSEMBLE_FIELDS = 8000  # fields, of which one position is looked at


def checks() -> list[Check]:
    """Check an ensemble of fields within 4 standard errors; distributions by Kolmogorov-Smirnov at 1 %."""
    return [*_autocorrelation_checks(), *_marginal_checks(), *_sight_checks(), _pair_check()]


def _autocorrelation_checks() -> list[Check]:
    found = []
    for direction, angle in (("along x", 0.0), ("along y", np.pi / 2)):
        products, error = _autocorrelation(angle)
        for lag in (0.1, 0.5, 1.0, 2.0):
            at = list(LAGS).index(lag)
            name = f"autocorrelation at {lag:g} d_cor {direction}"
            found.append(Check(name, products[at], float(np.exp(-lag)), 4 * error[at]))
    return found


def _marginal_checks() -> list[Check]:
    from scipy import stats

    to_normal = float(stats.kstest(_at_one_position(), "norm").statistic)
    # Over 20 km, 2,000 decorrelation distances, the positions are nearly independent.
    over_plane = field.gaussian(_waves(0), _uniforms(1, ENSEMBLE_FIELDS, 2) * 20e3, DECORRELATION_M)
    return [
        Check("KS distance of one place to N(0, 1)", to_normal, 0.0, KS_ONE_PERCENT / np.sqrt(ENSEMBLE_FIELDS)),
        Check("variance of one field over the plane", over_plane.var(), 1.0, 4 * np.sqrt(2 / ENSEMBLE_FIELDS)),
    ]


def _sight_checks() -> list[Check]:
    found = []
    distance_m = np.array([25.0, 50.0, 100.0, 250.0])
    positions = np.stack([distance_m, np.zeros(4)], axis=-1)
    probability = umi.los_probability(distance_m)
    seen = _ensemble_los(positions, probability).mean(axis=0)
    for d, p, share in zip(distance_m, probability, seen, strict=True):
        found.append(Check(f"share in line of sight at {d:g} m", share, p, 4 * share_error(p, ENSEMBLE_FIELDS)))
    return found


def _pair_check() -> Check:
    """Check two positions 50 m apart and 60 m away from the base station: their states are correlated."""
    from scipy import stats

    half = LOS_DECORRELATION_M / 2
    ahead = np.sqrt(60.0**2 - half**2)
    pair = np.array([[ahead, half], [ahead, -half]])
    p = float(umi.los_probability(60.0))
    # Both are seen where two normals of correlation 1/e lie below the quantile of p.
    rho = np.exp(-1.0)
    at = stats.norm.ppf(p)
    both = float(stats.multivariate_normal.cdf([at, at], cov=[[1.0, rho], [rho, 1.0]]))
    measured = _ensemble_los(pair, np.array([p, p])).all(axis=1).mean()
    name = "share of pairs 50 m apart, both in line of sight"
    return Check(name, measured, both, 4 * share_error(both, ENSEMBLE_FIELDS))


def figures() -> dict[str, Figure]:
    """Draw a map of shadowing, its autocorrelation, and its distribution at one position."""
    return {
        "shadowing-map": _map(),
        "shadowing-autocorrelation": _autocorrelation_figure(),
        "shadowing-distribution": _distribution_figure(),
    }


def _map() -> Figure:
    drawing, axes = figure("Shadowing of one field, UMi in line of sight (4 dB, 10 m)", "x [m]", "y [m]")
    axis = np.linspace(-250, 250, 167)  # 3 m apart
    positions = np.stack(np.meshgrid(axis, axis), axis=-1)
    values = SHADOWING_STD_DB * field.gaussian(_waves(5), positions, DECORRELATION_M)
    extent = (-250, 250, -250, 250)
    image = axes.imshow(values, "RdBu_r", origin="lower", extent=extent, vmin=-12, vmax=12, interpolation="none")
    axes.grid(visible=False)
    drawing.colorbar(image, label="Shadowing [dB]")
    return drawing


def _autocorrelation_figure() -> Figure:
    drawing, axes = figure("Autocorrelation of shadowing, d_cor = 10 m", "Distance [m]", "Autocorrelation")
    distance = np.linspace(0, 45, 200)
    axes.plot(distance, np.exp(-distance / DECORRELATION_M), "k-", label="exp(-d / d_cor), TR 38.901 eq. 7.4-5")
    for label, angle, marker in (("along x", 0.0, "o"), ("diagonal", np.pi / 4, "s"), ("along y", np.pi / 2, "^")):
        products, error = _autocorrelation(angle)
        axes.errorbar(LAGS * DECORRELATION_M, products, 2 * error, fmt=marker, ms=4, capsize=2, label=label)
    axes.legend(title=f"{FIELDS} fields, ± 2 standard errors")
    return drawing


def _distribution_figure() -> Figure:
    from scipy.special import ndtr

    drawing, axes = figure("Shadowing at one place over 8,000 fields", "Shadowing [dB]", "Share of fields below")
    axes.plot(SHADOWING_STD_DB * np.sort(_at_one_position()), even_shares(ENSEMBLE_FIELDS), label="channel.field")
    level = np.linspace(-14, 14, 29)
    axes.plot(level, ndtr(level / SHADOWING_STD_DB), "ko", ms=4, label="normal, 4 dB")
    axes.legend()
    return drawing


@cache
def _autocorrelation(angle: float) -> tuple[Floats, Floats]:
    """Return the autocorrelation at LAGS in a direction, and its standard error over the fields.

    As `1 - E(dg^2) / 2`, which is exact at a distance of 0: the variance of each field does not add to the error.
    """
    step = DECORRELATION_M * np.array([np.cos(angle), np.sin(angle)])
    origin = 300.0 * _uniforms(2, PAIRS, 2)
    positions = np.concatenate([origin[None], origin + LAGS[:, None, None] * step])
    # [FIELDS, 1 + lags, PAIRS]; the first entry of the second axis is the origin.
    values = np.array([field.gaussian(_waves(seed), positions, DECORRELATION_M) for seed in range(FIELDS)])
    products = 1 - 0.5 * ((values[:, 1:] - values[:, :1]) ** 2).mean(axis=2)
    return products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(FIELDS)


@cache
def _at_one_position() -> Floats:
    """Return the values [ENSEMBLE_FIELDS] of as many fields at one position."""
    position = [37.0, -120.0]
    return np.array([float(field.gaussian(_waves(seed), position, DECORRELATION_M)) for seed in range(ENSEMBLE_FIELDS)])


def _ensemble_los(positions_m: ArrayLike, probability: Floats) -> Floats:
    """Return the line of sight [ENSEMBLE_FIELDS, ...] at positions over as many fields, as 0 or 1."""
    states = [
        field.uniform(_waves(seed), positions_m, LOS_DECORRELATION_M) < probability for seed in range(ENSEMBLE_FIELDS)
    ]
    return np.array(states, dtype=np.float64)


def _waves(seed: int) -> field.Waves:
    return field.waves(_uniforms(seed, 500, 3))


def _uniforms(seed: int, *shape: int) -> Floats:
    # (0, 1] rather than [0, 1): a uniform of 0 would be a wave of infinite frequency.
    return 1 - np.random.default_rng(seed).random(shape)
