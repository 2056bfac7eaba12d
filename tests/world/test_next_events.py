"""Advancing through events: against a loop over devices, one event at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefl.world.next_events import advance_to, due_devices

PERIODS_S = np.array([1.0, 0.3, 7.0, 2.5, np.inf])  # device i has an event at every multiple of its own
IDS = np.arange(len(PERIODS_S))


def test_an_event_is_due_at_its_own_time():
    next_s = np.array([1.0, 2.0, 3.0])
    assert due_devices(next_s, 2.0).tolist() == [0, 1]
    assert due_devices(next_s, 2.0, np.array([2, 1])).tolist() == [1]


@pytest.mark.oracle
@given(st.lists(st.floats(0, 30), min_size=1, max_size=5).map(sorted), st.sets(st.sampled_from(IDS.tolist())))
def test_every_event_happens_once_and_in_order(times_s, chosen):
    """Events of all devices, and of some while the others stay unchanged."""
    ids = np.array(sorted(chosen), dtype=np.int64)
    for some in (None, ids):
        next_s = PERIODS_S.copy()
        happened = [[] for _ in IDS]

        def handle(due, next_s=next_s, happened=happened):
            for device in due:
                happened[device].append(next_s[device])
            next_s[due] += PERIODS_S[due]

        for time_s in times_s:
            advance_to(time_s, next_s, handle, some)
        for device in IDS:
            expected = []
            at_s = PERIODS_S[device]
            while at_s <= times_s[-1] and (some is None or device in chosen):
                expected.append(at_s)
                at_s += PERIODS_S[device]
            assert happened[device] == expected
            assert next_s[device] == at_s
