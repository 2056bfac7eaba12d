import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import units


def test_published_levels():
    np.testing.assert_allclose(units.dbm_to_w([0, 30, 43, -174]), [1e-3, 1.0, 19.952623, 3.981072e-21], rtol=1e-6)
    np.testing.assert_allclose(units.db_to_linear([3.0, -20.0]), [1.995262, 0.01], rtol=1e-6)
    np.testing.assert_allclose(units.linear_to_db(1_000.0), 30.0, rtol=1e-14)


@settings(deadline=None, derandomize=True)
@given(st.floats(-300, 300))
def test_there_and_back(level):
    np.testing.assert_allclose(units.linear_to_db(units.db_to_linear(level)), level, atol=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_level_needs_a_positive_power(bad):
    with pytest.raises(ValueError, match=f"= {bad} is out of range"):
        units.linear_to_db([1.0, bad])
