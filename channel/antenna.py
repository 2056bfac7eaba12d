"""Antenna gains of a base station's sector: the element of 3GPP TR 38.901 and a vertical column of elements.

Angles are those of TR 38.901, clause 7.1: zenith 0 is straight up, 90 the horizon; azimuth 0 is the sector's boresight.
"""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import finite, non_negative, positive, require, within
from channel.units import linear_to_db

SILENT = 1e-30  # replaces 0 in the pattern's nulls, so that decibels stay finite


def zenith_deg(distance_2d_m: ArrayLike, bs_height_m: ArrayLike, ut_height_m: ArrayLike) -> Floats:
    """Return the zenith angles at which a base station sees terminals (TR 38.901, Figure 7.1.1).

    Args:
        distance_2d_m: ground distance [m].
        bs_height_m: antenna height of the base station [m].
        ut_height_m: antenna height of the terminal [m].

    Returns:
        Angles from 0 (straight up) over 90 (horizon) to 180 [degrees], the broadcast shape.
    """
    rise_m = finite("ut_height_m", ut_height_m) - finite("bs_height_m", bs_height_m)
    return np.asarray(np.degrees(np.arctan2(non_negative("distance_2d_m", distance_2d_m), rise_m)))


def turned_deg(azimuth: ArrayLike) -> Floats:
    """Return angles [degrees] wrapped to -180 to below 180."""
    return np.asarray((finite("azimuth", azimuth) + 180.0) % 360.0 - 180.0)


def element_gain_dbi(
    zenith: ArrayLike,
    azimuth: ArrayLike,
    gain_dbi: float = 8.0,
    beamwidth_deg: float = 65.0,
    front_to_back_db: float = 30.0,
) -> Floats:
    """Return the gain of one element (TR 38.901, Table 7.3-1).

    `A = G - min(A_V + A_H, A_max)` with `A_V = min(12 ((theta - 90) / w)^2, A_max)` and
    `A_H = min(12 (phi / w)^2, A_max)`.

    Args:
        zenith: theta [degrees], 0 to 180.
        azimuth: phi from boresight [degrees], any turn.
        gain_dbi: G, toward boresight [dBi].
        beamwidth_deg: w, between the directions of half power [degrees].
        front_to_back_db: A_max, the attenuation of the back and of each side lobe [dB].

    Returns:
        Gain [dBi], the broadcast shape of the angles.

    Example:
        Half the power at half the beamwidth from boresight, and the back.

        >>> element_gain_dbi(90.0, [0.0, 32.5, 180.0])
        array([  8.,   5., -22.])
    """
    most_db = non_negative("front_to_back_db", front_to_back_db)
    width_deg = positive("beamwidth_deg", beamwidth_deg)
    up_db = np.minimum(12.0 * ((within("zenith", zenith, 0.0, 180.0) - 90.0) / width_deg) ** 2, most_db)
    across_db = np.minimum(12.0 * (turned_deg(azimuth) / width_deg) ** 2, most_db)
    return np.asarray(finite("gain_dbi", gain_dbi) - np.minimum(up_db + across_db, most_db))


def column_gain_db(zenith: ArrayLike, elements: int, spacing_wavelengths: float, tilt_deg: float) -> Floats:
    """Return the gain that a vertical column of elements adds to that of one element, tilted electrically.

    TR 38.901, clause 7.3, with the weights of TR 36.897, clause 6.1:
    `w_n = exp(-j 2 pi (n - 1) d cos(theta_tilt)) / sqrt(N)`. The gain `|sum_n w_n exp(j 2 pi (n - 1) d cos(theta))|^2`
    is `sin^2(N x / 2) / (N sin^2(x / 2))` with `x = 2 pi d (cos(theta) - cos(theta_tilt))`.

    Args:
        zenith: theta [degrees], 0 to 180.
        elements: N, from 1.
        spacing_wavelengths: d, between neighbouring elements [wavelengths].
        tilt_deg: theta_tilt, the zenith angle of the main lobe [degrees], 0 to 180; above 90 is down.

    Returns:
        Gain [dB], the shape of `zenith`; at most `10 log10(N)`.

    Example:
        >>> column_gain_db([102.0, 90.0], elements=10, spacing_wavelengths=0.5, tilt_deg=102.0).round(2)
        array([ 10.  , -18.26])
    """
    count = np.asarray(elements)
    require(count >= 1, count, "elements", "from 1")
    spacing = positive("spacing_wavelengths", spacing_wavelengths)
    theta = np.radians(within("zenith", zenith, 0.0, 180.0))
    tilt = np.radians(within("tilt_deg", tilt_deg, 0.0, 180.0))
    half_phase = np.pi * spacing * (np.cos(theta) - np.cos(tilt))
    below = np.sin(half_phase)
    # Where the phases of all elements agree, both sines vanish, and their ratio is N.
    aligned = np.abs(below) < 1e-9
    ratio = np.divide(np.sin(count * half_phase), below, out=np.full(half_phase.shape, float(count)), where=~aligned)
    return linear_to_db(np.maximum(ratio**2 / count, SILENT))
