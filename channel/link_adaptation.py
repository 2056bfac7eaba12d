"""Block errors of modulation and coding schemes, HARQ with chase combining, and outer-loop link adaptation.

In each slot a transmitter sends one transport block. A new block takes the scheme of the highest efficiency whose block
error rate at the reported SNR, corrected by an offset, is at most the target. The next slots repeat a lost block with
the same scheme, and the receiver adds up the SNRs (chase combining: Chase, IEEE Transactions on Communications 33(5),
1985). The offset learns from the first transmissions (outer loop: Sampath et al., IEEE VTC Fall 1997): a success raises
it by `step target / (1 - target)`, an error lowers it by `step`. In equilibrium the share of errors is the target.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from channel import _special
from channel._arrays import Floats
from channel._checks import non_negative, positive
from channel.units import db_to_linear

FIRST_DB = -40.0  # of the grid on which curves are tabulated
STEP_DB = 0.05
GRID_VALUES = 2201  # up to 70 dB
WEAKEST_SNR = 1e-9  # stands for an SNR of 0 in a logarithm
DB_PER_NEPER = 10.0 / math.log(10.0)  # of a natural logarithm, which takes a third of the time of a decimal one
# Of the codes of NR, fitted to Sionna's link-level curves; docs/channel/errors.md states the error.
GAP_DB = 0.6  # to the best code, of a scheme that carries little
GAP_GROWTH_DB = 0.54  # with each doubling of `1 + R`: a square constellation is not Gaussian
LENGTH_SHARE = 0.7  # length of the best code with the same slope over that of the code of NR


def grid_db() -> Floats:
    """Return the SNRs [grid] in decibels at which curves are tabulated."""
    return np.asarray(FIRST_DB + STEP_DB * np.arange(GRID_VALUES))


def awgn_block_error_rate(
    efficiency_bps_hz: ArrayLike, snr: ArrayLike, symbols: ArrayLike, snr_gap_db: ArrayLike = 0.0
) -> Floats:
    """Return the block error rate over AWGN by the normal approximation, `Q((n / V)^(1/2) (C - R))`.

    `C = log2(1 + s)` is the capacity and `V = (1 - (1 + s)^-2) log2(e)^2` the dispersion of the complex channel at the
    SNR `s = snr / gap` (Polyanskiy, Poor and Verdu, IEEE Transactions on Information Theory 56(5), 2010, theorem 54).

    Args:
        efficiency_bps_hz: rate R of the code in bits a symbol [bit/s/Hz].
        snr: signal-to-noise ratio [1].
        symbols: length n of a code word, in complex symbols.
        snr_gap_db: SNR that a real code needs beyond the best one [dB], any shape.

    Returns:
        Block error rate [1], the broadcast shape of the arguments.

    Example:
        One bit a symbol, 1,000 symbols: half the blocks are lost at capacity, 2 in 100 at 0.5 dB more.

        >>> awgn_block_error_rate(1.0, [1.0, 1.122], 1000).round(3)
        array([0.5  , 0.017])
    """
    s = non_negative("snr", snr) / db_to_linear(snr_gap_db)
    rate = positive("efficiency_bps_hz", efficiency_bps_hz)
    capacity = np.log1p(s) / math.log(2.0)
    dispersion = -np.expm1(-2.0 * np.log1p(s)) / math.log(2.0) ** 2
    spread = np.sqrt(np.maximum(dispersion, 1e-300) / positive("symbols", symbols))
    return np.asarray(0.5 * _special.erfc((capacity - rate) / spread / math.sqrt(2.0)))


def nr_block_error_rate(
    efficiency_bps_hz: ArrayLike, snr: ArrayLike, symbols: ArrayLike, implementation_loss_db: float = 0.0
) -> Floats:
    """Return the block error rate of NR's LDPC codes over AWGN: the normal approximation of a worse, shorter code.

    Its gap to the best code is `0.6 + 0.54 log2(1 + R)` dB, and its length 0.7 n: fitted to the link-level tables that
    Sionna publishes, meeting them to 0.17 dB (root mean square, 500 to 2,000 bits: `benchmarks/validate_channel.py`).

    Args:
        efficiency_bps_hz: rate R of the scheme in bits a symbol [bit/s/Hz].
        snr: signal-to-noise ratio [1].
        symbols: length n of a code block, in complex symbols.
        implementation_loss_db: SNR that the receiver needs beyond that of the tables [dB].

    Returns:
        Block error rate [1], the broadcast shape of the arguments.

    Example:
        At one bit a symbol the gap is 1.14 dB: half the blocks are lost there, 13 in 100 at 0.32 dB more.

        >>> nr_block_error_rate(1.0, [1.3, 1.4], 1000).round(2)
        array([0.5 , 0.13])
    """
    rate = positive("efficiency_bps_hz", efficiency_bps_hz)
    gap_db = GAP_DB + GAP_GROWTH_DB * np.log1p(rate) / math.log(2.0) + implementation_loss_db
    return awgn_block_error_rate(rate, snr, LENGTH_SHARE * positive("symbols", symbols), gap_db)


@dataclass(frozen=True, eq=False)
class LinkAdaptation:
    """Schemes with their curves, and how the link is adapted.

    Args:
        efficiencies_bps_hz: [m] of the schemes, ascending.
        error_rates: [m, grid] at `grid_db()`, never growing with the SNR.
        target: share of first transmissions that may be lost, in (0, 1).
        step_db: how much an error lowers the offset.
        transmissions: of a block, at most.
        report_delay_slots: age of the SNR that the transmitter knows, from 0.
        most_offset_db: the largest size of the offset.
    """

    efficiencies_bps_hz: Floats
    error_rates: Floats
    target: float = 0.1
    step_db: float = 0.5
    transmissions: int = 4
    report_delay_slots: int = 4
    most_offset_db: float = 30.0

    @cached_property
    def thresholds_db(self) -> Floats:
        """The least SNR [m] in dB at which each scheme's error rate is at most the target; infinite: none."""
        reached = self.error_rates <= self.target
        first = reached.argmax(axis=1)
        return np.where(reached.any(axis=1), grid_db()[first], np.inf)

    @cached_property
    def reached_db(self) -> Floats:
        """The least SNR [m] in dB at which this scheme, or a higher one, reaches the target."""
        return np.minimum.accumulate(self.thresholds_db[::-1])[::-1].copy()

    @property
    def up_db(self) -> float:
        """How much a success raises the offset [dB]."""
        return self.step_db * self.target / (1.0 - self.target)


def tabulated(snr_db: ArrayLike, error_rate: ArrayLike) -> Floats:
    """Return a curve [grid] at `grid_db()` through ascending points, constant beyond the first and the last."""
    return np.asarray(np.interp(grid_db(), np.asarray(snr_db), np.asarray(error_rate)))
