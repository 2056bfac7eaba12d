"""Block errors of modulation and coding schemes, HARQ with chase combining, and outer-loop link adaptation.

In each slot a transmitter sends one transport block. A new block takes the scheme of the highest efficiency whose block
error rate at the reported SNR, corrected by an offset, is at most the target. The next slots repeat a lost block with
the same scheme, and the receiver adds up the SNRs (chase combining: Chase, IEEE Transactions on Communications 33(5),
1985). The offset learns from the first transmissions (outer loop: Sampath et al., IEEE VTC Fall 1997): a success raises
it by `step target / (1 - target)`, an error lowers it by `step`. In equilibrium the share of errors is the target.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel import _compiled, _special
from channel._arrays import Floats
from channel._checks import non_negative, positive
from channel.units import db_to_linear

FIRST_DB = -40.0  # of the grid on which curves are tabulated
STEP_DB = 0.05
GRID_VALUES = 2201  # up to 70 dB
WEAKEST_SNR = 1e-9  # stands for an SNR of 0 in a logarithm
# Of the codes of NR, fitted to Sionna's link-level curves; docs/channel/errors.md states the error.
GAP_DB = 0.6  # to the best code, of a scheme that carries little
GAP_GROWTH_DB = 0.54  # with each doubling of `1 + R`: a square constellation is not Gaussian
LENGTH_SHARE = 0.7  # length of the best code with the same slope over that of the code of NR
STATES = 5  # numbers in the state of a process besides reports: offset, scheme, sum of SNRs, transmissions, draw


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


class Process(NamedTuple):
    """The state of a HARQ process and its outer loop from slot to slot."""

    offset_db: float = 0.0
    scheme: int = -1  # of the block to be repeated; -1: none
    snr: float = 0.0  # sum over its transmissions
    sent: int = 0  # number of its transmissions
    draw: float = 0.0  # uniform: the block is lost where this is below the error rate
    reported_db: tuple[float, ...] = ()  # SNRs of the latest slots, unknown to the transmitter so far


class Adapted(NamedTuple):
    """The coming slots of a process."""

    bps_hz: Floats  # [c] bits of blocks that arrive, over symbols of a slot
    first: Floats  # [c] 1 where a block is sent for the first time
    lost: Floats  # [c] 1 where a first transmission is lost
    after: Callable[[int], Process]  # returns the state after some of the slots


@dataclass(frozen=True, eq=False)
class LinkAdaptation:
    """Schemes with their curves, and how the link is adapted.

    Args:
        efficiencies_bps_hz: [m] of the schemes, ascending.
        error_rates: [m, grid] at `grid_db()`, never growing with the SNR.
        target: share of first transmissions that may be lost, in (0, 1).
        step_db: by which an error lowers the offset.
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

    @property
    def thresholds_db(self) -> Floats:
        """The least SNR [m] in dB at which each scheme's error rate is at most the target; infinite: none."""
        reached = self.error_rates <= self.target
        first = reached.argmax(axis=1)
        return np.where(reached.any(axis=1), grid_db()[first], np.inf)

    def adapt(self, process: Process, snr: Floats, uniform: Floats) -> Adapted:
        """Return the blocks of the coming slots.

        Args:
            process: the state before them.
            snr: [c] signal-to-noise ratios of the slots.
            uniform: [c] draws in [0, 1), one for each slot.
        """
        snr_db = 10.0 * np.log10(np.maximum(snr, WEAKEST_SNR))
        delay = self.report_delay_slots
        known_db = process.reported_db or (float(snr_db[0]),) * delay  # at first those of the first slot
        history_db = np.concatenate([known_db, snr_db])
        out = np.zeros((3, snr.size))
        states = np.empty((snr.size, STATES))
        start = (process.offset_db, float(process.scheme), process.snr, float(process.sent), process.draw)
        down_db = self.step_db
        up_db = self.step_db * self.target / (1.0 - self.target)
        limits = (up_db, down_db, self.most_offset_db, self.transmissions)
        tables = (self.efficiencies_bps_hz, self.error_rates, self.thresholds_db)
        _loop()(snr, snr_db, history_db, uniform, *tables, limits, start, out, states)

        def after(count: int) -> Process:
            if count == 0:
                return process
            offset_db, scheme, total, sent, draw = states[count - 1].tolist()
            reported_db = tuple(history_db[count : count + delay].tolist())
            return Process(offset_db, int(scheme), total, int(sent), draw, reported_db)

        return Adapted(out[0], out[1], out[2], after)


def tabulated(snr_db: ArrayLike, error_rate: ArrayLike) -> Floats:
    """Return a curve [grid] at `grid_db()` through ascending points, constant beyond the first and the last."""
    return np.asarray(np.interp(grid_db(), np.asarray(snr_db), np.asarray(error_rate)))


@cache
def _loop() -> Callable[..., None]:
    """Return `_adapt`, compiled where numba is installed."""
    return _compiled.compiled(_adapt) or _adapt


def _adapt(  # noqa: C901, PLR0912 - numba compiles one function
    snr: Any,
    snr_db: Any,
    reported_db: Any,
    uniform: Any,
    efficiencies: Any,
    error_rates: Any,
    thresholds_db: Any,
    limits: tuple[float, float, float, int],
    start: tuple[float, float, float, float, float],
    out: Any,
    states: Any,
) -> None:
    """Fill `out` [3, c] and `states` [c, 5], slot by slot; see LinkAdaptation.adapt."""
    up_db, down_db, most_db, transmissions = limits
    offset_db, scheme, total, sent, draw = start
    for slot in range(len(snr)):
        is_first = scheme < 0
        if is_first:
            chosen = 0  # the lowest scheme is always tried
            for candidate in range(len(efficiencies) - 1, 0, -1):
                if thresholds_db[candidate] <= reported_db[slot] + offset_db:
                    chosen = candidate
                    break
            scheme = float(chosen)
            total = 0.0
            sent = 0.0
            draw = uniform[slot]
        total += snr[slot]
        sent += 1.0
        total_db = snr_db[slot]
        if not is_first:
            total_db = 10.0 * math.log10(max(total, WEAKEST_SNR))
        place = (total_db - FIRST_DB) / STEP_DB
        row = int(scheme)
        if place <= 0.0:
            rate = error_rates[row, 0]
        elif place >= GRID_VALUES - 1:
            rate = error_rates[row, GRID_VALUES - 1]
        else:
            left = int(place)
            part = place - left
            rate = error_rates[row, left] * (1.0 - part) + error_rates[row, left + 1] * part
        # One draw a block: after each transmission it is compared with the error rate at the accumulated SNR.
        is_lost = draw < rate
        if is_first:
            out[1, slot] = 1.0
            if is_lost:
                out[2, slot] = 1.0
                offset_db = max(offset_db - down_db, -most_db)
            else:
                offset_db = min(offset_db + up_db, most_db)
        if not is_lost:
            out[0, slot] = efficiencies[row]
            scheme = -1.0
        elif sent >= transmissions:
            scheme = -1.0  # dropped: its bits go into new blocks
        states[slot, 0] = offset_db
        states[slot, 1] = scheme
        states[slot, 2] = total
        states[slot, 3] = sent
        states[slot, 4] = draw
