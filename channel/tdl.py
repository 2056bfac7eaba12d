"""Tapped delay lines A to E: delays and powers of the paths behind frequency-selective fading.

3GPP TR 38.901 V16.1.0, Tables 7.7.2-1 to 7.7.2-5, with delays scaled to a delay spread (clause 7.7.3) and the line of
sight of D and E to a K-factor (clause 7.7.6). `channel.waves` lets the taps fade.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Bools, Floats
from channel._checks import boolean, finite, non_negative, positive
from channel.tr38901 import check_release
from channel.units import db_to_linear

LOS_SHIFT = 0.7  # Doppler shift of the line of sight over the largest one (TR 38.901, clause 7.7.2)


LINES_DB = {"D": -0.2, "E": -0.03}  # power of the line of sight, at delay 0


def _taps() -> dict[str, tuple[Floats, Floats]]:
    """Return the delays, over the delay spread, and powers [dB] of each profile, in the order of the printed tables."""
    with Path(__file__).with_name("tdl.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    taps = {}
    for profile in dict.fromkeys(row["profile"] for row in rows):
        own = [row for row in rows if row["profile"] == profile]
        delays = np.array([float(row["delay"]) for row in own])
        taps[profile] = (delays, np.array([float(row["power_db"]) for row in own]))
    return taps


_TAPS = _taps()  # without a line of sight a tap is Rayleigh

PROFILES = tuple(_TAPS)
LOS_PROFILES = tuple(LINES_DB)


class _Spread(NamedTuple):
    """Mean of lg(delay spread / 1 s), `level + slope lg(f)` with f in GHz, of one scenario (TR 38.901, Table 7.5-6)."""

    los: tuple[float, float]  # level and slope
    nlos: tuple[float, float]
    shift: float  # f is the carrier plus this
    least_ghz: float  # lower carriers count as this one (notes 6 and 7 of the table)
    o2i: float = np.nan  # level into buildings, at every carrier


_SPREADS = {  # V16 to V18
    "umi": _Spread((-7.14, -0.24), (-6.83, -0.24), 1.0, 2.0, -6.62),
    "uma": _Spread((-6.955, -0.0963), (-6.28, -0.204), 0.0, 6.0, -6.62),
    "rma": _Spread((-7.49, 0.0), (-7.43, 0.0), 0.0, 0.0, -7.47),
    "inh": _Spread((-7.692, -0.01), (-7.173, -0.28), 1.0, 6.0),
}

_SPREADS_19 = _SPREADS | {  # V19, by Sionna 2.2.0; RMa, InH and O2I are unchanged
    "umi": _Spread((-7.28, -0.18), (-6.87, -0.22), 1.0, 2.0, -6.62),
    "uma": _Spread((-7.067, -0.0794), (-6.47, -0.134), 0.0, 6.0, -6.62),
}

SCENARIOS = tuple(_SPREADS)


class Taps(NamedTuple):
    """Taps of a channel of mean power 1."""

    delay_s: Floats  # [taps]
    scatter_power: Floats  # [taps] of the Rayleigh part
    line_power: float  # of the line of sight, in the first tap


def taps(profile: str, delay_spread_s: float, k_db: float | None = None) -> Taps:
    """Return the taps of a profile with a delay spread (TR 38.901, clauses 7.7.2, 7.7.3 and 7.7.6).

    Args:
        profile: A, B or C without a line of sight, D or E with one.
        delay_spread_s: root mean square delay spread [s]; 0 is a flat channel.
        k_db: power of the line of sight over that of all scatter [dB]; by default that of the profile.

    Returns:
        Delays, and powers that add up to 1.

    Example:
        >>> found = taps("D", 100e-9)
        >>> float(np.round(10 * np.log10(found.line_power / found.scatter_power.sum()), 2))
        8.98
    """
    if profile not in _TAPS:
        raise ValueError(f"profile = {profile} is unknown: choose A, B, C, D or E")
    delay, power_db = _TAPS[profile]
    scatter = db_to_linear(power_db)
    line = 0.0
    if profile in LINES_DB:
        line = float(db_to_linear(LINES_DB[profile]))
    if k_db is not None:
        if profile not in LINES_DB:
            raise ValueError(f"k_db = {k_db} needs a line of sight, and profile {profile} has none: choose D or E")
        # A K-factor scales the scatter, and with it the delay spread, so the delays are normalised again.
        wanted = float(db_to_linear(finite("k_db", k_db)))
        scatter = scatter * (line / scatter.sum() / wanted)
        delay = delay / rms_delay_spread(delay, np.append(line + scatter[0], scatter[1:]))
    total = line + scatter.sum()
    delay_s = delay * float(non_negative("delay_spread_s", delay_spread_s))
    return Taps(delay_s, scatter / total, line / total)


def rms_delay_spread(delay: ArrayLike, power: ArrayLike) -> float:
    """Return the root mean square delay spread, the standard deviation of the delay with powers as weights.

    Args:
        delay: of the taps, [taps], in any unit.
        power: of the taps [1], [taps].

    Returns:
        Delay spread, in the unit of `delay`.
    """
    tap_delay = np.asarray(delay, dtype=np.float64)
    weight = np.asarray(power, dtype=np.float64) / np.sum(power)
    mean = float(weight @ tap_delay)
    return float(np.sqrt(weight @ (tap_delay - mean) ** 2))


def median_spread_s(scenario: str, carrier_hz: float, los: ArrayLike, indoor: ArrayLike, release: int = 16) -> Floats:
    """Return the medians of a scenario's log-normal delay spread (TR 38.901, Table 7.5-6).

    Args:
        scenario: umi, uma, rma or inh.
        carrier_hz: carrier frequency [Hz].
        los: whether in line of sight outdoors, any shape.
        indoor: whether the terminal is in a building, whose spread does not depend on line of sight; never with inh.
        release: of the TR, 16 (V16 to V18) or 19, whose spreads of UMi and UMa outdoors are shorter.

    Returns:
        Delay spreads [s], the broadcast shape of `los` and `indoor`.

    Example:
        >>> median_spread_s("umi", 6e9, [True, False], indoor=False).round(9)
        array([4.5e-08, 9.3e-08])
        >>> median_spread_s("umi", 6e9, [True, False], indoor=False, release=19).round(9)
        array([3.7e-08, 8.8e-08])
    """
    if scenario not in _SPREADS:
        raise ValueError(f"scenario = {scenario} has no delay spread: choose umi, uma, rma or inh")
    check_release(release)
    spread = _SPREADS_19[scenario] if release == 19 else _SPREADS[scenario]
    ghz = max(float(positive("carrier_hz", carrier_hz)) / 1e9, spread.least_ghz)
    log_f = np.log10(ghz + spread.shift)
    sight: Bools = boolean("los", los)
    level = np.where(sight, spread.los[0], spread.nlos[0])
    slope = np.where(sight, spread.los[1], spread.nlos[1])
    inside: Bools = boolean("indoor", indoor)
    if np.isnan(spread.o2i) and inside.any():
        raise ValueError(f"indoor: {scenario} has no loss into buildings")
    return np.asarray(np.where(inside, 10.0**spread.o2i, 10.0 ** (level + slope * log_f)), dtype=np.float64)


def frequency_correlation(found: Taps, offset_hz: ArrayLike) -> Floats:
    """Return `|E[H(f)* H(f + offset)]|` of a channel, the Fourier transform of its power-delay profile.

    Args:
        found: the taps.
        offset_hz: differences of frequency [Hz], any shape.

    Returns:
        Correlation [1], the shape of `offset_hz`; 1 at an offset of 0.
    """
    power = found.scatter_power.copy()
    power[0] += found.line_power
    turn = np.exp(-2j * np.pi * np.asarray(offset_hz)[..., None] * found.delay_s)
    return np.asarray(np.abs(turn @ power))
