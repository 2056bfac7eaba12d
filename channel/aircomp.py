"""Over-the-air computation: a base station receives the sum of analog signals that devices send at the same time.

Each device inverts its channel where `|h|^2` reaches a threshold and is silent elsewhere (truncated channel inversion;
Zhu, Wang, Huang, "Broadband analog aggregation for low-latency federated edge learning", IEEE TWC 19(1), 2020). All
signals thus arrive with amplitudes in the ratio of their weights, and add up to a weighted sum with noise.

Signals are coefficients of mean 0 and variance 1. A complex symbol carries one of them, or two: one in phase and one in
quadrature.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from channel import _special
from channel._arrays import Floats
from channel._checks import non_negative, positive, require, ricean_k, within

_TAIL_STEPS = 12.0  # standard deviations of a Poisson distribution beyond which its terms are negligible
_TAIL_TERMS = 40  # further terms, for small means


def sending_probability(threshold: ArrayLike, k_factor: ArrayLike = 0.0) -> Floats:
    """Return the probability that a gain reaches the threshold, `P(|h|^2 >= g)`.

    For Rayleigh fading `exp(-g)` (Zhu et al. 2020: one less the truncation ratio); for Ricean fading Marcum's Q.

    Args:
        threshold: g, of `|h|^2` with mean 1 [1].
        k_factor: K, power of the line of sight over that of the scatter [1], from 0 to infinity.

    Returns:
        Probability, the broadcast shape of the arguments.

    Example:
        >>> sending_probability(0.2, [0.0, 10.0, np.inf]).round(4)
        array([0.8187, 0.9944, 1.    ])
    """
    return _over_gains(_gamma_tail, threshold, k_factor)


def mean_inverse_gain(threshold: ArrayLike, k_factor: ArrayLike = 0.0) -> Floats:
    """Return the mean power that inversion takes, `E[1 / |h|^2 ; |h|^2 >= g]`: silence counts as 0.

    For Rayleigh fading the exponential integral `E1(g)`, the integral of `exp(-x) / x` from g (Zhu et al. 2020). The
    mean [1] has the broadcast shape of the arguments, which are those of `sending_probability`; it is infinite for a
    threshold of 0, unless K is infinite.

    Example:
        >>> mean_inverse_gain(0.2, [0.0, 10.0, np.inf]).round(4)
        array([1.2227, 1.2005, 1.    ])
    """
    least = non_negative("threshold", threshold)
    scatters = np.isfinite(ricean_k(k_factor))
    found = _over_gains(_gamma_inverse, np.where(least > 0, least, 1.0), k_factor)
    # Rare as the deepest fades are, inverting them takes infinite power.
    return np.where((least == 0) & scatters, np.inf, found)


def aligned_power_w(
    tx_power_w: ArrayLike, path_gain: ArrayLike, weight: ArrayLike, mean_inverse: ArrayLike
) -> np.float64:
    """Return the power with which a signal of weight 1 arrives, the greatest that all devices can afford on average.

    To arrive with the power `rho w^2`, a device of weight w sends `rho w^2 E / psi` on average over its fading, with E
    of `mean_inverse_gain`. So `rho = min P psi / (w^2 E)` over the devices: the weakest one sends at full power. With
    equal weights and path gains this is `rho_0 = P_0 / (r^alpha E1(g))` of Zhu et al. 2020.

    Args:
        tx_power_w: P, the mean power that each device [n] can send [W].
        path_gain: psi, received over sent power of each [n], without fading [1].
        weight: w, the weight of each in the sum [n].
        mean_inverse: E, of each [n] [1].

    Returns:
        rho [W].
    """
    squared_weight = positive("weight", weight) ** 2
    power_w = positive("tx_power_w", tx_power_w)
    gain = positive("path_gain", path_gain)
    inverse = np.asarray(mean_inverse, dtype=np.float64)
    require(inverse > 0, inverse, "mean_inverse", "above 0")
    return np.float64(np.min(power_w * gain / (squared_weight * inverse)))


def sent_power_w(aligned_w: ArrayLike, path_gain: ArrayLike, weight: ArrayLike, inverse_gain: ArrayLike) -> Floats:
    """Return the power that a device sends to arrive aligned, `rho w^2 / (psi |h|^2)`.

    Args:
        aligned_w: rho, of `aligned_power_w` [W].
        path_gain: psi, received over sent power without fading [1].
        weight: w, its weight in the sum.
        inverse_gain: `1 / |h|^2`, 0 if the device is silent; or its mean over the fading (`mean_inverse_gain`) [1].

    Returns:
        Power [W], the broadcast shape of the arguments.
    """
    received_w = non_negative("aligned_w", aligned_w) * non_negative("weight", weight) ** 2
    return np.asarray(received_w * non_negative("inverse_gain", inverse_gain) / positive("path_gain", path_gain))


def mean_squared_error(
    noise_w: ArrayLike, aligned_w: ArrayLike, total_weight: ArrayLike = 1.0, coefficients_per_symbol: ArrayLike = 2
) -> Floats:
    """Return the mean squared error of each coefficient of a weighted mean that was received as a sum.

    The base station receives `y = sqrt(rho) sum_k w_k s_k + z` with z of CN(0, sigma^2), and divides by
    `sqrt(rho) sum_k w_k`. With one coefficient in each symbol it takes the real part, which has half the noise:
    `sigma^2 / (2 rho (sum_k w_k)^2)`. Two coefficients share the symbol's power, which doubles the error.

    Args:
        noise_w: sigma^2, power of the noise on the band of the symbols [W].
        aligned_w: rho, received power of a signal of weight 1 [W].
        total_weight: the sum of the weights of all senders.
        coefficients_per_symbol: 1 or 2.

    Returns:
        Mean squared error over the variance of the coefficients [1], the broadcast shape of the arguments.

    Example:
        Ten devices of weight 1 that each arrive as strong as the noise.

        >>> float(mean_squared_error(1e-12, 1e-12, total_weight=10))
        0.01
    """
    count = within("coefficients_per_symbol", coefficients_per_symbol, 1, 2)
    noise_power = non_negative("noise_w", noise_w)
    signal_w = positive("aligned_w", aligned_w) * positive("total_weight", total_weight) ** 2
    return np.asarray(count * noise_power / (2.0 * signal_w))


def truncated_mean_squared_error(
    single_error: float, devices: int, probability: float, correlation: float = 0.0
) -> float:
    """Return the mean squared error of a mean in which each coefficient misses devices independently of the others.

    Devices have equal weights. M of n send a coefficient, M is binomial, and the base station divides by M. The mean of
    M of n numbers of variance 1 differs from the mean of all by `(1 - r) (1/M - 1/n)`, and the noise adds
    `single_error / M^2`. Where no device sends, the coefficient counts as 0; the error is then the variance of the
    mean, `(1 + (n - 1) r) / n`.

    Args:
        single_error: `mean_squared_error` of a sum with one sender, of weight 1.
        devices: n.
        probability: that a device sends a coefficient.
        correlation: r, between the coefficients of different devices.

    Returns:
        Mean squared error over the variance of a device's coefficients [1], against the mean of all devices.
    """
    error = float(non_negative("single_error", single_error))
    sends = float(within("probability", probability, 0.0, 1.0))
    alike = float(within("correlation", correlation, -1.0, 1.0))
    senders = np.arange(1, devices + 1)
    chance = _special.binom(devices, senders) * sends**senders * (1.0 - sends) ** (devices - senders)
    missed = (1.0 - alike) * (1.0 / senders - 1.0 / devices) + error / senders**2
    unsent = (1.0 - sends) ** devices * (1.0 + (devices - 1) * alike) / devices
    return float(chance @ missed + unsent)


def symbols(coefficients: ArrayLike, coefficients_per_symbol: ArrayLike = 2) -> Floats:
    """Return the number of complex symbols that carry some coefficients; all devices send them at the same time.

    Args:
        coefficients: d, the size of the vector.
        coefficients_per_symbol: 1 or 2.

    Returns:
        Whole numbers, the broadcast shape of the arguments.
    """
    count = within("coefficients_per_symbol", coefficients_per_symbol, 1, 2)
    return np.ceil(non_negative("coefficients", coefficients) / count)


def _over_gains(
    of_gamma: Callable[[Floats, float, Floats], Floats], threshold: ArrayLike, k_factor: ArrayLike
) -> Floats:
    """Return the mean of a function over the distribution of `|h|^2`, given its value for Gamma distributions.

    Over Ricean fading `|h|^2` is a Gamma variable of shape j + 1 and scale 1 / (1 + K), with a Poisson j of mean K.
    """
    least, k = np.broadcast_arrays(non_negative("threshold", threshold), ricean_k(k_factor))
    found = np.where(least <= 1.0, 1.0, 0.0)  # an infinite K: |h|^2 is 1
    for value in np.unique(k[np.isfinite(k)]):
        rows = k == value
        j = _poisson_terms(float(value))
        chance = np.exp(_special.xlogy(j, value) - value - _special.gammaln(j + 1.0))
        found[rows] = of_gamma(j, 1.0 + value, least[rows][:, None]) @ chance
    return np.asarray(found)


def _poisson_terms(mean: float) -> Floats:
    """Return the numbers whose probabilities matter under a Poisson distribution."""
    reach = _TAIL_STEPS * np.sqrt(mean) + _TAIL_TERMS
    return np.arange(max(0.0, np.floor(mean - reach)), mean + reach)


def _gamma_tail(j: Floats, rate: float, least: Floats) -> Floats:
    """Return P(x >= least) for Gamma variables x of shapes j + 1."""
    return np.asarray(_special.gammaincc(j + 1.0, rate * least))


def _gamma_inverse(j: Floats, rate: float, least: Floats) -> Floats:
    """Return E[1 / x ; x >= least] for Gamma variables x of shapes j + 1."""
    later = np.maximum(j, 1.0)
    return np.where(j > 0, rate / later * _special.gammaincc(later, rate * least), rate * _special.exp1(rate * least))
