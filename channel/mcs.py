"""Modulation and coding schemes of NR (3GPP TS 38.214, V17, clause 5.1.3.1).

Spectral efficiency is a staircase over the SNR, with outage below the lowest scheme.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import non_negative
from channel.rate import LEAST_DENOMINATOR
from channel.units import db_to_linear

# (modulation order Q_m, code rate R x 1024) of each index of TS 38.214, V17, clause 5.1.3.1, without the reserved ones.
TABLES: dict[str, tuple[tuple[int, float], ...]] = {
    "64qam": (  # Table 5.1.3.1-1
        *((2, rate) for rate in (120, 157, 193, 251, 308, 379, 449, 526, 602, 679)),
        *((4, rate) for rate in (340, 378, 434, 490, 553, 616, 658)),
        *((6, rate) for rate in (438, 466, 517, 567, 616, 666, 719, 772, 822, 873, 910, 948)),
    ),
    "256qam": (  # Table 5.1.3.1-2
        *((2, rate) for rate in (120, 193, 308, 449, 602)),
        *((4, rate) for rate in (378, 434, 490, 553, 616, 658)),
        *((6, rate) for rate in (466, 517, 567, 616, 666, 719, 772, 822, 873)),
        *((8, rate) for rate in (682.5, 711, 754, 797, 841, 885, 916.5, 948)),
    ),
}


@dataclass(frozen=True)
class Mcs:
    """Ideal link adaptation over the schemes of TS 38.214: a slot uses the best one whose threshold its SNR reaches.

    The specification gives no thresholds. Here a scheme of efficiency `e` needs `log2(1 + snr / gap) >= e`, the same
    distance to Shannon's bound for all. docs/channel/rates.md compares the thresholds with published curves.

    Args:
        snr_gap_db: distance to Shannon's bound [dB], not negative.
        table: "256qam" (Table 5.1.3.1-2) or "64qam" (Table 5.1.3.1-1).

    Example:
        Nothing gets through at an SNR of 0.1; at 1e6 the highest scheme does: 8 bits at a code rate of 948/1024.

        >>> Mcs().bps_hz([0.1, 1e6])
        array([0.     , 7.40625])
    """

    snr_gap_db: float = 3.0
    table: str = "256qam"

    def __post_init__(self) -> None:
        non_negative("snr_gap_db", self.snr_gap_db)
        if self.table not in TABLES:
            raise ValueError(f'table = "{self.table}" is unknown: it must be one of {", ".join(TABLES)}')

    @property
    def efficiencies_bps_hz(self) -> Floats:
        """Spectral efficiency `Q_m R` of each scheme [bit/s/Hz], ascending."""
        return _staircase(self)[0]

    @property
    def thresholds(self) -> Floats:
        """The least SNR [1] of each scheme, ascending."""
        return _staircase(self)[1]

    def bps_hz(self, snr: ArrayLike) -> Floats:
        """Return the efficiency of the best scheme that an SNR allows, 0 below the lowest (outage).

        Args:
            snr: signal-to-noise ratio [1], any shape.

        Returns:
            Spectral efficiency [bit/s/Hz], the shape of `snr`.
        """
        reached = np.searchsorted(self.thresholds, non_negative("snr", snr), side="right")
        return np.asarray(np.append(0.0, self.efficiencies_bps_hz)[reached])

    def rayleigh_bps_hz(self, mean_snr: Floats) -> Floats:
        """Return the exact mean over Rayleigh fading: each step counts with `P(s|h|^2 >= t) = e^(-t/s)`.

        Args:
            mean_snr: mean signal-to-noise ratio s [1], any shape.

        Returns:
            Mean spectral efficiency [bit/s/Hz], the shape of `mean_snr`.
        """
        # A staircase is a sum of steps: each adds its height where the SNR reaches its threshold.
        _, thresholds, steps = _staircase(self)
        reached = np.exp(-thresholds / np.maximum(mean_snr, LEAST_DENOMINATOR)[..., None])
        return np.asarray(reached @ steps)


@lru_cache
def _staircase(mcs: Mcs) -> tuple[Floats, Floats, Floats]:
    """Return the efficiencies [bit/s/Hz] of the schemes, ascending, their thresholds [1], and the steps between."""
    # Sorted, as the tables are not: in 64qam, index 17 lies below index 16.
    efficiencies = np.sort([order * rate / 1024.0 for order, rate in TABLES[mcs.table]])
    thresholds = db_to_linear(mcs.snr_gap_db) * np.expm1(efficiencies * np.log(2.0))
    return efficiencies, thresholds, np.diff(efficiencies, prepend=0.0)
