"""Each member by a closed form, by edgefl's own check of its kind, and in a run."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from edgefl_fairness.allocation import AlphaFair
from edgefl_fairness.drift import DeadPixels
from edgefl_fairness.measure import Evenness

import edgefl
from channel.rate import SHANNON
from edgefl.testing import check_allocation, check_drift, check_measure

BAND_HZ = 20e6
BITS = np.full(4, 1e6)
SNR_HZ = np.array([1e6, 3e7, 2e8, 5e9])
BPS_HZ = np.log2(1 + SNR_HZ / BAND_HZ)


def given_hz(alpha, *, snr_hz=SNR_HZ, spread=True):
    return AlphaFair(alpha=alpha).shares(BAND_HZ, BITS, snr_hz, SHANNON, spread=spread).bandwidth_hz


@pytest.mark.parametrize(
    ("member", "keys"),
    [(check_allocation, {}), (check_allocation, {"alpha": 0.3}), (check_measure, {}), (check_drift, {})],
)
def test_members_pass_edgefls_checks(member, keys):
    kind = {check_allocation: AlphaFair, check_measure: Evenness, check_drift: DeadPixels}[member]
    member(kind, **keys)


def test_known_values_of_alpha():
    assert given_hz(1) == pytest.approx(BAND_HZ / 4)  # proportional fairness
    assert given_hz(2) == pytest.approx(BAND_HZ * BPS_HZ**-0.5 / (BPS_HZ**-0.5).sum())  # least sum of times
    rates_bps = given_hz(100) * BPS_HZ
    assert rates_bps.max() == pytest.approx(rates_bps.min(), rel=0.1)  # towards equal rates
    assert given_hz(0.01)[-1] == pytest.approx(BAND_HZ)  # towards the highest sum of rates


@pytest.mark.parametrize("alpha", [0.5, 2, 5])
def test_no_other_division_of_the_band_has_a_higher_utility(alpha):
    def utility(hz):
        return ((hz * BPS_HZ / 1e6) ** (1 - alpha) / (1 - alpha)).sum()

    best = given_hz(alpha)
    rng = np.random.default_rng(3)
    others = [best * np.exp(0.1 * rng.normal(size=4)) for _ in range(200)]
    assert all(utility(BAND_HZ * hz / hz.sum()) < utility(best) for hz in others)


@pytest.mark.parametrize("spread", [True, False])
def test_the_whole_band_is_given_and_outage_does_not_take_it(spread):
    hz = given_hz(2, snr_hz=np.array([1e-9, 3e7, 2e8, 5e9]), spread=spread)
    assert hz.sum() == pytest.approx(BAND_HZ)
    assert hz.argsort().tolist() == [3, 2, 1, 0]
    assert hz[0] < 0.98 * BAND_HZ


def test_measure_of_a_round_by_hand():
    def device(right, samples):
        labels = np.arange(samples)
        return SimpleNamespace(labels=labels, classes=np.where(labels < right, labels, -1))

    def measured(*devices):
        return Evenness().columns(SimpleNamespace(outputs_by_device=lambda: enumerate(devices)))

    found = measured(device(4, 4), device(1, 2), device(3, 4))
    assert found["worst_tenth"] == 0.5
    assert found["evenness"] == pytest.approx((1 + 0.5 + 0.75) ** 2 / (3 * (1 + 0.25 + 0.5625)))
    assert measured(*[device(2, 4)] * 20) == {"worst_tenth": 0.5, "evenness": 1.0}
    assert measured(device(0, 4)) == {"worst_tenth": 0.0, "evenness": None}


def test_so_many_pixels_die_in_all_channels_and_others_stay():
    x = 1 + np.random.default_rng(1).random((5, 3, 8, 8), dtype=np.float32)
    drift = DeadPixels(at_round=(2,), dead=0.25)
    aged = drift.inputs(x, np.random.default_rng(7))
    is_dead = aged == 0
    assert is_dead[0, 0].sum() == 16
    assert np.array_equal(is_dead, np.broadcast_to(is_dead[0, 0], x.shape))
    assert np.array_equal(aged[~is_dead], x[~is_dead])


def run(changes, **options):
    return edgefl.run(Path(__file__).parents[1] / "scenarios" / "fair.yaml", overrides=changes, **options)


def test_devices_whose_pixels_die_fall_behind_when_they_do():
    aged = run(["rounds=11"]).rounds.set_index("round")
    well = run(["rounds=11", "data.drift=null"]).rounds.set_index("round")
    columns = ["worst_tenth", "evenness", "test_accuracy"]
    assert aged.loc[:10, columns].equals(well.loc[:10, columns])
    assert aged.worst_tenth[11] < well.worst_tenth[11] - 0.1
    assert aged.evenness[11] < well.evenness[11] - 0.005


def test_the_slowest_download_is_faster_with_a_higher_alpha():
    runs = [run(["rounds=5", f"radio.allocation.alpha={alpha}"], train=False) for alpha in (0.5, 1, 2, 4)]
    slowest_s = [result.devices.download_s.max() for result in runs]
    assert slowest_s == sorted(slowest_s, reverse=True)
    assert slowest_s[-1] < 0.97 * slowest_s[0]
