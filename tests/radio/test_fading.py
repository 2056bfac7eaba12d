"""The catalogue of fading models: keys, K-factors, lengths of blocks."""

from typing import Annotated

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from edgefl.radio.fading import FADING, Fading

ADAPTER = TypeAdapter(Annotated[Fading, FADING])
LOS = np.array([True, False, True])
K_DB = np.array([10.0, 10.0, 0.0])
SPEED_MPS = np.array([0.0, 10.0, 30.0, 1e6])


def parse(value):
    return ADAPTER.validate_python(value)


def test_k_factor_depends_on_the_line_of_sight():
    np.testing.assert_array_equal(parse("rayleigh").k_factor(LOS, K_DB), np.zeros(3))
    np.testing.assert_array_equal(parse("block").k_factor(LOS, K_DB), np.zeros(3))
    np.testing.assert_array_equal(parse("none").k_factor(LOS, K_DB), np.full(3, np.inf))
    np.testing.assert_allclose(parse("ricean").k_factor(LOS, K_DB), [10.0, 0.0, 1.0], rtol=1e-12)


def test_where_k_is_drawn_from():
    for name in ("rayleigh", "block", "none"):
        assert parse(name).k_statistics_db(9.0, 5.0) is None
    assert parse("ricean").k_statistics_db(9.0, 5.0) == (9.0, 5.0)
    assert parse({"kind": "ricean", "k_mean_db": 0.0}).k_statistics_db(9.0, 5.0) == (0.0, 5.0)
    assert parse({"kind": "ricean", "k_std_db": 0.0}).k_statistics_db(9.0, 5.0) == (9.0, 0.0)
    assert parse({"kind": "ricean", "k_mean_db": 7.0, "k_std_db": 4.0}).k_statistics_db(None, None) == (7.0, 4.0)
    for keys in ({}, {"k_mean_db": 7.0}, {"k_std_db": 4.0}):
        with pytest.raises(ValueError, match="ricean needs k_mean_db and k_std_db"):
            parse({"kind": "ricean", **keys}).k_statistics_db(None, None)


def test_how_long_a_block_holds():
    """At 3.5 GHz: 0.423 / 116.67 Hz = 3.63 ms, 1.21 ms, and less than a slot; a device at rest never changes."""
    holds = parse("block").hold_slots(SPEED_MPS, 3.5e9, 0.5e-3)
    np.testing.assert_array_equal(holds, [2**62, 7, 2, 1])
    assert holds.dtype == np.int64
    fixed = parse({"kind": "block", "block_s": 0.01}).hold_slots(SPEED_MPS, 3.5e9, 0.5e-3)
    np.testing.assert_array_equal(fixed, np.full(4, 20))
    for name in ("rayleigh", "ricean", "none"):
        assert parse(name).hold_slots(SPEED_MPS, 3.5e9, 0.5e-3) is None


def test_a_block_may_be_a_round():
    rounds = parse({"kind": "block", "length": "round"})
    assert rounds.new_in_each_round
    np.testing.assert_array_equal(rounds.hold_slots(SPEED_MPS, 3.5e9, 0.5e-3), np.full(4, 2**62))
    assert not parse("block").new_in_each_round


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nakagami", 'unknown fading model "nakagami"'),
        ({"kind": "block", "block_s": 1.0, "length": "round"}, "needs length: coherence_time"),
    ],
)
def test_fading_models_refuse(value, message):
    with pytest.raises(ValidationError, match=message):
        parse(value)
