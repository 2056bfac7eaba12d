"""Rate models, draws and links for the tests of transmission times."""

import math
from dataclasses import dataclass

import numpy as np

from channel import fading

SLOT_S = 0.5e-3


@dataclass(frozen=True)
class Linear:
    """The limit of weak signals: the sum is a quadratic form of Gaussian variables."""

    def bps_hz(self, snr):
        return np.asarray(snr, dtype=float)

    def rayleigh_bps_hz(self, mean_snr):
        return mean_snr


@dataclass(frozen=True)
class Stairs:
    """Steps of unequal height."""

    edges: tuple[float, ...] = (0.5, 3.0, 20.0, 150.0, 400.0)
    levels: tuple[float, ...] = (0.0, 0.4, 1.5, 3.0, 5.0, 7.0)

    def bps_hz(self, snr):
        return np.asarray(self.levels)[np.searchsorted(self.edges, snr, side="right")]

    def rayleigh_bps_hz(self, mean_snr):
        return np.exp(-np.asarray(self.edges) / mean_snr[..., None]) @ np.diff(self.levels)


def circular(generator, *shape):
    """Draws of CN(0, 1)."""
    return (generator.standard_normal((*shape[:-1], 2 * shape[-1])) * math.sqrt(0.5)).view(complex)


def rho_of(speed_mps):
    """Correlation of the fading between slots at 3.5 GHz."""
    return float(fading.doppler_correlation(speed_mps, 3.5e9, SLOT_S))
