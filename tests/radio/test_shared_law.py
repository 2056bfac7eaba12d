"""`fast` on a shared band has the law of `slots`: transfers whose share changes while they last."""

import numpy as np
import pytest
from scipy import stats
from shared_law import SCRIPTS, Setting, durations_slots, engines_apart, mean_slot_bits

from edgefl.radio import band_progress

GRID = [
    Setting(speed_mps, slots, snr_db, others)
    for speed_mps in (1.0, 3.0, 10.0, 30.0)
    for slots in (50, 200, 1_000, 5_000)
    for snr_db in (0.0, 20.0)
    for others in SCRIPTS.values()
]
FEW = [
    Setting(10.0, 200, 20.0, SCRIPTS["joiner"]), Setting(10.0, 300, 0.0, SCRIPTS["many join"]),
    Setting(30.0, 100, 20.0, SCRIPTS["one by one"]), Setting(30.0, 60, 0.0, SCRIPTS["leaver"]),
    Setting(30.0, 200, 20.0, SCRIPTS["many leave"]), Setting(3.0, 400, 20.0, SCRIPTS["in bursts"]),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _long_races(monkeypatch):
    """Many replicas side by side: how far a race looks ahead does not change a result."""
    monkeypatch.setattr(band_progress, "LOOK_AHEAD_VALUES", 2**19)
    monkeypatch.setattr(band_progress, "LEAST_AHEAD_SLOTS", 128)


@pytest.mark.parametrize("setting", FEW, ids=str)
def test_fast_has_the_law_of_slots_where_others_join_and_leave(setting):
    assert engines_apart(setting, 1_000, seed=3) > 0.01


def test_a_draw_kept_through_a_change_of_the_share_is_told_apart():
    """The rate of the whole transfer from one draw at the first share: then durations spread too widely."""
    setting = Setting(30.0, 400, 20.0, (0, *(9,) * 9))
    walked = durations_slots(setting, "slots", 1_000, 1)
    assert stats.ks_2samp(walked, durations_slots(setting, "fast", 1_000, 2)).pvalue > 0.01
    first, *_, later = mean_slot_bits(setting)
    bits = 40 * first + 360 * later
    alone = durations_slots(Setting(30.0, bits / first, 20.0, (0,)), "fast", 1_000, 2)
    luck = bits / first / alone
    kept = np.ceil(40 + (bits - luck * first * 40) / (luck * later))
    assert kept.std() > 1.4 * walked.std()
    assert stats.ks_2samp(walked, kept).pvalue < 1e-6


@pytest.mark.slow
def test_fast_has_the_law_of_slots_over_a_grid():
    """As many rejections at 1 % as chance gives: 320 settings, 1,000 transfers a side; more than 9 of 320 in 0.3 %."""
    rejected = [setting for seed, setting in enumerate(GRID) if engines_apart(setting, 1_000, seed) < 0.01]
    assert len(rejected) <= stats.binom.isf(0.003, len(GRID), 0.01), rejected
