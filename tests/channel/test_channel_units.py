import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import energy, units


def test_published_levels():
    np.testing.assert_allclose(units.dbm_to_w([0, 30, 43, -174]), [1e-3, 1.0, 19.952623, 3.981072e-21], rtol=1e-6)
    np.testing.assert_allclose(units.w_to_dbm([0.2, 20.0]), [23.0103, 43.0103], atol=1e-4)
    np.testing.assert_allclose(units.db_to_linear([3.0, -20.0]), [1.995262, 0.01], rtol=1e-6)
    np.testing.assert_allclose(units.linear_to_db(1_000.0), 30.0, rtol=1e-14)


@settings(deadline=None, derandomize=True)
@given(st.floats(-300, 300))
def test_there_and_back(level):
    np.testing.assert_allclose(units.linear_to_db(units.db_to_linear(level)), level, atol=1e-9)
    np.testing.assert_allclose(units.w_to_dbm(units.dbm_to_w(level)), level, atol=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("to_level", [units.w_to_dbm, units.linear_to_db])
def test_a_level_needs_a_positive_power(to_level, bad):
    with pytest.raises(ValueError, match=f"= {bad} is out of range"):
        to_level([1.0, bad])


def test_communication_energy():
    # eq. 42 with the paper's 100 mW and 200 mW
    np.testing.assert_allclose(energy.communication_j(0.1, [3.0, 0.0], 0.2, [5.0, 7.0]), [1.3, 1.4], rtol=1e-14)


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_communication_energy_refuses(position, bad):
    arguments = [0.1, 3.0, 0.2, 5.0]
    arguments[position] = bad
    with pytest.raises(ValueError, match=f"= {bad} is out of range"):
        energy.communication_j(*arguments)
