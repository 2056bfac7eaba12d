"""Ranges of values such as 5e6..100e6: both ends, in order, and readable numbers in between."""

import itertools

import pytest

from edgefl.core.value_ranges import USUAL_COUNT, values_of_range


def test_a_wide_range_has_equal_ratios():
    values = values_of_range("5e6..100e6:5")
    assert (values[0], values[-1], len(values)) == (5e6, 100e6, 5)
    ratios = [later / earlier for earlier, later in itertools.pairwise(values)]
    assert ratios == pytest.approx([20 ** (1 / 4)] * 4, rel=1e-3)


def test_a_narrow_range_has_equal_distances():
    assert values_of_range("0.5..2:4") == [0.5, 1, 1.5, 2]
    assert values_of_range("-10..23.0:4") == [-10, 1, 12, 23]
    assert values_of_range("1..10:4") == [1, 4, 7, 10]  # a ratio of ten is not more than ten


def test_whole_ends_give_whole_numbers():
    values = values_of_range("1..8")
    assert values == list(range(1, 9))
    assert all(isinstance(value, int) for value in values)
    assert len(values_of_range("1..9000")) == USUAL_COUNT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5..", "must be two numbers"),
        ("2..1", "from a smaller number to a larger one"),
        ("1..2:1", "2 to 200 values, got 1"),
        ("-1e308..1e308", "finite"),
    ],
)
def test_malformed_ranges_are_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        values_of_range(text)
