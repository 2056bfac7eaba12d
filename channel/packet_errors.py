"""Outage: packets lost because the signal is too weak, over fading that holds for a packet.

A packet is lost if its signal-to-noise ratio lies below a threshold m, over Rayleigh fading with the probability
`1 - exp(-m / s)` at the mean SNR s (Chen et al., IEEE Transactions on Wireless Communications 20(1), 2021, section II,
after Xi et al., IEEE Communications Letters 15(10), 2011).
"""

import numpy as np
from numpy.typing import ArrayLike

from channel import _special
from channel._arrays import Floats
from channel._checks import non_negative, ricean_k

STEADY_K = 1e6  # least Ricean K whose SNR counts as constant: it varies by 0.14 %


def outage_probability(threshold: ArrayLike, mean_snr: ArrayLike, k_factor: ArrayLike = 0.0) -> Floats:
    """Return the probability that an SNR lies below a threshold, `P(s |g|^2 < m)`, over Rayleigh or Ricean fading.

    `2 (K + 1) |g|^2` has a noncentral chi-square distribution with 2 degrees of freedom and noncentrality `2 K`, which
    for K = 0 makes it `1 - exp(-m / s)`.

    Args:
        threshold: m [1].
        mean_snr: mean signal-to-noise ratio s, `P h / (I + N)` [1]; 0 is an outage unless m is 0.
        k_factor: Ricean K [1]; 0 is Rayleigh fading, infinity none.

    Returns:
        Probability [1], the broadcast shape of the arguments.

    Example:
        At a mean SNR of ten times the threshold about every tenth packet is lost.

        >>> float(outage_probability(1.0, 10.0).round(4))
        0.0952
    """
    m = non_negative("threshold", threshold)
    s = non_negative("mean_snr", mean_snr)
    k = ricean_k(k_factor)
    m, s, k = np.broadcast_arrays(m, s, k)
    ratio = np.divide(m, s, out=np.where(m > 0, np.inf, 0.0), where=s > 0)
    probability = -np.expm1(-ratio)
    # `np.where` evaluates both sides, so each must get valid numbers.
    usual = np.where((k > 0) & (k < STEADY_K) & np.isfinite(ratio), k, 0.0)
    ricean = _special.chndtr(2.0 * (usual + 1.0) * np.where(np.isfinite(ratio), ratio, 1.0), 2.0, 2.0 * usual)
    probability = np.where(usual > 0, ricean, probability)
    steady = np.where(ratio > 1.0, 1.0, 0.0)
    return np.asarray(np.where(k >= STEADY_K, steady, probability))
