"""Rayleigh fading."""

from edgefl.radio.fading.base import Fading


class Rayleigh(Fading):
    """Rayleigh, correlated from slot to slot by rho = J0(2 pi f_d tau) (dynamic-devices paper, eq. 23 and 39)."""
