"""The check of a fading model."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.radio.fading import Fading, ScatteredPaths
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.keys import check_keys
from edgefl.testing.report import Report, made, noting

SPEEDS_MPS = np.array([0.0, 0.5, 1.5, 10.0, 40.0, 140.0])
CARRIER_HZ = 3.5e9
SLOT_S = 5e-4
SPREAD_S = 1e-7
POWER_BOUND = 0.01  # by which the mean power of waves may differ from 1


def check_fading(fading: type[Fading] | Fading, **keys: Any) -> Report:
    """Check that a fading model gives factors and correlations that can be, and return the report.

    Args:
        fading: the class, or an instance.
        keys: the keys with which the class is checked.

    Raises:
        ConformanceError: something is wrong.
    """
    subject: Fading = made(fading, keys, Fading, "a fading model")
    report = Report.of(subject)
    calls = Calls(report)
    count = len(SPEEDS_MPS)
    los = np.arange(count) % 2 == 0
    with noting(calls.returns, "a channel"):
        k_statistics = calls.of(subject, "k_statistics_db", 9.0, 5.0)
        if k_statistics is not None and (len(k_statistics) != 2 or k_statistics[1] < 0):
            text = f"returned {k_statistics}, expected the mean and a deviation >= 0 [dB], or None"
            calls.wrong(subject, "k_statistics_db", text)
        k_factor = calls.of(subject, "k_factor", los, np.linspace(-5.0, 15.0, count))
        # An infinite K is a channel that does not fade.
        if not is_array(np.nan_to_num(k_factor, nan=-1.0), (count,)) or not (k_factor >= 0).all():
            calls.wrong(subject, "k_factor", f"returned {kind(k_factor)}, expected factors [{count}] >= 0")
        correlation = calls.of(subject, "slot_correlation", SPEEDS_MPS, CARRIER_HZ, SLOT_S)
        if not is_array(correlation, (count,)) or (np.abs(correlation) > 1).any():
            calls.wrong(subject, "slot_correlation", f"returned {kind(correlation)}, expected [{count}] from -1 to 1")
        hold = calls.of(subject, "hold_slots", SPEEDS_MPS, CARRIER_HZ, SLOT_S)
        if hold is not None and not _is_whole(hold, count):
            text = f"returned {kind(hold)}, expected whole numbers of slots [{count}] >= 1, or None"
            calls.wrong(subject, "hold_slots", text)
        _check_waves(calls, subject, k_factor)
    check_keys(report, subject)
    return report.raise_faults()


def _is_whole(hold: Ints, count: int) -> bool:
    """Return whether these are whole numbers of slots [count] from 1."""
    return is_array(hold, (count,)) and np.issubdtype(hold.dtype, np.integer) and bool((hold >= 1).all())


def _check_waves(calls: Calls, subject: Fading, k_factor: Floats) -> None:
    """Check the waves of a model that has some: shapes, delays, mean power 1, and the same again for the same draws."""
    count = len(SPEEDS_MPS)
    los = np.arange(count) % 2 == 0
    paths = ScatteredPaths(SPEEDS_MPS, los, k_factor, CARRIER_HZ, np.full(count, SPREAD_S))

    def draw(numbers: int) -> Floats:
        return np.random.default_rng(1).random((count, numbers))

    waves = calls.of(subject, "waves", paths, draw)
    if waves is None:
        return
    shape = (count, *np.shape(waves.amplitude)[1:])
    is_one = len(shape) == 3 and np.shape(waves.shift_hz) == shape and np.shape(waves.delay_s) == shape[:2]
    if not is_one or not np.isfinite(waves.amplitude).all() or not is_array(waves.shift_hz, shape):
        calls.wrong(subject, "waves", "returned parts that do not fit together, expected arrays [n, taps, waves]")
        return
    if (waves.delay_s < 0).any():
        calls.wrong(subject, "waves", f"returned a delay of {waves.delay_s.min():g} s, expected delays >= 0")
    power = (np.abs(waves.amplitude) ** 2).sum(axis=(1, 2))
    if (np.abs(power - 1.0) > POWER_BOUND).any():
        worst = power[np.argmax(np.abs(power - 1.0))]
        calls.wrong(subject, "waves", f"returned waves of a mean power of {worst:.3g}, expected 1")
