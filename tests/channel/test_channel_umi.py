import itertools
import math

import numpy as np
import pytest

from channel import umi

DISTANCES_M = (10.0, 18.0, 42.0, 100.0, 209.9, 210.1, 400.0, 1_700.0, 5_000.0)
CARRIERS_HZ = (0.5e9, 2.0e9, 3.5e9, 28e9, 100e9)
HEIGHTS_M = (1.5, 6.0, 22.5)


def table_7_4_1_1(d_2d, f_ghz, h_ut, h_bs=10.0):
    """The UMi rows of TR 38.901, Table 7.4.1-1, a second time, one number at a time: (LoS, NLoS)."""
    d_3d = math.hypot(d_2d, h_bs - h_ut)
    d_bp = 4 * (h_bs - 1) * (h_ut - 1) * (f_ghz * 1e9) / 3e8
    if d_2d <= d_bp:
        pl_los = 32.4 + 21 * math.log10(d_3d) + 20 * math.log10(f_ghz)
    else:
        pl_los = 32.4 + 40 * math.log10(d_3d) + 20 * math.log10(f_ghz)
        pl_los -= 9.5 * math.log10(d_bp * d_bp + (h_bs - h_ut) ** 2)
    pl_nlos = 35.3 * math.log10(d_3d) + 22.4 + 21.3 * math.log10(f_ghz) - 0.3 * (h_ut - 1.5)
    return pl_los, max(pl_los, pl_nlos)


GRID = np.array(list(itertools.product(DISTANCES_M, CARRIERS_HZ, HEIGHTS_M)))


@pytest.mark.parametrize("los", [True, False])
def test_path_loss_against_the_table_computed_twice(los):
    distance_m, carrier_hz, height_m = GRID.T
    expected = [table_7_4_1_1(d, f / 1e9, h)[not los] for d, f, h in GRID]
    assert len(expected) == 135
    np.testing.assert_allclose(umi.path_loss_db(distance_m, carrier_hz, los, 10.0, height_m), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("distance_m", "los", "loss_db"),
    # 3.5 GHz, 10 m and 1.5 m, worked by hand from the table's coefficients
    [
        (10.0, True, 66.761),
        (100.0, True, 85.314),
        (250.0, True, 95.080),
        (100.0, False, 104.644),
        (250.0, False, 118.645),
    ],
)
def test_path_loss_by_hand(distance_m, los, loss_db):
    assert umi.path_loss_db(distance_m, 3.5e9, los) == pytest.approx(loss_db, abs=1e-3)


def test_breakpoint():
    np.testing.assert_allclose(umi.breakpoint_m(3.5e9), 210.0, rtol=1e-14)
    np.testing.assert_allclose(umi.breakpoint_m(3.5e9, 19.0, 3.5), 2_100.0, rtol=1e-14)


@pytest.mark.parametrize("carrier_hz", [0.7e9, 3.5e9, 28e9])
@pytest.mark.parametrize("height_m", [1.5, 2.0])
def test_slopes_meet_at_the_breakpoint(carrier_hz, height_m):
    distance_m = umi.breakpoint_m(carrier_hz, 10.0, height_m)
    at, after = umi.path_loss_db(distance_m * np.array([1, 1 + 1e-12]), carrier_hz, True, 10.0, height_m)
    assert after == pytest.approx(at, abs=1e-9)
    # and the two formulas differ: 21 dB a decade before, 40 dB after
    before, beyond = umi.path_loss_db(distance_m * np.array([0.999, 1.001]), carrier_hz, True, 10.0, height_m)
    assert (beyond - at) / (at - before) == pytest.approx(40 / 21, rel=0.01)


def test_los_probability():
    np.testing.assert_array_equal(umi.los_probability([0.0, 10.0, 18.0]), 1.0)
    # Table 7.4.2-1 by hand
    for distance_m in (19.0, 36.0, 100.0, 250.0, 5_000.0):
        expected = 18 / distance_m + math.exp(-distance_m / 36) * (1 - 18 / distance_m)
        assert umi.los_probability(distance_m) == pytest.approx(expected, abs=1e-12)
    assert umi.los_probability(36.0) == pytest.approx(0.5 + 0.5 / math.e)
    assert np.all(np.diff(umi.los_probability(np.geomspace(18, 5_000, 200))) < 0)


@pytest.mark.parametrize("quantity", ["distance_2d_m", "carrier_hz", "bs_height_m", "ut_height_m"])
@pytest.mark.parametrize("side", ["low", "high", "nan"])
def test_out_of_range(quantity, side):
    bad = {
        "distance_2d_m": {"low": 9.999, "high": 5_000.1, "range": "from 10 to 5000"},
        "carrier_hz": {"low": 0.49e9, "high": 100.1e9, "range": r"from 5e\+08 to 1e\+11"},
        "bs_height_m": {"low": 1.0, "high": np.inf, "range": "above"},
        "ut_height_m": {"low": 1.49, "high": 22.6, "range": "from 1.5 to 22.5"},
    }[quantity]
    value = bad.get(side, np.nan)
    arguments = {"distance_2d_m": 50.0, "carrier_hz": 3.5e9, "los": True, "bs_height_m": 10.0, "ut_height_m": 1.5}
    umi.path_loss_db(**arguments)
    with pytest.raises(ValueError, match=f"{quantity} = {value} is out of range: .*{bad['range']}"):
        umi.path_loss_db(**(arguments | {quantity: [arguments[quantity], value]}))


def test_borders_are_in_range_up_to_rounding():
    slack = np.array([-1e-10, 0.0, 1e-10])
    for border_m in (10.0, 5_000.0):
        assert np.all(np.isfinite(umi.path_loss_db(border_m * (1 + slack), 3.5e9, los=True)))
    for value_m in (10 * (1 - 1e-8), 5_000 * (1 + 1e-8)):
        with pytest.raises(ValueError, match="distance_2d_m"):
            umi.path_loss_db(value_m, 3.5e9, los=True)


def test_a_probability_is_not_a_state():
    with pytest.raises(ValueError, match="los must be boolean"):
        umi.path_loss_db(50.0, 3.5e9, 0.3)
