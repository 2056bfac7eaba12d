"""The check of a rate model."""

from typing import Any

import numpy as np

from edgefl.radio.rates import Rate
from edgefl.testing.calls import Calls
from edgefl.testing.report import Check, Report

SNR = np.concatenate([[0.0], np.geomspace(1e-4, 1e6, 400)])
MEANS = np.geomspace(1e-2, 1e4, 13)
NODES = 200_000  # of the mean over fading
BOUND = 2e-3  # of that mean, in parts: a staircase is integrated in steps


def check_rate(rate: type[Rate] | Rate, **keys: Any) -> Report:
    """Check that a rate model is a spectral efficiency, and return the report."""
    calls = Calls(rate, keys, Rate, "a rate model")
    bound = calls.begin("bound", "the rate never falls as the SNR grows, and never exceeds Shannon's log2(1 + SNR)")
    mean = calls.begin("mean over fading", f"is the integral over Rayleigh fading (to {BOUND:g})")
    with calls.noting("a rate"):
        of_efficiency = calls.on(calls.subject.efficiency())
        hash(of_efficiency.subject)  # tables are kept by it
        bps_hz = of_efficiency.array("bps_hz", SNR, shape=SNR.shape, of="rates")
        if (bps_hz < 0).any():
            of_efficiency.reject("bps_hz", "returned rates below 0")
        if (np.diff(bps_hz) < 0).any():
            of_efficiency.note(bound, "bps_hz", "falls as the SNR grows")
        over = bps_hz - np.log2(1 + SNR) * (1 + 1e-12)
        if over.max() > 0:
            place = int(over.argmax())
            text = f"returned {bps_hz[place]:.4g} bit/s/Hz at an SNR of {SNR[place]:.4g}"
            of_efficiency.note(bound, "bps_hz", f"{text}, more than Shannon's {np.log2(1 + SNR[place]):.4g}")
        _check_mean(of_efficiency, mean)
    return calls.finished()


def _check_mean(calls: Calls[Any], check: Check) -> None:
    """Compare with the mean over an exponential gain, by its quantiles."""
    found = calls.array("rayleigh_bps_hz", MEANS, shape=MEANS.shape, of="rates")
    gains = -np.log1p(-(np.arange(NODES) + 0.5) / NODES)
    for mean_snr, rate in zip(MEANS.tolist(), found.tolist(), strict=True):
        expected = float(np.mean(calls.subject.bps_hz(mean_snr * gains)))
        if abs(rate - expected) > BOUND * max(expected, BOUND):
            text = f"returned {rate:.5g} bit/s/Hz at a mean SNR of {mean_snr:.4g}"
            calls.note(check, "rayleigh_bps_hz", f"{text}, where the mean of bps_hz is {expected:.5g}")
            return
