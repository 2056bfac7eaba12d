"""Times that count as equal, and functions that the event loop calls."""

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from edgefl.core.times import SAME_STEP, call_at, steps_begun, steps_completed

SLOT_S = 0.0005


@given(st.integers(0, 10**6), st.integers(1, 50))
def test_sums_of_slots_lie_on_borders(slots, pieces):
    """The same moment, added up in pieces: its last digits differ, its slot does not."""
    time_s = sum([slots * SLOT_S / pieces] * pieces)
    assert steps_completed(time_s, SLOT_S) == slots
    assert steps_begun(time_s, SLOT_S) == slots


@given(st.integers(0, 10**6), st.floats(10 * SAME_STEP, 1 - 10 * SAME_STEP))
def test_slot_is_begun_but_not_completed_inside(slots, part):
    time_s = (slots + part) * SLOT_S
    assert steps_completed(time_s, SLOT_S) == slots
    assert steps_begun(time_s, SLOT_S) == slots + 1


def test_functions_are_called_by_time_and_then_by_order():
    env = simpy.Environment()
    called = []
    call_at(env, 2.0, lambda: called.append(("late", env.now)))
    call_at(env, 1.0, lambda: called.append(("first", env.now)))
    call_at(env, 1.0, lambda: called.append(("second", env.now)))
    env.run()
    assert called == [("first", 1.0), ("second", 1.0), ("late", 2.0)]


def test_past_times_count_as_now():
    env = simpy.Environment(initial_time=5.0)
    called = []
    call_at(env, 3.0, lambda: called.append(env.now))
    assert not called  # as an event of its own
    env.run()
    assert called == [pytest.approx(5.0)]
