"""Time and energy of local training, against the published table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefl.learning.workload import local_samples
from edgefl.world.compute import compute_j, compute_s, cpu_power_w, flops_per_s

ONE = np.ones(1)


@pytest.mark.parametrize(
    ("parameters", "flops_per_parameter", "seconds", "joules"),
    [(21_730_056, 27.69, 48.136, 4.8136), (667_178, 91.04, 4.8593, 0.48593)],
)
def test_published_computing_cost(parameters, flops_per_parameter, seconds, joules):
    """Dynamic-devices paper, Table VII: B = 128, 5 steps, 1 GHz, 8 FLOPs a cycle, 1e-28; exact to 4 digits."""
    flops = parameters * flops_per_parameter * 5 * 128 * ONE
    assert compute_s(flops, flops_per_s(1e9 * ONE, 8 * ONE))[0] == pytest.approx(seconds, rel=1e-4)
    assert compute_j(flops, 1e9 * ONE, 8 * ONE, 1e-28 * ONE, 0.0)[0] == pytest.approx(joules, rel=1e-4)


def test_a_faster_clock_saves_time_and_costs_energy():
    flops = 1e9 * ONE
    assert compute_s(flops, flops_per_s(2e9 * ONE, 8 * ONE)) == compute_s(flops, flops_per_s(1e9 * ONE, 8 * ONE)) / 2
    slow_j = compute_j(flops, 1e9 * ONE, 8 * ONE, 1e-28 * ONE, 0.0)
    assert compute_j(flops, 2e9 * ONE, 8 * ONE, 1e-28 * ONE, 0.0) == 4 * slow_j


def test_static_power_is_drawn_for_as_long_as_a_processor_computes():
    """By hand: 8e9 operations take 1 s at 1 GHz and 8 operations a cycle, in which 1 W of the clock joins 2 W."""
    flops = 8e9 * ONE
    assert cpu_power_w(1e9 * ONE, 8 * ONE, 1e-27 * ONE, 2.0 * ONE)[0] == pytest.approx(3.0, rel=1e-12)
    assert compute_j(flops, 1e9 * ONE, 8 * ONE, 1e-27 * ONE, 2.0 * ONE)[0] == pytest.approx(3.0, rel=1e-12)
    # Twice the clock: half the seconds at 8 + 2 W.
    assert compute_j(flops, 2e9 * ONE, 8 * ONE, 1e-27 * ONE, 2.0 * ONE)[0] == pytest.approx(5.0, rel=1e-12)


def test_static_power_makes_one_clock_the_best():
    """d/df (xi f^2 + P / f) = 0 at f = (P / 2 xi)^(1/3); without static power slower is always cheaper."""
    best_hz = (2.0 / (2 * 1e-27)) ** (1 / 3)
    clocks_hz = best_hz * np.array([0.9, 1.0, 1.1])
    energy_j = compute_j(np.full(3, 1e9), clocks_hz, np.full(3, 8.0), np.full(3, 1e-27), 2.0)
    assert energy_j.argmin() == 1


@pytest.mark.oracle
@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 40))
def test_wrapping_steps_count_every_sample(size, steps, batch):
    """Against the walk through the batches themselves."""
    lengths = []
    left = 0
    while len(lengths) < steps:
        left = left or size
        lengths.append(min(batch, left))
        left -= lengths[-1]
    assert local_samples(np.array([size]), None, steps, batch)[0] == sum(lengths)


def test_epochs_and_full_batches():
    sizes = np.array([3, 10])
    assert local_samples(sizes, 5, None, 4).tolist() == [15, 50]
    assert local_samples(sizes, None, 2, None).tolist() == [6, 20]
