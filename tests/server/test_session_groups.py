"""Groups of devices of which one is present in each session; each part is built without a whole scenario."""

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import RoundKey, Sessions
from edgefl.server.round_counter import RoundCounter
from edgefl.server.session_groups import SessionGroups

LABELS = np.array([0, 0, 1, 1, 2, 2])
PARTS = [np.array([index]) for index in range(6)]


def test_groups_take_turns_from_the_first_one_on():
    groups = SessionGroups.divide(3, 1, LABELS, LABELS, PARTS, 3)
    assert groups.several
    members = [np.flatnonzero(groups.members(session)).tolist() for session in (1, 2, 3, 4)]
    assert members == [[2, 3], [4, 5], [0, 1], [2, 3]]
    assert [groups.labels(session) for session in (1, 2, 3)] == [(1,), (2,), (0,)]


def test_a_group_with_all_classes_is_tested_on_all():
    groups = SessionGroups.divide(2, 0, np.array([0, 1, 0, 1]), np.array([0, 1]), PARTS[:4], 2)
    assert groups.labels(1) is None


def test_without_sessions_all_devices_are_one_group():
    groups = SessionGroups.divide(1, 0, LABELS, LABELS, PARTS, 3)
    assert not groups.several
    assert groups.members(7).all()


def test_a_group_that_no_test_sample_fits_is_refused():
    with pytest.raises(InputError, match="no test sample is of a class that group 3 has: choose fewer groups"):
        SessionGroups.divide(3, 0, LABELS, np.array([0, 1]), PARTS, 3)


def test_rounds_are_counted_through_sessions():
    counter = RoundCounter(Sessions(count=2, rounds=2))
    keys = []
    while not counter.all_ended:
        keys.append((counter.key, counter.session_begins))
        counter.end_round(arrivals=3, present=5)
    expected = [(RoundKey(1, 1), True), (RoundKey(1, 2), False), (RoundKey(2, 1), True), (RoundKey(2, 2), False)]
    assert keys == expected
    assert counter.ended == 4
