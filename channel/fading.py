"""Small-scale fading: the complex gain `h`, one value a slot, with `E|h|^2 = 1`.

`gauss_markov` (dynamic-devices paper, eq. 23 and 39) is a process of CN(0, 1), which is Rayleigh fading; `ricean` (3GPP
TR 38.901, clause 7.5) adds a line of sight. Draws are arguments.
"""

import numpy as np
from numpy.typing import ArrayLike

from channel import _compiled, _special
from channel._arrays import Complex, Floats
from channel._checks import non_negative, positive, require, ricean_k, within
from channel.units import SPEED_OF_LIGHT_MPS

SLOTS_FOR_A_FILTER = 16  # without numba, this many vectorised slots take as long as one call of a filter


def doppler_hz(speed_mps: ArrayLike, carrier_hz: ArrayLike) -> Floats:
    """Return the largest Doppler shift `f_d = v f_c / c` [Hz] at a speed v [m/s] and a carrier f_c [Hz] (paper, A-A3).

    Example:
        >>> float(doppler_hz(10.0, 3.5e9).round(2))
        116.67
    """
    return non_negative("speed_mps", speed_mps) * positive("carrier_hz", carrier_hz) / SPEED_OF_LIGHT_MPS


def doppler_correlation(speed_mps: ArrayLike, carrier_hz: ArrayLike, slot_s: ArrayLike) -> Floats:
    """Return the correlation of h between neighbouring slots, `rho = J0(2 pi f_d tau)` (paper, after eq. 23 and 39).

    Args:
        speed_mps: speed of the terminal [m/s].
        carrier_hz: carrier frequency [Hz].
        slot_s: length of a slot [s].

    Returns:
        Correlation in (-0.403, 1], the broadcast shape of the arguments; 1 for a terminal at rest.

    Example:
        A device at 10 m/s, 3.5 GHz and slots of 0.5 ms.

        >>> float(doppler_correlation(10.0, 3.5e9, 0.5e-3).round(4))
        0.9667
    """
    return np.asarray(_special.j0(2.0 * np.pi * doppler_hz(speed_mps, carrier_hz) * positive("slot_s", slot_s)))


def coherence_s(speed_mps: ArrayLike, carrier_hz: ArrayLike) -> Floats:
    """Return the coherence time `(9 / (16 pi))^(1/2) / f_d = 0.423 / f_d` [s]; infinite for a terminal at rest.

    Rappaport, Wireless Communications, 2nd ed., eq. 5.40.c; the arguments are those of `doppler_hz`.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(9.0 / (16.0 * np.pi)) / doppler_hz(speed_mps, carrier_hz))


def gauss_markov(innovations: ArrayLike, correlation: ArrayLike, start: ArrayLike) -> Complex:
    """Return the process `h[n] = rho h[n-1] + sqrt(1 - rho^2) e[n]` (paper, eq. 23 and 39).

    Args:
        innovations: e, independent draws of CN(0, 1), complex [..., slots].
        correlation: rho in [-1, 1], broadcastable to [...].
        start: h in the slot before the first, complex, broadcastable to [...]. Drawn from CN(0, 1), the process is
            stationary.

    Returns:
        h, complex [..., slots].
    """
    noise = np.asarray(innovations, dtype=np.complex128)
    rho = np.broadcast_to(within("correlation", correlation, -1.0, 1.0), noise.shape[:-1])
    before = np.broadcast_to(np.asarray(start, dtype=np.complex128), noise.shape[:-1])
    kernel = _compiled.filtered()
    if kernel is not None:
        flat = (rho.size, noise.shape[-1])
        gain = np.empty_like(noise, order="C")
        share = innovation_share(rho)
        noise = np.ascontiguousarray(noise)
        kernel(noise.reshape(flat), rho.ravel(), share.ravel(), before.ravel(), gain.reshape(flat))
        return gain
    speeds = np.unique(rho)
    # A filter takes one correlation, and mostly all devices of a scenario have the same speed.
    if speeds.size * SLOTS_FOR_A_FILTER > noise.shape[-1] + SLOTS_FOR_A_FILTER:
        return _slot_by_slot(noise, rho, before)
    gain = np.empty_like(noise)
    for value in speeds:
        rows = rho == value
        gain[rows] = _filtered(noise[rows], float(value), before[rows])
    return gain


def _filtered(noise: Complex, rho: float, before: Complex) -> Complex:
    """Return `gauss_markov` of rows with one correlation."""
    # Imported late, as it takes longer than the rest of this package. The filter's plain loop gives each row the same
    # bits, whatever its position and however calls cut its slots.
    from scipy.signal import lfilter

    filter_state = (rho * before)[..., None]
    feed = [float(innovation_share(np.asarray(rho)))]
    feedback = [1.0, -rho]
    gain = np.empty_like(noise)
    gain[...], _ = lfilter(feed, feedback, noise, zi=filter_state)
    return gain


def _slot_by_slot(noise: Complex, rho: Floats, before: Complex) -> Complex:
    """Return `gauss_markov` of rows with different correlations: the sums of a filter, vectorised over the rows."""
    gain = noise * innovation_share(rho)[..., None]
    last = before
    for slot in range(noise.shape[-1]):
        gain[..., slot] += rho * last
        last = gain[..., slot]
    return gain


def advance(gain: ArrayLike, correlation: ArrayLike, slots: ArrayLike, innovation: ArrayLike) -> Complex:
    """Return the gain of `gauss_markov` after `slots` more slots, exactly in distribution.

    k steps of an AR(1) process of correlation `rho` are one step of correlation `rho^k`. It bridges the time between a
    download and the upload.

    Args:
        gain: h now, complex [...].
        correlation: rho in [-1, 1], between neighbouring slots.
        slots: number of slots to jump over, whole and not negative; 0 leaves h unchanged.
        innovation: one draw of CN(0, 1) for each element, complex [...].

    Returns:
        h after `slots` slots, the broadcast shape of the arguments.
    """
    count = _whole("slots", slots)
    rho = within("correlation", correlation, -1.0, 1.0) ** count
    return np.asarray(rho * np.asarray(gain) + innovation_share(rho) * np.asarray(innovation), dtype=np.complex128)


def ricean(scatter: ArrayLike, k_factor: ArrayLike) -> Complex:
    """Return the Ricean gain `h = (K / (K + 1))^(1/2) + (1 / (K + 1))^(1/2) g`, a line of sight plus scatter.

    TR 38.901, clause 7.5, eq. 7.5-30, for one tap.

    Args:
        scatter: g of mean power 1, such as `gauss_markov`, complex [...].
        k_factor: K, power of the line of sight over that of the scatter [1], from 0 (Rayleigh: h = g) to infinity
            (h = 1), broadcastable against `scatter`.

    Returns:
        h with E|h|^2 = 1, the broadcast shape of the arguments.
    """
    scattered_power = 1.0 / (ricean_k(k_factor) + 1.0)
    line = np.sqrt(1.0 - scattered_power)  # not (K / (K + 1))^(1/2), which infinity would turn into NaN
    return np.asarray(line + np.sqrt(scattered_power) * np.asarray(scatter), dtype=np.complex128)


def _whole(quantity: str, values: ArrayLike) -> Floats:
    """Return numbers of slots as floats, all whole, finite and not below 0."""
    count = non_negative(quantity, values)
    require(count == np.floor(count), count, quantity, "a whole number")
    return count


def innovation_share(rho: Floats) -> Floats:
    """Return the amplitude of a slot's innovation, `sqrt(1 - rho^2)`, without cancellation near 1."""
    return np.asarray(np.sqrt((1.0 - rho) * (1.0 + rho)))
