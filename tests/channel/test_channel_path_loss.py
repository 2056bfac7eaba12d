"""Properties that UMi, UMa, RMa and InH of TR 38.901 share; properties of a single scenario are in its file."""

import itertools
import math

import numpy as np
import pytest

from channel import inh, rma, uma, umi

# Table 7.4.1-1 a second time, one number at a time: (d_2D, f_GHz, h_UT, h_BS) -> (LoS, NLoS)


def uma_table(d_2d, f, h_ut, h_bs):
    d_3d = math.hypot(d_2d, h_bs - h_ut)
    d_bp = 4 * (h_bs - 1) * (h_ut - 1) * (f * 1e9) / 3e8
    if d_2d <= d_bp:
        pl_los = 28 + 22 * math.log10(d_3d) + 20 * math.log10(f)
    else:
        pl_los = 28 + 40 * math.log10(d_3d) + 20 * math.log10(f) - 9 * math.log10(d_bp * d_bp + (h_bs - h_ut) ** 2)
    pl_nlos = 13.54 + 39.08 * math.log10(d_3d) + 20 * math.log10(f) - 0.6 * (h_ut - 1.5)
    return pl_los, max(pl_los, pl_nlos)


def rma_table(d_2d, f, h_ut, h_bs, h=5.0, w=20.0):
    def pl_1(d):
        loss = 20 * math.log10(40 * math.pi * d * f / 3)
        loss += min(0.03 * h**1.72, 10) * math.log10(d) - min(0.044 * h**1.72, 14.77)
        return loss + 0.002 * math.log10(h) * d

    d_3d = math.hypot(d_2d, h_bs - h_ut)
    d_bp = 2 * math.pi * h_bs * h_ut * (f * 1e9) / 3e8
    pl_los = pl_1(d_3d) if d_2d <= d_bp else pl_1(d_bp) + 40 * math.log10(d_3d / d_bp)
    pl_nlos = 161.04 - 7.1 * math.log10(w) + 7.5 * math.log10(h)
    pl_nlos -= (24.37 - 3.7 * (h / h_bs) ** 2) * math.log10(h_bs)
    pl_nlos += (43.42 - 3.1 * math.log10(h_bs)) * (math.log10(d_3d) - 3)
    pl_nlos += 20 * math.log10(f) - (3.2 * math.log10(11.75 * h_ut) ** 2 - 4.97)
    return pl_los, max(pl_los, pl_nlos)


def inh_table(d_2d, f, h_ut, h_bs):
    d_3d = math.hypot(d_2d, h_bs - h_ut)
    pl_los = 32.4 + 17.3 * math.log10(d_3d) + 20 * math.log10(f)
    return pl_los, max(pl_los, 38.3 * math.log10(d_3d) + 17.30 + 24.9 * math.log10(f))


def grid(*axes):
    return np.array(list(itertools.product(*axes)))


OUTDOORS_M = (10.0, 60.0, 250.0, 900.0, 2_500.0, 5_000.0)
CASES = [
    pytest.param(uma, uma_table, grid(OUTDOORS_M, (0.5, 3.5, 28.0, 100.0), (1.5, 6.0, 12.9), (25.0, 40.0)), id="uma"),
    pytest.param(rma, rma_table, grid(OUTDOORS_M, (0.5, 2.0, 7.0, 30.0), (1.0, 1.5, 10.0), (10.0, 35.0)), id="rma"),
    pytest.param(inh, inh_table, grid((1.0, 5.0, 30.0, 140.0), (0.5, 3.5, 60.0), (1.0, 1.5), (3.0, 5.0)), id="inh"),
]


@pytest.mark.parametrize("los", [True, False])
@pytest.mark.parametrize(("model", "table", "points"), CASES)
def test_path_loss_against_the_second_implementation(model, table, points, los):
    distance_m, f_ghz, ut_height_m, bs_height_m = points.T
    expected = [table(*point)[not los] for point in points]
    assert len(expected) >= 48
    actual = model.path_loss_db(distance_m, f_ghz * 1e9, los, bs_height_m, ut_height_m)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


# What ns-3's test suite of its 3GPP models expects (src/propagation/test): 5 GHz, terminals at 1.5 m
NS3_DB = [
    (umi, 10.0, (10, 100, 1_000, 5_000), True, (69.8591, 88.4122, 119.3114, 147.2696)),
    (umi, 10.0, (10, 100, 1_000, 5_000), False, (76.7563, 107.9432, 143.1886, 167.8617)),
    (uma, 25.0, (10, 100, 1_000, 5_000), True, (72.9380, 86.2362, 109.7252, 137.6794)),
    (uma, 25.0, (10, 100, 1_000, 5_000), False, (82.5131, 106.1356, 144.7641, 172.0753)),
    (rma, 35.0, (10, 100, 1_000, 10_000), True, (77.3784, 87.2965, 108.5577, 140.3896)),
    (rma, 35.0, (10, 100, 1_000, 5_000), False, (77.3784, 95.7718, 133.5223, 160.5169)),
    (inh, 3.0, (1, 10, 50, 100), True, (50.8072, 63.7630, 75.7750, 80.9802)),
    (inh, 3.0, (1, 10, 50, 100), False, (50.8072, 73.1894, 99.7824, 111.3062)),
]


@pytest.mark.parametrize(("model", "bs_height_m", "distances_m", "los", "losses_db"), NS3_DB)
def test_path_loss_against_published_values(model, bs_height_m, distances_m, los, losses_db):
    actual = model.path_loss_db(distances_m, 5e9, los, bs_height_m, ut_height_m=1.5)
    np.testing.assert_allclose(actual, losses_db, rtol=0, atol=1e-4)


# Statistics as the report prints them: Tables 7.4.1-1, 7.5-6 and 7.6.3.1-2
STATISTICS = {
    umi: ((4.0, 7.82, 7.0), (10.0, 13.0, 7.0), 50.0, (9.0, 5.0, 15.0)),
    uma: ((4.0, 6.0, 7.0), (37.0, 50.0, 7.0), 50.0, (9.0, 3.5, 12.0)),
    rma: ((4.0, 8.0, 8.0), (37.0, 120.0, 120.0), 60.0, (7.0, 4.0, 40.0)),
    inh: ((3.0, 8.03), (10.0, 6.0), 10.0, (7.0, 4.0, 4.0)),
}


@pytest.mark.parametrize("model", STATISTICS)
def test_statistics(model):
    found = model.STATISTICS
    ricean = (found.k_mean_db, found.k_std_db, found.k_decorrelation_m)
    assert (found.shadowing_db, found.decorrelation_m, found.los_decorrelation_m, ricean) == STATISTICS[model]


REACH_M = {umi: 5_000.0, uma: 5_000.0, rma: 5_000.0, inh: 149.0}


@pytest.mark.parametrize(("model", "near_slope", "tolerance_db"), [(uma, 22.0, 1e-9), (rma, None, 1e-3)])
def test_slopes_meet_at_the_breakpoint(model, near_slope, tolerance_db):
    """RMa meets only nearly: its PL2 starts from PL1 at d_3D = d_BP, which is a little less than d_3D there."""
    distance_m = model.breakpoint_m(3.5e9)
    at, after = model.path_loss_db(distance_m * np.array([1, 1 + 1e-12]), 3.5e9, True)
    assert after == pytest.approx(at, abs=tolerance_db)
    before, beyond = model.path_loss_db(distance_m * np.array([0.99, 1.01]), 3.5e9, True)
    if near_slope:
        assert (beyond - at) / (at - before) == pytest.approx(40 / near_slope, rel=0.02)
    assert (beyond - after) / math.log10(1.01) == pytest.approx(40, rel=0.01)


def test_the_step_of_rma_at_the_breakpoint_is_small():
    for carrier_hz, bs_m, ut_m, h in itertools.product((0.5e9, 3.5e9), (10.0, 35.0, 150.0), (1.0, 1.5), (5.0, 50.0)):
        distance_m = rma.breakpoint_m(carrier_hz, bs_m, ut_m) * np.array([1, 1 + 1e-12])
        if distance_m[1] < 10_000:
            at, after = rma.path_loss_db(distance_m, carrier_hz, True, bs_m, ut_m, h)
            assert -0.01 < after - at < 0.04


def test_breakpoints_by_hand():
    assert uma.breakpoint_m(3.5e9) == pytest.approx(4 * 24 * 0.5 * 3.5e9 / 3e8)  # 560 m
    assert uma.breakpoint_m(3.5e9, 25.0, 16.5, 15.0) == pytest.approx(4 * 10 * 1.5 * 3.5e9 / 3e8)
    assert rma.breakpoint_m(3.5e9) == pytest.approx(2 * math.pi * 35 * 1.5 * 3.5e9 / 3e8)  # 3.85 km


# Table 7.4.2-1 by hand
PROBABILITIES = [
    (uma, {}, 18.0, 1.0),
    (uma, {}, 63.0, 18 / 63 + (1 - 18 / 63) / math.e),
    (uma, {"ut_height_m": 13.0}, 150.0, 18 / 150 + math.exp(-150 / 63) * (1 - 18 / 150)),
    (
        uma,
        {"ut_height_m": 22.5},
        150.0,
        (18 / 150 + math.exp(-150 / 63) * (1 - 18 / 150)) * (1 + 0.95**1.5 * 1.25 * 1.5**3 / math.e),
    ),
    (rma, {}, 10.0, 1.0),
    (rma, {}, 1_010.0, 1 / math.e),
    (rma, {}, 10_000.0, math.exp(-9.99)),
    (inh, {}, 1.2, 1.0),
    (inh, {}, 5.9, 1 / math.e),
    (inh, {}, 6.5, 0.32),
    (inh, {}, 39.1, 0.32 / math.e),
    (inh, {"office": "open"}, 5.0, 1.0),
    (inh, {"office": "open"}, 49.0, math.exp(-44 / 70.8)),
    (inh, {"office": "open"}, 49.0 + 1e-9, 0.54),
    (inh, {"office": "open"}, 150.0, 0.54 * math.exp(-101 / 211.7)),
]


@pytest.mark.parametrize(("model", "arguments", "distance_m", "probability"), PROBABILITIES)
def test_los_probability_by_hand(model, arguments, distance_m, probability):
    assert model.los_probability(distance_m, **arguments) == pytest.approx(probability, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "arguments"),
    [(uma, {}), (uma, {"ut_height_m": 22.5}), (rma, {}), (inh, {}), (inh, {"office": "open"})],
)
def test_los_probability_is_one(model, arguments):
    probability = model.los_probability(np.linspace(0.0, REACH_M[model], 2_001), **arguments)
    assert probability[0] == 1.0
    assert np.all((probability > 0) & (probability <= 1))


GOOD = {"distance_2d_m": 50.0, "carrier_hz": 3.5e9, "los": True, "bs_height_m": 30.0, "ut_height_m": 1.5}
BAD = [
    (uma, "distance_2d_m", (9.99, 5_000.1)),
    (uma, "carrier_hz", (0.49e9, 100.1e9)),
    (uma, "bs_height_m", (22.4, np.inf)),
    (uma, "ut_height_m", (1.49, 22.6)),
    (uma, "u", (-0.1, 1.1)),
    (rma, "distance_2d_m", (9.99, 10_001.0)),
    (rma, "carrier_hz", (0.49e9, 30.1e9)),
    (rma, "bs_height_m", (9.99, 150.1)),
    (rma, "ut_height_m", (0.99, 10.1)),
    (rma, "building_height_m", (4.99, 50.1)),
    (rma, "street_width_m", (4.99, 50.1)),
    (inh, "distance_2d_m", (-1.0, np.inf)),
    (inh, "carrier_hz", (0.49e9, 100.1e9)),
    (inh, "bs_height_m", (0.0, 150.1)),
    (inh, "ut_height_m", (0.0, np.inf)),
]


@pytest.mark.parametrize(("model", "quantity", "bad"), BAD)
def test_out_of_range(model, quantity, bad):
    good = GOOD | {quantity: (GOOD | {"u": 0.5, "building_height_m": 5.0, "street_width_m": 20.0})[quantity]}
    model.path_loss_db(**good)
    for value in (*bad, np.nan):
        with pytest.raises(ValueError, match=f"{quantity} = {value} is out of range"):
            model.path_loss_db(**(good | {quantity: [good[quantity], value]}))


def test_inh_is_bounded_between_the_antennas():
    assert np.isfinite(inh.path_loss_db(0.0, 3.5e9, True))  # 2 m apart, one above the other
    for distance_m, heights_m in [(0.5, (3.0, 2.5)), (150.0, (3.0, 1.0))]:
        with pytest.raises(ValueError, match=r"distance_3d_m = .* from 1 to 150"):
            inh.path_loss_db(distance_m, 3.5e9, True, *heights_m)


def test_rma_without_sight_ends_earlier():
    assert np.all(np.isfinite(rma.path_loss_db([10_000.0, 5_000.0], 3.5e9, [True, False])))
    with pytest.raises(ValueError, match=r"distance_2d_m = 5000\.1 is out of range: it must be at most 5000 without"):
        rma.path_loss_db([10_000.0, 5_000.1], 3.5e9, [True, False])


def test_shadowing_of_rma_is_wider_beyond_the_breakpoint():
    distance_m = rma.breakpoint_m(3.5e9) * np.array([0.999, 1.0, 1.001])
    np.testing.assert_array_equal(rma.shadowing_std_db(distance_m, 3.5e9, True), [4.0, 4.0, 6.0])
    np.testing.assert_array_equal(rma.shadowing_std_db(distance_m, 3.5e9, False), 8.0)


@pytest.mark.parametrize("model", [uma, rma, inh])
def test_refusals(model):
    with pytest.raises(ValueError, match="los must be boolean"):
        model.path_loss_db(50.0, 3.5e9, 0.3)
    for bad in (-1.0, 20_000.0, np.nan):
        with pytest.raises(ValueError, match=r"distance_2d_m = .* out of range"):
            model.los_probability([20.0, bad])


def test_there_are_two_offices():
    with pytest.raises(ValueError, match="office = closed is unknown: it must be mixed or open"):
        inh.los_probability(10.0, "closed")
