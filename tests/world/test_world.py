"""Positions of devices: stationary laws, staying in the cell, and functions of (device, time)."""

import numpy as np
import pytest
from scipy import stats

from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.mobility import Area
from edgefl.world.mobility.random_waypoint import RandomWaypoint
from edgefl.world.mobility.static import Static
from edgefl.world.world import World

AREA = Area(10.0, 250.0)
IDS = np.arange(4_000)


def tracks(mobility, seed=1):
    return mobility.track(AREA, len(IDS), Streams(seed))


def distances(track, ids, time_s):
    return np.hypot(*track.positions_m(ids, time_s).T)


def test_static_devices_have_the_papers_density():
    """Dynamic-devices paper, eq. 22: F(d) = (d^2 - 10^2) / (250^2 - 10^2); angles uniform. KS at 1 %, 4,000 devices."""
    track = tracks(Static())
    positions = track.positions_m(IDS, 0.0)
    cdf = lambda d: (d**2 - 100) / (62_500 - 100)  # noqa: E731
    assert stats.kstest(np.hypot(*positions.T), cdf).pvalue > 0.01
    assert stats.kstest(np.arctan2(*positions.T), "uniform", (-np.pi, 2 * np.pi)).pvalue > 0.01
    assert np.array_equal(positions, track.positions_m(IDS, 1e6))


@pytest.mark.oracle
def test_random_waypoint_starts_in_its_stationary_law():
    """The distance has the same law at time 0 and long after; 4,000 devices, two-sample KS at 1 %."""
    track = tracks(RandomWaypoint())
    start = distances(track, IDS, 0.0)
    later = distances(track, IDS, 500.0)
    assert stats.ks_2samp(start, later).pvalue > 0.01


@pytest.mark.oracle
def test_stationarity_test_detects_another_law():
    """The uniform start that many simulators use differs from the stationary law: the power of the test above."""
    later = distances(tracks(RandomWaypoint()), IDS, 500.0)
    assert stats.ks_2samp(distances(tracks(Static()), IDS, 0.0), later).pvalue < 1e-6


@pytest.mark.oracle
def test_random_waypoint_matches_the_known_density_of_a_disc():
    """Without the hole, E[d^2] / R^2 is 0.354: from Bettstetter et al., IEEE TMC 2003, f(r) ~ (1 - r^2) of a disc

    is an approximation; the exact second moment is integrated here from uniform pairs weighted by their length.
    """
    rng = np.random.default_rng(0)
    u = rng.random((400_000, 2, 2))
    points = np.sqrt(u[..., 0])[..., None] * np.stack(
        [np.cos(2 * np.pi * u[..., 1]), np.sin(2 * np.pi * u[..., 1])], axis=-1
    )
    a = points[:, 0]
    b = points[:, 1]
    length = np.hypot(*(a - b).T)
    along = a + rng.random((400_000, 1)) * (b - a)
    expected = np.average((along**2).sum(axis=1), weights=length)
    track = RandomWaypoint(speed_mps=0.01).track(Area(1e-3, 1.0), len(IDS), Streams(2))
    measured = distances(track, IDS, 0.0) ** 2
    assert measured.mean() == pytest.approx(expected, abs=4 * measured.std() / np.sqrt(len(IDS)))


@pytest.mark.oracle
def test_no_leg_crosses_the_hole():
    track = tracks(RandomWaypoint())
    closest = min(distances(track, IDS[:50], time).min() for time in np.arange(0, 400, 0.25))
    assert closest >= 10 - 1e-9


def world(**devices):
    scenario = load({"devices": devices, "mobility": {"kind": "static", "speed_mps": {"uniform": [1, 3]}}})
    presence = scenario.churn.presence(scenario.devices.count, np.zeros(1, dtype=np.int64), 1, Streams(4))
    return World(
        devices=scenario.devices,
        cells=scenario.cells,
        mobility=scenario.mobility,
        presence=presence,
        streams=Streams(4),
    )


def test_attributes_are_drawn_independently():
    """Two attributes with the same distribution: correlation of 10,000 pairs has standard error 0.01."""
    both = world(count=10_000, cpu_hz={"uniform": [1, 2]}, flops_per_cycle={"uniform": [1, 2]})
    assert abs(np.corrcoef(both.cpu_hz, both.flops_per_cycle)[0, 1]) < 0.04


def test_impossible_draw_is_refused():
    with pytest.raises(InputError, match=r"cpu_hz: device \d+ draws -.*must be from"):
        world(count=100, cpu_hz={"normal": [1e9, 1e9]})
