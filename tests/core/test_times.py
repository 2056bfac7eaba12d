"""Times that count as equal, and functions that the event loop calls."""

from hypothesis import given
from hypothesis import strategies as st

from edgefl.core.times import SAME_STEP, steps_begun, steps_completed

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
