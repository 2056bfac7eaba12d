"""The proportional-fair scheduler over slots: optima, limits and the order of its rivals."""

import math

import numpy as np
import pytest

from channel.rate import SHANNON
from channel.sharing import mean_rate, proportional_fair_turn

SLOT_S = 1e-3


def served(rates, window_s, rule=proportional_fair_turn):
    """Return the mean rates [n] and the parts of the slots [n] of terminals whose slots have rates [n, m]."""
    count, slots = rates.shape
    mean_bps = np.zeros(count)
    bits = np.zeros(count)
    turns = np.zeros(count)
    for slot in range(slots):
        turn = rule(rates[:, slot], mean_bps)
        mean_bps = mean_rate(mean_bps, turn * rates[:, slot], SLOT_S, window_s)
        bits += turn * rates[:, slot] * SLOT_S
        turns += turn
    return bits / (slots * SLOT_S), turns / slots


def fading_rates(snr, slots, seed=1):
    """Return rates [n, slots] on 1 MHz over independent Rayleigh fading."""
    power = np.random.default_rng(seed).exponential(size=(len(snr), slots))
    return 1e6 * SHANNON.bps_hz(power * np.array(snr)[:, None])


@pytest.mark.oracle
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_constant_channels_get_turns_of_equal_length(count):
    """The maximum of sum ln(x_k r_k) over parts x_k that add up to 1 is x_k = 1/n, whatever the rates."""
    rates = np.outer(10 ** np.linspace(4, 7, count), np.ones(4000))
    means, parts = served(rates, window_s=0.5)
    assert parts == pytest.approx(np.full(count, 1 / count), abs=0.02)
    assert means == pytest.approx(rates[:, 0] / count, rel=0.05)


@pytest.mark.oracle
def test_terminals_with_equal_statistics_get_equal_parts_and_their_peaks():
    """For equal statistics and a long window the turn goes to the highest fading: each has E[r(max)] / n."""
    rates = fading_rates([10.0] * 4, 20_000)
    means, parts = served(rates, window_s=5.0)
    assert parts == pytest.approx(np.full(4, 0.25), abs=3 * math.sqrt(0.25 * 0.75 / 20_000))
    best = rates.max(axis=0)
    assert means.sum() == pytest.approx(best.mean(), rel=0.01)
    power = np.random.default_rng(9).exponential(size=(4, 400_000)).max(axis=0)
    assert means.sum() == pytest.approx(1e6 * SHANNON.bps_hz(10.0 * power).mean(), rel=0.02)


@pytest.mark.oracle
def test_long_windows_reach_the_optimum_of_logarithms():
    """No part of the slots given to others raises sum ln T_k: the gradient condition of the optimum.

    At the optimum each turn has the largest r_k / T_k of the final T_k, but for slots near the border.
    """
    rates = fading_rates([2.0, 30.0], 20_000)
    means, _ = served(rates, window_s=20.0)
    by_final = np.argmax(rates / means[:, None], axis=0)
    optimum = np.array([rates[k, by_final == k].sum() for k in range(2)]) / rates.shape[1]
    assert np.log(means).sum() == pytest.approx(np.log(optimum).sum(), abs=0.01)


def test_mean_rate_forgets_exponentially_and_in_any_steps():
    once = mean_rate([4e6], [1e6], 0.3, 0.5)
    twice = mean_rate(mean_rate([4e6], [1e6], 0.1, 0.5), [1e6], 0.2, 0.5)
    assert once == pytest.approx(twice, rel=1e-12)
    assert mean_rate([4e6], [1e6], 0.0, 0.5) == pytest.approx([4e6])
    assert mean_rate([4e6], [1e6], 100.0, 0.5) == pytest.approx([1e6])


def test_first_of_equal_terminals_begins():
    assert proportional_fair_turn([1e6, 1e6], [0.0, 0.0]).tolist() == [1.0, 0.0]
    assert proportional_fair_turn([0.0, 0.0], [1.0, 0.0]).tolist() == [1.0, 0.0]
