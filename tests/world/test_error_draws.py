"""Held-out errors carried into the time and the energy of rounds."""

import numpy as np
import pytest
from scipy.stats import t as student

from edgefl.scenario import load
from edgefl.world import error_draws
from edgefl.world.error_draws import ErrorDraws, interval

SIGMA = 0.2
NUMBERS = 6
HIGH = np.exp(SIGMA * student.ppf(0.95, NUMBERS))
LOW = np.exp(SIGMA * student.ppf(0.05, NUMBERS))
ERROR = {"sigma": SIGMA, "numbers": NUMBERS}
SAMPLING = 0.06  # of quantiles of 400 draws, relative


def draws(order="together", deadline_s=np.inf, link=None, **devices):
    scenario = load({"devices": {"count": 10, **devices}, **({"radio": {"held_out": link}} if link else {})})
    return ErrorDraws(scenario.devices, scenario.radio.held_out, "other", order, deadline_s)


def rows(n=2, status="received", **cells):
    """Return participations that begin with the round: 1 s down, 10 s computing, 2 s up, 1 J in each state."""
    columns = {"start_s": 0.0, "download_s": 1.0, "compute_s": 10.0, "upload_s": 2.0, "wait_s": 0.0}
    columns |= {f"{state}_energy_j": 1.0 for state in ("rx", "cpu", "tx", "idle")} | cells
    filled = {name: np.broadcast_to(np.asarray(value, float), n).copy() for name, value in columns.items()}
    return {"device": np.arange(n), "status": np.broadcast_to(status, n).copy(), **filled}


COMPUTE = {"held_out": {"compute": {"other": ERROR}}}


def test_slowest_devices_computing_lengthens_the_round_by_the_law_of_student():
    duration_s, energy_j = draws(**COMPUTE).of_round(13.0, 0.0, rows())
    low, high = interval(duration_s)
    assert (low, high) == pytest.approx((3 + 10 * LOW, 3 + 10 * HIGH), rel=SAMPLING)
    factor = (duration_s - 3) / 10
    # Receiving and sending are as recorded, computing follows its time, waiting the round's.
    assert energy_j == pytest.approx(2 * (1 + factor + 1 + duration_s / 13))


def test_no_error_leaves_all_draws_as_recorded():
    none = draws()
    assert not none.of_time
    assert not none.of_energy
    assert none.missing == ["times of computing", "powers", "times of downloads", "times of uploads"]
    duration_s, energy_j = none.of_round(13.0, 0.0, rows())
    assert set(duration_s) == {13.0}
    assert set(energy_j) == {8.0}


def test_power_scales_energy_alone():
    power = draws(held_out={"power": ERROR})
    duration_s, energy_j = power.of_round(13.0, 0.0, rows())
    assert set(duration_s) == {13.0}
    assert interval(energy_j) == pytest.approx((8 * LOW, 8 * HIGH), rel=SAMPLING)
    assert power.of_energy
    assert not power.of_time


def test_device_without_an_error_bounds_the_round_from_below():
    groups = [{"name": "known", "share": 0.5, **COMPUTE}, {"name": "unknown", "share": 0.5}]
    two = rows() | {"device": np.array([0, 9])}
    duration_s, _ = draws(groups=groups).of_round(13.0, 0.0, two)
    assert duration_s.min() == pytest.approx(13.0)
    assert duration_s.max() > 14


@pytest.mark.parametrize(("order", "recorded_s", "share"), [("in_turn", 26.0, 20.0), ("overlapping", 13.0, 10.0)])
def test_devices_in_turn_add_up_and_overlapping_ones_keep_their_rate(order, recorded_s, share):
    duration_s, _ = draws(order, **COMPUTE).of_round(recorded_s, 0.0, rows())
    rest_s = recorded_s - share
    assert interval(duration_s) == pytest.approx((rest_s + share * LOW, rest_s + share * HIGH), rel=SAMPLING)


def test_a_deadline_stays_one():
    late = rows(3, status=["received", "received", "late"], compute_s=[10, 5, 12])
    at_deadline = draws(deadline_s=15.0, **COMPUTE)
    assert set(at_deadline.of_round(15.0, 0.0, late)[0]) == {15.0}
    in_time, _ = at_deadline.of_round(13.0, 0.0, rows())
    assert in_time.max() == 15.0
    assert in_time.min() < 12
    # Without a deadline, what the policy cut short waits for the others, not they for it.
    freed, _ = draws(**COMPUTE).of_round(13.0, 0.0, late)
    assert freed.min() < 12


def test_same_profile_errs_together_and_another_apart():
    def factors(name):
        return draws(source=name, **COMPUTE).of_round(13.0, 0.0, rows())[0]

    assert (factors("pi") == factors("pi")).all()
    assert abs(np.corrcoef(factors("pi"), factors("other pi"))[0, 1]) < 0.2


def test_link_errors_and_many_participations_at_once(monkeypatch):
    link = {"downlink": ERROR, "uplink": {"sigma": 0.1, "numbers": 3}}
    whole = draws(link=link, **COMPUTE).of_round(13.0, 0.0, rows(7))
    monkeypatch.setattr(error_draws, "AT_ONCE", 2)
    parts = draws(link=link, **COMPUTE).of_round(13.0, 0.0, rows(7))
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other)
    assert np.corrcoef(whole[0], draws(link=link).of_round(13.0, 0.0, rows(7))[0])[0, 1] < 0.9


@pytest.mark.oracle
def test_stated_share_of_new_measurements_lies_inside():
    """Worlds whose law misses by normal errors; a calibration knows only six of them."""
    random = np.random.default_rng(1)
    inside = []
    for _ in range(300):
        known = SIGMA * random.standard_normal(NUMBERS)
        sigma = float(np.sqrt((known**2).mean()))
        held_out = {"compute": {"other": {"sigma": sigma, "numbers": NUMBERS}}}
        low, high = interval(draws(held_out=held_out).of_round(13.0, 0.0, rows())[0])
        measured_s = 3 + 10 * np.exp(SIGMA * random.standard_normal())
        inside.append(low <= measured_s <= high)
    assert np.mean(inside) == pytest.approx(error_draws.COVERAGE, abs=0.05)


def test_missing_errors_name_the_groups_that_lack_them():
    groups = [{"name": "a", "share": 0.5, "held_out": {"power": ERROR}}, {"name": "b", "share": 0.5}]
    assert draws(groups=groups, link={"uplink": ERROR}).missing == [
        "times of computing",
        "powers of b",
        "times of downloads",
    ]


def test_round_without_participations_takes_no_energy():
    empty = {name: cells[:0] for name, cells in rows().items()}
    duration_s, energy_j = draws(**COMPUTE).of_round(13.0, 0.0, empty)
    assert set(duration_s) == {13.0}
    assert set(energy_j) == {0.0}
