"""The time that a run still takes, against rounds of known lengths."""

import pytest

from edgefl.results import progress
from edgefl.results.progress import LAST_ROUNDS, RemainingTime
from edgefl.scenario.sections import Stop


@pytest.fixture
def after(monkeypatch):
    """The remaining time after rounds that took some seconds each; each costs 10 s of virtual time and 2 J."""

    def build(lengths_s, rounds=100, **stop):
        now_s = 0.0
        monkeypatch.setattr(progress, "monotonic", lambda: now_s)
        remaining = RemainingTime(rounds, Stop(**stop))
        for number, length_s in enumerate(lengths_s, 1):
            now_s += length_s
            remaining.note_round({"time_s": 10.0 * number, "energy_j": 2.0 * number})
        return remaining

    return build


def test_rounds_to_come_take_the_mean_of_the_last_ones(after):
    # The first one includes start-up.
    assert after([50.0, 2.0, 4.0]).left_s == pytest.approx(97 * 3.0)
    assert after([50.0, 2.0, 4.0]).text == "about 4.85 min left"
    slower = after([0.1] * 40 + [5.0] * LAST_ROUNDS)
    assert slower.left_s == pytest.approx((100 - 40 - LAST_ROUNDS) * 5.0)


@pytest.mark.parametrize(
    ("stop", "rounds_left"),
    [({"time_s": 75.0}, 5), ({"energy_j": 10.0}, 2), ({"time_s": 75.0, "energy_j": 10.0}, 2), ({"time_s": 1e9}, 97)],
)
def test_limits_of_virtual_time_and_energy_end_it_earlier(after, stop, rounds_left):
    assert after([1.0, 1.0, 1.0], **stop).left_s == pytest.approx(rounds_left)


def test_an_accuracy_leaves_only_a_bound(after):
    text = after([1.0, 1.0], accuracy=0.9).text
    assert text == "time left unknown, as it stops at 90 %: at most about 98 s"


@pytest.mark.parametrize(("lengths_s", "rounds"), [([], 5), ([1.0], 5), ([1.0] * 5, 5), ([1.0] * 5, None)])
def test_nothing_is_said_without_an_estimate(after, lengths_s, rounds):
    assert after(lengths_s, rounds).text == ""


def test_patience_makes_the_time_an_upper_limit(after):
    assert after([50.0, 2.0, 4.0], patience={"rounds": 5}).text == "at most about 4.85 min left"
