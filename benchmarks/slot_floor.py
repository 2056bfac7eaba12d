"""The least that a row-slot costs (one transfer in one slot): the arithmetic of `radio: {preset: nr}` in one loop.

Draws, fading, powers, decibels, link adaptation with HARQ, and the sum of bits; no clock, no shares, no records. It is
written apart from the package, so that it stays the same while the package changes. It needs numba.
"""

import math
from functools import cache

import numpy as np
from numba import njit
from numba.np.random import _constants as ziggurat

import channel

LOSS_DB = 2.5  # of the preset's receivers
CODEWORD_SYMBOLS = 1000
FIRST_DB = channel.link_adaptation.FIRST_DB
STEP_DB = channel.link_adaptation.STEP_DB
UP_DB = 0.5 / 9.0  # of the outer loop, whose target is an error in 10
DOWN_DB = 0.5
MOST_DB = 30.0
TRANSMISSIONS = 4

WIDTHS = np.concatenate([ziggurat.wi_double, -ziggurat.wi_double])
INSIDE = np.asarray(ziggurat.ki_double)
HEIGHTS = np.asarray(ziggurat.fi_double)
TAIL = float(ziggurat.ziggurat_nor_r)
INVERSE_TAIL = float(ziggurat.ziggurat_nor_inv_r)
PLACE = np.uint64(2**52 - 1)
UNIT = 1.0 / 2**53


@njit(inline="always")
def step(state):
    """Advance the generator SFC64, and return its word."""
    word = state[0] + state[1] + state[3]
    state[3] += np.uint64(1)
    state[0] = state[1] ^ (state[1] >> np.uint64(11))
    state[1] = state[2] + (state[2] << np.uint64(3))
    state[2] = ((state[2] << np.uint64(24)) | (state[2] >> np.uint64(40))) + word
    return word


@njit(inline="always")
def uniform(state):
    """Return a number in [0, 1)."""
    return np.float64(np.int64(step(state) >> np.uint64(11))) * UNIT


@njit
def tail(state):
    """Return a number of the normal distribution's tail."""
    while True:
        beyond = -INVERSE_TAIL * math.log1p(-uniform(state))
        height = -math.log1p(-uniform(state))
        if height + height > beyond * beyond:
            return TAIL + beyond


@njit(inline="always")
def normal(state):
    """Return a standard normal, by the ziggurat."""
    while True:
        word = step(state)
        layer = word & np.uint64(0xFF)
        place = (word >> np.uint64(9)) & PLACE
        x = np.float64(np.int64(place)) * WIDTHS[word & np.uint64(0x1FF)]
        if place < INSIDE[layer]:
            return x
        if layer == np.uint64(0):
            return math.copysign(tail(state), x)
        above = HEIGHTS[layer]
        below = HEIGHTS[layer - np.uint64(1)]
        if (below - above) * uniform(state) + above < math.exp(-0.5 * x * x):
            return x


@njit(cache=True, error_model="numpy")
def walk(  # noqa: PLR0915 - numba compiles one function
    slots, mean_snr, line, rho, efficiencies, error_rates, thresholds_db, slot_symbols
):
    """Return the bits [rows] that arrive in so many slots of each row, at its mean SNR [rows] and line of sight [rows].

    Args:
        slots: of each row.
        mean_snr: [rows] signal-to-noise ratios before fading.
        line: [rows] amplitudes of the line of sight; the rest of the mean power is scatter.
        rho: the scatter's correlation from slot to slot.
        efficiencies: [schemes] bits a symbol, ascending.
        error_rates: [schemes, grid] of blocks.
        thresholds_db: [schemes] least SNRs.
        slot_symbols: symbols of a row in a slot.
    """
    bits = np.zeros(len(mean_snr))
    state = np.empty(4, dtype=np.uint64)
    share = math.sqrt((1.0 - rho) * (1.0 + rho)) * math.sqrt(0.5)
    last = error_rates.shape[1] - 1
    for row in range(len(mean_snr)):
        state[:] = np.uint64(row + 1)
        for _ in range(12):
            step(state)
        scatter = math.sqrt(1.0 - line[row] * line[row])
        real = normal(state) * math.sqrt(0.5)
        imag = normal(state) * math.sqrt(0.5)
        reported_db = np.full(4, 10.0 * math.log10(mean_snr[row]))  # the transmitter knows the SNR of 4 slots ago
        offset_db = 0.0
        scheme = -1
        total = 0.0
        sent = 0
        draw = 0.0
        for slot in range(slots):
            real = share * normal(state) + rho * real
            imag = share * normal(state) + rho * imag
            in_phase = line[row] + scatter * real
            quadrature = scatter * imag
            snr = (in_phase * in_phase + quadrature * quadrature) * mean_snr[row]
            snr_db = 10.0 * math.log10(max(snr, 1e-9))
            total_db = snr_db
            known_db = reported_db[slot & 3]
            reported_db[slot & 3] = snr_db
            is_first = scheme < 0
            if is_first:
                scheme = len(efficiencies) - 1
                while scheme > 0 and thresholds_db[scheme] > known_db + offset_db:
                    scheme -= 1
                total = snr
                sent = 1
                draw = uniform(state)
            else:
                total += snr
                sent += 1
                total_db = 10.0 * math.log10(max(total, 1e-9))
            place = min(max((total_db - FIRST_DB) / STEP_DB, 0.0), last - 1e-9)
            left = int(place)
            part = place - left
            rate = error_rates[scheme, left] * (1.0 - part) + error_rates[scheme, left + 1] * part
            is_lost = draw < rate
            if is_first and is_lost:
                offset_db = max(offset_db - DOWN_DB, -MOST_DB)
            elif is_first:
                offset_db = min(offset_db + UP_DB, MOST_DB)
            if not is_lost:
                bits[row] += efficiencies[scheme] * slot_symbols
                scheme = -1
            elif sent >= TRANSMISSIONS:
                scheme = -1
    return bits


def floor_bits(row_slots, rows=10):
    """Walk so many row-slots, as many of each row, and return the bits [rows]."""
    mean_snr = channel.units.db_to_linear(np.linspace(20.0, 40.0, rows))
    line = np.sqrt(np.arange(rows) % 2 * 8.0 / 9.0)  # every other row has a line of sight, K = 9 dB
    rho = float(channel.fading.doppler_correlation(3.0, 3.5e9, 0.0005))
    return walk(round(row_slots / rows), mean_snr, line, rho, *tables(), 600.0)


@cache
def tables():
    """Return the schemes' efficiencies, error rates and least SNRs."""
    efficiencies = np.sort([order * code_rate / 1024.0 for order, code_rate in channel.mcs.TABLES["256qam"]])
    snr = channel.units.db_to_linear(channel.link_adaptation.grid_db())
    error_rates = channel.link_adaptation.nr_block_error_rate(efficiencies[:, None], snr, CODEWORD_SYMBOLS, LOSS_DB)
    adaptation = channel.link_adaptation.LinkAdaptation(efficiencies, error_rates)
    return efficiencies, error_rates, adaptation.thresholds_db
