"""Blocks for devices against brute force and another solver, on the instances of Chen et al. (IEEE TWC 2021)."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from channel import packet_errors
from channel.block_assignment import best_blocks

MODEL_MBIT = 39760 * 16 / 2**20  # of the authors' program
POWER_W = 0.01


def chen(seed, devices, blocks):
    """Worths [devices, blocks] as in the authors' program: expected samples that arrive within 0.5 s and 3 mJ."""
    rng = np.random.default_rng(seed)
    gain = rng.uniform(0, 500, devices)[:, None] ** -2.0
    interference_w = (np.sort(rng.uniform(0.03, 0.15, blocks)) - 0.02) * 1e-6
    error = 1 - np.exp(-1.08 * (interference_w + 1e-14) / (POWER_W * gain))
    rate_mbps = np.log2(1 + POWER_W * gain / interference_w)  # of 1 MHz
    upload_s = MODEL_MBIT / rate_mbps
    download_s = MODEL_MBIT / (20 * np.log2(1 + gain / 1.8e-7))
    energy_j = 40e-9 * MODEL_MBIT + POWER_W * upload_s
    feasible = (download_s + upload_s < 0.5) & (energy_j < 3e-3)
    samples = rng.choice([100, 200, 300, 400, 500], devices)[:, None]
    return np.where(feasible, samples * (1 - error), 0.0), error, interference_w, gain


def total(worth, block):
    """The sum of worths of an assignment."""
    has = np.flatnonzero(block >= 0)
    return worth[has, block[has]].sum()


def test_error_probability_matches_the_paper():
    _, error, interference_w, gain = chen(1, 15, 12)
    snr = POWER_W * gain / (interference_w + 1e-14)
    np.testing.assert_allclose(packet_errors.outage_probability(1.08, snr), error, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_against_all_assignments_of_six_devices(seed):
    worth, *_ = chen(seed, 6, 6)
    assert 0 < (worth > 0).sum() < worth.size  # limits exclude some pairs, not all
    ours = best_blocks(worth)
    best = max(worth[np.arange(6), list(order)].sum() for order in permutations(range(6)))
    assert total(worth, ours) == pytest.approx(best, rel=1e-12)
    used = ours[ours >= 0]
    assert len(set(used)) == len(used)
    assert (worth[np.flatnonzero(ours >= 0), used] > 0).all()


@pytest.mark.parametrize("blocks", [9, 12, 15])
def test_against_another_solver_on_fifteen_devices(blocks):
    for seed in range(5):
        worth, *_ = chen(100 + seed, 15, blocks)
        a_device = np.kron(np.eye(15), np.ones(blocks))
        a_block = np.kron(np.ones(15), np.eye(blocks))
        once = LinearConstraint(np.vstack([a_device, a_block]), -np.inf, 1)
        found = milp(-worth.ravel(), constraints=once, integrality=1, bounds=Bounds(0, 1))
        assert total(worth, best_blocks(worth)) == pytest.approx(-found.fun, rel=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6))
def test_each_block_serves_one_device_at_most(devices, blocks, seed):
    rng = np.random.default_rng(seed)
    worth = rng.uniform(0, 1, (devices, blocks)) * (rng.uniform(size=(devices, blocks)) < 0.4)
    block = best_blocks(worth)
    used = block[block >= 0]
    assert len(set(used)) == len(used)
    free = sorted(set(range(blocks)) - set(used))
    assert not worth[
        np.ix_(np.flatnonzero(block < 0), free)
    ].any()  # a device without a block could use none of the rest


def test_refuses():
    with pytest.raises(ValueError, match="worth = -1"):
        best_blocks([[-1.0]])
    with pytest.raises(ValueError, match=r"worth of shape \(2,\)"):
        best_blocks([1.0, 2.0])
