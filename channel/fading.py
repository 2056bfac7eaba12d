"""Small-scale fading: a Gauss-Markov process of the complex gain h, one value a slot, with E|h|^2 = 1."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import j0

from channel._checks import Floats, non_negative, positive, require, within
from channel.units import SPEED_OF_LIGHT_MPS


def doppler_hz(speed_mps: ArrayLike, carrier_hz: ArrayLike) -> Floats:
    """Largest Doppler shift f_d = v f_c / c (paper, Appendix A-A3).

    Args:
        speed_mps: speed of the terminal [m/s].
        carrier_hz: carrier frequency [Hz].

    Returns:
        Frequency [Hz], the broadcast shape of the arguments.

    Raises:
        ValueError: a negative speed, a carrier that is not positive, NaN.
    """
    return non_negative("speed_mps", speed_mps) * positive("carrier_hz", carrier_hz) / SPEED_OF_LIGHT_MPS


def doppler_correlation(speed_mps: ArrayLike, carrier_hz: ArrayLike, slot_s: ArrayLike) -> Floats:
    """Correlation of h between neighbouring slots, rho = J0(2 pi f_d tau) (paper, after eq. 23 and 39).

    Args:
        speed_mps: speed of the terminal [m/s].
        carrier_hz: carrier frequency [Hz].
        slot_s: length of a slot [s].

    Returns:
        Correlation in (-0.403, 1], the broadcast shape of the arguments; 1 for a terminal at rest.

    Raises:
        ValueError: a negative speed, a carrier or slot that is not positive, NaN.
    """
    return np.asarray(j0(2.0 * np.pi * doppler_hz(speed_mps, carrier_hz) * positive("slot_s", slot_s)))


def gauss_markov(innovations: ArrayLike, correlation: ArrayLike, start: ArrayLike) -> NDArray[np.complex128]:
    """Walk h[n] = rho h[n-1] + sqrt(1 - rho^2) e[n] (paper, eq. 23 and 39).

    Args:
        innovations: e, independent draws of CN(0, 1), complex [..., slots].
        correlation: rho in [-1, 1], broadcastable to [...].
        start: h in the slot before the first, complex, broadcastable to [...]. Drawn from CN(0, 1), the process is
            stationary.

    Returns:
        h, complex [..., slots].

    Raises:
        ValueError: a correlation is outside [-1, 1] or NaN.
    """
    # Imported here: it takes longer than all else in this package together. The filter's plain loop gives each row the
    # same bits wherever the row stands and however its slots are cut into calls.
    from scipy.signal import lfilter

    noise = np.asarray(innovations, dtype=np.complex128)
    rho = np.broadcast_to(within("correlation", correlation, -1.0, 1.0), noise.shape[:-1])
    before = (rho * np.asarray(start))[..., None]
    gain = np.empty_like(noise)
    for value in np.unique(rho):  # mostly one: the devices of a scenario share their speed
        rows = rho == value
        gain[rows] = lfilter([float(_innovation_share(value))], [1.0, -float(value)], noise[rows], zi=before[rows])[0]
    return gain


def advance(gain: ArrayLike, correlation: ArrayLike, slots: ArrayLike, innovation: ArrayLike) -> NDArray[np.complex128]:
    """Jump over `slots` slots of the process of `gauss_markov` at once, exactly in distribution.

    k steps of an AR(1) process of correlation rho are one step of correlation rho^k. This bridges the time between a
    download and the upload.

    Args:
        gain: h now, complex [...].
        correlation: rho in [-1, 1], between neighbouring slots.
        slots: number of slots to jump over, whole and not negative; 0 leaves h as it is.
        innovation: one draw of CN(0, 1) for each element, complex [...].

    Returns:
        h after `slots` slots, the broadcast shape of the arguments.

    Raises:
        ValueError: a correlation is outside [-1, 1], a number of slots is negative or not whole, NaN.
    """
    count = non_negative("slots", slots)
    require(count == np.floor(count), count, "slots", "a whole number")
    rho = within("correlation", correlation, -1.0, 1.0) ** count
    return np.asarray(rho * np.asarray(gain) + _innovation_share(rho) * np.asarray(innovation), dtype=np.complex128)


def _innovation_share(rho: Floats) -> Floats:
    return np.asarray(np.sqrt((1.0 - rho) * (1.0 + rho)))  # sqrt(1 - rho^2) without cancellation near 1
