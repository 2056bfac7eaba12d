"""Superposed uplinks against closed forms, loops and the capacity region."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import noma, rate

NOISE_W = 4e-14
BAND_HZ = 1e7
POWERS = st.lists(st.floats(1e-18, 1e-6), min_size=1, max_size=7)


def by_loops(received_w, order, residual=0.0):
    """Return the interference by a plain loop: later terminals in full, earlier ones by the residual."""
    found = [0.0] * len(received_w)
    for place, k in enumerate(order):
        later = math.fsum(received_w[j] for j in order[place + 1 :])
        before = math.fsum(received_w[j] for j in order[:place])
        found[k] = later + residual * before
    return found


@pytest.mark.oracle
@given(POWERS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_rates_add_up_to_the_sum_capacity_in_any_order(received_w, random):
    order = list(range(len(received_w)))
    random.shuffle(order)
    capacity = BAND_HZ * math.log2(1 + math.fsum(received_w) / NOISE_W)
    assert float(noma.sum_rate_bps(received_w, NOISE_W, BAND_HZ)) == pytest.approx(capacity, rel=1e-9)
    for chosen in (None, order):
        rates = noma.rates_bps(received_w, NOISE_W, BAND_HZ, order=chosen)
        assert rates.sum() == pytest.approx(capacity, rel=1e-7)


@pytest.mark.parametrize("residual", [0.0, 0.03, 1.0])
def test_interference_matches_a_plain_loop(residual):
    rng = np.random.default_rng(5)
    received_w = 10 ** rng.uniform(-16, -8, 6)
    strongest_first = sorted(range(6), key=lambda k: -received_w[k])
    assert noma.decoding_order(received_w).tolist() == strongest_first
    for order in [strongest_first, *list(permutations(range(6)))[::97]]:
        expected = by_loops(received_w, order, residual)
        np.testing.assert_allclose(noma.interference_w(received_w, residual, order), expected, rtol=1e-14)
    np.testing.assert_array_equal(
        noma.interference_w(received_w, residual), noma.interference_w(received_w, residual, strongest_first)
    )


def test_strongest_terminal_is_paired_with_the_weakest():
    """The rest after cancellation is exact, however strong the signals were that are gone."""
    assert noma.interference_w([1.0, 1e-30, 3e-30]).tolist() == [4e-30, 0.0, 1e-30]


def test_one_alone_has_the_whole_band():
    received_w = [3e-12]
    alone = BAND_HZ * rate.SHANNON.bps_hz(3e-12 / NOISE_W)
    np.testing.assert_allclose(noma.rates_bps(received_w, NOISE_W, BAND_HZ, residual=0.7), [alone], rtol=1e-14)


def test_without_cancellation_all_others_interfere():
    received_w = np.array([1e-12, 5e-12, 3e-12])
    np.testing.assert_allclose(noma.interference_w(received_w, 1.0), received_w.sum() - received_w, rtol=1e-12)
    np.testing.assert_allclose(noma.interference_w(received_w, 1.0, [2, 0, 1]), received_w.sum() - received_w)


def test_equal_powers_are_decoded_in_their_order():
    assert noma.decoding_order([2.0, 1.0, 2.0, 1.0]).tolist() == [0, 2, 1, 3]


def test_corner_points_bound_the_capacity_region():
    """In each corner one terminal has its own capacity, and the other the rest of the sum (Tse and Viswanath, 6.1)."""
    received_w = np.array([2e-13, 9e-13])
    alone = BAND_HZ * np.log2(1 + received_w / NOISE_W)
    total = BAND_HZ * math.log2(1 + received_w.sum() / NOISE_W)
    orders = [[1, 0], [0, 1]]
    corners = noma.rates_bps(np.stack([received_w, received_w]), NOISE_W, BAND_HZ, order=orders)
    np.testing.assert_allclose(corners, [[alone[0], total - alone[0]], [total - alone[1], alone[1]]], rtol=1e-12)
    # No division of band or time leaves the region, and only that in proportion to the powers reaches its border.
    for share in np.linspace(0.01, 0.99, 99):
        shares = np.array([share, 1 - share])
        orthogonal = shares * BAND_HZ * np.log2(1 + received_w / (shares * NOISE_W))
        assert (orthogonal < alone).all()
        assert orthogonal.sum() <= total * (1 + 1e-12)
    best = received_w / received_w.sum()
    reached = (best * BAND_HZ * np.log2(1 + received_w / (best * NOISE_W))).sum()
    assert reached == pytest.approx(total, rel=1e-12)


def test_leading_axes_are_independent():
    rng = np.random.default_rng(2)
    received_w = 10 ** rng.uniform(-14, -9, (3, 2, 5))
    together = noma.rates_bps(received_w, NOISE_W, BAND_HZ, 0.1)
    for place in np.ndindex(3, 2):
        np.testing.assert_array_equal(together[place], noma.rates_bps(received_w[place], NOISE_W, BAND_HZ, 0.1))
    assert noma.sum_rate_bps(received_w, NOISE_W, BAND_HZ).shape == (3, 2)


@pytest.mark.parametrize("count", [1, 2, 5, 6, 11])
@pytest.mark.parametrize("most", [1, 2, 3, 20])
def test_groups_are_as_few_as_possible_and_of_equal_size(count, most):
    received_w = 10 ** np.random.default_rng(count).uniform(-14, -9, count)
    groups = noma.strong_with_weak(received_w, most)
    sizes = np.bincount(groups)
    assert len(sizes) == math.ceil(count / most)
    assert sizes.max() <= most
    assert sizes.max() - sizes.min() <= 1
    # The order in which terminals are named says nothing.
    turned = np.random.default_rng(0).permutation(count)
    np.testing.assert_array_equal(noma.strong_with_weak(received_w[turned], most), groups[turned])


@pytest.mark.parametrize("count", [2, 7, 8])
def test_pairs_are_the_strongest_with_the_weakest(count):
    received_w = np.sort(10 ** np.random.default_rng(1).uniform(-14, -9, count))[::-1]
    groups = noma.strong_with_weak(received_w, 2)
    pairs = count // 2 + count % 2
    for rank in range(pairs):
        assert groups[rank] == rank
        partner = 2 * pairs - 1 - rank
        if partner < count:
            assert groups[partner] == rank


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: noma.interference_w([1.0, -1.0]), "received_w = -1.0"),
        (lambda: noma.interference_w([1.0, 1.0], order=[0, 0]), "order must name each of the 2 terminals once"),
        (lambda: noma.strong_with_weak([1.0], 0), "users_per_group = 0"),
    ],
)
def test_wrong_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_mean_interference_understates_the_mean_rate():
    """log2(1 + S / (N + I)) is convex in I, so a mean interference never raises a mean rate (Jensen)."""
    received_w = np.array([9e-13, 4e-13, 1e-13])
    power = np.random.default_rng(3).exponential(size=(50_000, 3))
    order = np.broadcast_to(noma.decoding_order(received_w), power.shape)
    fading = noma.rates_bps(received_w * power, NOISE_W, BAND_HZ, order=order).mean(axis=0)
    at_mean = BAND_HZ * np.log2(1 + received_w * power / (NOISE_W + noma.interference_w(received_w)))
    assert (at_mean.mean(axis=0)[:2] < fading[:2]).all()
    assert at_mean.mean(axis=0)[2] == pytest.approx(fading[2], rel=1e-12)
