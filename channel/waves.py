"""Fading as a sum of plane waves: a function of time, with the autocorrelation of Clarke and Jakes.

A wave that arrives at the angle `a` to the motion has the Doppler shift `f_d cos(a)`. With angles all around, one in
each of M equal sectors, and independent phases,

    `g(t) = M^(-1/2) sum_m exp(j (2 pi f_d t cos(a_m) + p_m))`

has `E[g(t)* g(t + s)] = J0(2 pi f_d s)` for every M, and tends to a Gaussian process as M grows (Xiao, Zheng and
Beaulieu, IEEE Trans. Wireless Commun. 5(12), 2006). Several such taps at different delays make a channel that differs
over the band: `H(f, t) = sum_l g_l(t) exp(-j 2 pi f tau_l)`.

Draws are arguments, and calls share no state: slot n of a channel is the same, bit for bit, whichever slots a call
returns with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Bools, Complex, Floats, Ints, Rows
from channel._checks import non_negative, positive, require
from channel.rate import Efficiency

SIDE = 16  # slots are computed in squares of 16 x 16: one product of two short tables of phases gives 256 slots
TILE_SLOTS = SIDE * SIDE
COHERENCE = 0.1  # width of a sub-band times the delay spread: neighbours of an exponential profile correlate by 0.85
MOST_SUBBANDS = 128  # of a transfer; wider bands are sampled at as many frequencies


@dataclass(frozen=True)
class Waves:
    """The waves of channels [n], each with taps of several waves; mean powers add up to 1.

    Args:
        amplitude: of each wave at time 0, with its phase, complex [n, taps, waves].
        shift_hz: Doppler shift of each wave [Hz], [n, taps, waves].
        delay_s: of each tap [s], [n, taps].
        subband_hz: the widest sub-band over which a channel counts as flat [Hz]; by default 0.1 over the delay spread.
    """

    amplitude: Complex
    shift_hz: Floats
    delay_s: Floats
    subband_hz: float | None = None

    def __len__(self) -> int:
        return len(self.delay_s)

    def only(self, rows: Rows) -> Waves:
        """Return the channels `rows` [r]."""
        return replace(self, amplitude=self.amplitude[rows], shift_hz=self.shift_hz[rows], delay_s=self.delay_s[rows])

    @property
    def constant(self) -> Bools:
        """True [n] where no wave has a Doppler shift, so that the channel never changes."""
        return np.asarray((self.shift_hz == 0.0).all(axis=(1, 2)))


def scatter(uniform: ArrayLike, doppler_hz: ArrayLike, delay_s: ArrayLike, power: ArrayLike) -> Waves:
    """Return taps of Rayleigh fading: waves from all directions, one in each of equal sectors.

    Args:
        uniform: independent draws in (0, 1), [n, taps, waves, 2]: the angle of a wave in its sector, and its phase.
        doppler_hz: the largest Doppler shift [Hz], [n] or a scalar.
        delay_s: of the taps [s], [taps] or [n, taps].
        power: mean power of the taps [1], [taps] or [n, taps].

    Returns:
        Waves of the same power in each tap.
    """
    draws = np.asarray(uniform, dtype=np.float64)
    count, taps, waves, _ = draws.shape
    sector = np.arange(waves)
    angle = 2.0 * np.pi * (sector + draws[..., 0]) / waves
    largest_hz = np.broadcast_to(non_negative("doppler_hz", doppler_hz), (count,))
    shift_hz = largest_hz[:, None, None] * np.cos(angle)
    tap_power = np.broadcast_to(non_negative("power", power), (count, taps))
    amplitude = np.sqrt(tap_power / waves)[..., None] * np.exp(2j * np.pi * draws[..., 1])
    return Waves(amplitude, shift_hz, np.broadcast_to(non_negative("delay_s", delay_s), (count, taps)))


def with_line(waves: Waves, power: ArrayLike, shift_hz: ArrayLike, phase: ArrayLike) -> Waves:
    """Return the channels with one more wave in the first tap, the line of sight.

    Args:
        waves: the scatter.
        power: of the line of sight [1], [n]; 0 where there is none.
        shift_hz: its Doppler shift [Hz], [n].
        phase: its phase at the time 0, uniform in (0, 1) [1], [n].

    Returns:
        The channels; their power is that of `waves` and of the line together.
    """
    count, taps, _ = waves.amplitude.shape
    amplitude = np.zeros((count, taps, 1), dtype=np.complex128)
    turned = np.exp(2j * np.pi * np.asarray(phase, dtype=np.float64))
    amplitude[:, 0, 0] = np.sqrt(non_negative("power", power)) * turned
    line_hz = np.zeros((count, taps, 1))
    line_hz[:, 0, 0] = shift_hz
    return replace(
        waves,
        amplitude=np.concatenate([waves.amplitude, amplitude], axis=2),
        shift_hz=np.concatenate([waves.shift_hz, line_hz], axis=2),
    )


def earlier(waves: Waves, by_s: float) -> Waves:
    """Return the same channels with the clock set back by `by_s` [s]: those at time t are `waves` at `t - by_s`."""
    turned = np.exp(-2j * np.pi * waves.shift_hz * by_s)
    return replace(waves, amplitude=waves.amplitude * turned)


def delay_spread_s(waves: Waves) -> Floats:
    """Return the root mean square delay spreads [s], [n], by the mean powers of the taps."""
    power = (np.abs(waves.amplitude) ** 2).sum(axis=2)
    weight = power / power.sum(axis=1, keepdims=True)
    mean_s = (weight * waves.delay_s).sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt((weight * (waves.delay_s - mean_s) ** 2).sum(axis=1)))


def subbands(waves: Waves, bandwidth_hz: ArrayLike) -> Ints:
    """Return the numbers of nearly flat sub-bands into which bandwidths are divided.

    Args:
        waves: the channels [n].
        bandwidth_hz: of the transfers [Hz], [n]; 0 has one sub-band.

    Returns:
        Numbers of sub-bands, 1 to 128, [n].
    """
    spread_s = delay_spread_s(waves)
    band_hz = non_negative("bandwidth_hz", bandwidth_hz)
    wanted = band_hz * spread_s / COHERENCE
    if waves.subband_hz is not None:
        wanted = np.where(spread_s > 0, band_hz / waves.subband_hz, 1.0)  # without delays any band is flat
    return np.asarray(np.clip(np.ceil(wanted), 1, MOST_SUBBANDS), dtype=np.int64)


def subband_power(
    waves: Waves, slot_s: float, bandwidth_hz: ArrayLike, count: int, first_slot: ArrayLike, slots: int
) -> Floats:
    """Return the power of the gain in slots and sub-bands, `|H(f, t)|^2` in the middle of each sub-band.

    Args:
        waves: the channels [n].
        slot_s: length of a slot [s]; slot k has the gain at time `k slot_s`.
        bandwidth_hz: of each transfer, around the carrier [Hz], [n].
        count: sub-bands of each transfer.
        first_slot: number of the first slot, whole and not negative, [n].
        slots: number of slots.

    Returns:
        Powers [1], [n, slots, count].
    """
    first = np.broadcast_to(np.asarray(first_slot), (len(waves),))
    require(first >= 0, first, "first_slot", "not negative")
    tile = first // TILE_SLOTS
    offset = first - tile * TILE_SLOTS
    tiles = -(-(int(offset.max(initial=0)) + slots) // TILE_SLOTS)
    power = tile_power(waves, bandwidth_hz, count, tap_tiles(waves, slot_s, tile, tiles))
    wanted = offset[:, None] + np.arange(slots)
    return np.asarray(np.take_along_axis(power, wanted[:, :, None], axis=1))


class Turns(NamedTuple):
    """How far the waves of channels [n] turn within a tile, as angles; the same in every tile."""

    slot_rad: Floats  # [n, taps, waves] of one slot
    of_slot: Complex  # [n, taps, waves, SIDE]
    of_row: Complex  # [n, taps, SIDE, waves]


def turns(waves: Waves, slot_s: float) -> Turns:
    """Return the turns of channels [n] with slots of `slot_s` [s], which take most of the time of a tile."""
    slot_rad = 2.0 * np.pi * float(positive("slot_s", slot_s)) * waves.shift_hz
    step = np.arange(SIDE)
    of_slot = np.exp(1j * slot_rad[..., None] * step)
    of_row = np.exp(1j * (SIDE * slot_rad)[..., None, :] * step[:, None])
    return Turns(slot_rad, of_slot, of_row)


def tap_tiles(
    waves: Waves, slot_s: float, first_tile: ArrayLike, tiles: int, known_turns: Turns | None = None
) -> Complex:
    """Return the gains of the taps in whole tiles of 256 slots.

    Slot `i SIDE + k` of a tile has the phase of the tile's first slot, turned by i rows and k slots: sums over the
    waves are products of a matrix [SIDE, waves] of rows and one [waves, SIDE] of slots. All have one shape, so that a
    slot's bits do not depend on the other slots of a call.

    Args:
        waves: the channels [n].
        slot_s: length of a slot [s].
        first_tile: number of the first tile, [n].
        tiles: number of tiles.
        known_turns: the result of `turns` for these channels; None: not computed yet.

    Returns:
        Gains, complex [n, tiles, taps, 256].
    """
    turn, of_slot, of_row = known_turns or turns(waves, slot_s)
    first = np.broadcast_to(np.asarray(first_tile), (len(waves),))
    begin = (first[:, None] + np.arange(tiles)) * float(TILE_SLOTS)
    start = waves.amplitude[:, None] * np.exp(1j * turn[:, None] * begin[:, :, None, None])
    rows = start[..., None, :] * of_row[:, None]  # [n, tiles, taps, SIDE, waves]
    gain = np.matmul(rows, of_slot[:, None])
    return np.asarray(gain.reshape(*gain.shape[:3], TILE_SLOTS))


def tile_power(waves: Waves, bandwidth_hz: ArrayLike, count: int, taps: Complex) -> Floats:
    """Return the power of the gain in sub-bands from the gains of the taps.

    Args:
        waves: the channels [n].
        bandwidth_hz: of each transfer [Hz], [n].
        count: sub-bands of each transfer.
        taps: their gains from `tap_tiles`, complex [n, tiles, taps, 256].

    Returns:
        Powers [1], [n, tiles * 256, count].
    """
    width_hz = np.broadcast_to(non_negative("bandwidth_hz", bandwidth_hz), (len(waves),))
    middle = (np.arange(count) + 0.5) / count - 0.5
    turn = np.exp(-2j * np.pi * (width_hz[:, None, None] * middle[:, None]) * waves.delay_s[:, None, :])
    gain = np.matmul(turn[:, None], taps)  # [n, tiles, count, TILE_SLOTS]
    power = gain.real**2 + gain.imag**2
    return np.asarray(np.moveaxis(power, 2, 3).reshape(len(waves), -1, count))


def mean_bps_hz(efficiency: Efficiency, mean_snr: ArrayLike, power: Floats) -> Floats:
    """Return the spectral efficiency of slots, the mean of those of the sub-bands at their SNRs.

    Codewords span the sub-bands, so their capacities add up. With Shannon's bound it is the effective SNR by mean
    mutual information (MIESM).

    Args:
        efficiency: spectral efficiency over the SNR.
        mean_snr: SNR at a gain of 1 [1], broadcastable to [...].
        power: power of the gain in the sub-bands [1], [..., count].

    Returns:
        Spectral efficiency [bit/s/Hz], [...].
    """
    snr = np.asarray(mean_snr)[..., None] * power
    return np.asarray(efficiency.bps_hz(snr).mean(axis=-1))
