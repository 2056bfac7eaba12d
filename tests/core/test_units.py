"""Numbers for people."""

import math

import pytest

from edgefl.core import units


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.00042, units.TIME, "420 µs"),
        (0.0421, units.TIME, "42.1 ms"),
        (47.31, units.TIME, "47.3 s"),
        (100.0, units.TIME, "100 s"),
        (744.0, units.TIME, "12.4 min"),
        (9000, units.TIME, "2.5 h"),
        (5 * 86400, units.TIME, "5 d"),
        (0, units.TIME, "0 s"),
        (0.2089, units.ENERGY, "209 mJ"),
        (69.02, units.ENERGY, "69.0 J"),
        (1270, units.ENERGY, "1.27 kJ"),
        (192e6, units.BYTES, "192 MB"),
        ("3.5e9", units.HERTZ, "3.5 GHz"),
        (100_000, units.PLAIN, "100,000"),
        (None, units.TIME, "–"),
        (math.nan, units.TIME, "–"),
        ("soon", units.TIME, "–"),
    ],
)
def test_quantity(value, kind, text):
    assert units.quantity(value, kind) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.01797, "0.0180"), (-0.9997, "−1.00"), (3.2345e-5, "3.23·10⁻⁵"), (1.02, "1.02"), (1e12, "1.00·10¹²")],
)
def test_digits(value, text):
    assert units.digits(value) == text


def test_targets_keep_their_digits_and_scores_have_one_decimal():
    assert units.percent(0.8) == "80 %"
    assert units.percent(0.925) == "92.5 %"
    assert units.score(0.94) == "94.0 %"
    assert units.score(None) == "–"
