"""Messages by turns: two in an ordinary round, as many as each participant has where they are listed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefl.radio.messages import DOWNLOAD, UPLOAD, by_turns, round_trip, way_of


def test_turns_lead_down_and_up_in_alternation():
    assert [way_of(turn) for turn in range(4)] == ["down", "up", "down", "up"]
    assert (way_of(DOWNLOAD), way_of(UPLOAD)) == ("down", "up")


@pytest.mark.parametrize("down_bits", [7e5, np.array([7e5, 1e5, 0.0])], ids=["alike", "each"])
def test_a_round_trip_has_two_turns(down_bits):
    messages = round_trip(3, down_bits, 2e5, lambda duration_s: 2.0 * duration_s)
    (group,) = messages.groups
    assert (group.turns, group.rows.tolist()) == (2, [0, 1, 2])
    assert messages.total_bits("down").tolist() == np.broadcast_to(down_bits, 3).tolist()
    assert messages.total_bits("up").tolist() == [2e5] * 3
    assert group.pause_s(UPLOAD, np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]


TURNS = st.lists(st.floats(0.0, 1e9), min_size=2, max_size=40)


@pytest.mark.oracle
@given(st.lists(TURNS, min_size=1, max_size=6))
def test_participants_may_differ_in_turns(bits):
    """For any groups, sums are exactly those of each participant's bits."""
    bits = [np.array(each) for each in bits]
    messages = by_turns(bits, [each / 1e9 for each in bits])
    for row, each in enumerate(bits):
        group, place = messages.place(row)
        assert messages.groups[group].rows[place] == row
        assert messages.groups[group].turns == len(each)
        assert [messages.bits(row, turn) for turn in range(len(each))] == each.tolist()
        for turn in range(len(each)):
            pause_s = messages.groups[group].pause_s(turn, np.zeros(len(messages.groups[group].rows)))
            assert pause_s[place] == each[turn] / 1e9
        assert messages.total_bits("down")[row] == each[0::2].sum()
        assert messages.total_bits("up")[row] == each[1::2].sum()
