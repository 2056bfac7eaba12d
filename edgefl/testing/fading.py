"""The check of a fading model."""

from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.radio.fading import Fading, ScatteredPaths
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.report import Report

SPEEDS_MPS = np.array([0.0, 0.5, 1.5, 10.0, 40.0, 140.0])
COUNT = len(SPEEDS_MPS)
LOS = np.arange(COUNT) % 2 == 0
CARRIER_HZ = 3.5e9
SLOT_S = 5e-4
SPREAD_S = 1e-7
POWER_BOUND = 0.01  # by which the mean power of waves may differ from 1


def check_fading(fading: type[Fading] | Fading, **keys: Any) -> Report:
    """Check that a fading model gives possible factors, correlations and waves, and return the report."""
    calls = Calls(fading, keys, Fading, "a fading model")
    with calls.noting("a channel"):
        k_statistics = calls.of("k_statistics_db", 9.0, 5.0)
        if k_statistics is not None and (len(k_statistics) != 2 or k_statistics[1] < 0):
            text = f"returned {k_statistics}, expected the mean and a deviation >= 0 [dB], or None"
            calls.wrong("k_statistics_db", text)
        k_factor = calls.of("k_factor", LOS, np.linspace(-5.0, 15.0, COUNT))
        # An infinite K is a channel that does not fade.
        if not is_array(np.nan_to_num(k_factor, nan=-1.0), (COUNT,)) or not (k_factor >= 0).all():
            calls.wrong("k_factor", f"returned {kind(k_factor)}, expected factors [{COUNT}] >= 0")
        correlation = calls.of("slot_correlation", SPEEDS_MPS, CARRIER_HZ, SLOT_S)
        if not is_array(correlation, (COUNT,)) or (np.abs(correlation) > 1).any():
            calls.wrong("slot_correlation", f"returned {kind(correlation)}, expected [{COUNT}] from -1 to 1")
        hold = calls.of("hold_slots", SPEEDS_MPS, CARRIER_HZ, SLOT_S)
        if hold is not None and not (is_array(hold, (COUNT,)) and hold.dtype.kind in "iu" and (hold >= 1).all()):
            text = f"returned {kind(hold)}, expected whole numbers of slots [{COUNT}] >= 1, or None"
            calls.wrong("hold_slots", text)
        _check_waves(calls, k_factor)
    return calls.finished()


def _check_waves(calls: Calls[Fading], k_factor: Floats) -> None:
    """Check the waves of a model that has some: shapes, delays, and mean power 1."""
    paths = ScatteredPaths(SPEEDS_MPS, LOS, k_factor, CARRIER_HZ, np.full(COUNT, SPREAD_S))

    def draw(numbers: int) -> Floats:
        return np.random.default_rng(1).random((COUNT, numbers))

    waves = calls.of("waves", paths, draw)
    if waves is None:
        return
    shape = (COUNT, *np.shape(waves.amplitude)[1:])
    is_one = len(shape) == 3 and np.shape(waves.shift_hz) == shape and np.shape(waves.delay_s) == shape[:2]
    if not is_one or not np.isfinite(waves.amplitude).all() or not is_array(waves.shift_hz, shape):
        calls.reject("waves", "returned parts that do not fit together, expected arrays [n, taps, waves]")
    if (waves.delay_s < 0).any():
        calls.wrong("waves", f"returned a delay of {waves.delay_s.min():g} s, expected delays >= 0")
    power = (np.abs(waves.amplitude) ** 2).sum(axis=(1, 2))
    if (np.abs(power - 1.0) > POWER_BOUND).any():
        worst = power[np.argmax(np.abs(power - 1.0))]
        calls.wrong("waves", f"returned waves of a mean power of {worst:.3g}, expected 1")
