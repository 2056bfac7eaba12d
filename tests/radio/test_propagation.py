"""The propagation models: states by chance, penetration, statistics by state, and the ranges."""

import itertools
import math

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import binomtest, chisquare, kstest

from channel import free_space, inh, log_distance, penetration, rma, uma, umi
from edgefl.radio.propagation import LOS, NLOS, O2I, PROPAGATION, PathDraws

CARRIER_HZ = 3.5e9
BS_HEIGHT_M = {"umi_los": 10.0, "umi": 10.0, "uma": 25.0, "rma": 35.0, "inh": 3.0, "free_space": 10.0}
BS_HEIGHT_M |= {"log_distance": 10.0, "listed": 10.0, "map": 25.0}
REQUIRED = {"listed": {"path_loss_db": [100.0]}, "map": {"file": "street-block.npz"}}
OUTDOOR = ["umi", "uma", "rma"]


def model(kind, **keys):
    return PROPAGATION.load(kind).model_validate(REQUIRED.get(kind, {}) | keys)


def draws(shape, seed=1, **fixed):
    """Return random draws, except the given ones."""
    rng = np.random.default_rng(seed)
    names = ("los", "indoor", "building", "environment")
    drawn = {name: rng.random(shape) for name in names}
    drawn |= {"indoor_distance": rng.random((*shape, 2)), "penetration": rng.standard_normal(shape)}
    drawn |= {"path_depth": rng.random(shape), "floor": rng.random((*shape, 2)), "device": np.zeros(shape, dtype=int)}
    return PathDraws(**(drawn | {name: np.broadcast_to(value, drawn[name].shape) for name, value in fixed.items()}))


def priced(kind, distance_m, *, height_m=1.5, seed=1, keys=None, carrier_hz=CARRIER_HZ, **fixed):
    distance_m = np.asarray(distance_m, dtype=float)
    given = draws(distance_m.shape, seed, **fixed)
    heights_m = np.full(distance_m.shape, height_m)
    return model(kind, **(keys or {})).large_scale(distance_m, carrier_hz, BS_HEIGHT_M[kind], heights_m, given)


@pytest.mark.parametrize(("kind", "physics"), [("umi", umi), ("uma", uma), ("rma", rma), ("inh", inh)])
def test_outdoors_the_path_loss_is_that_of_the_state(kind, physics):
    distance_m = np.linspace(10.0, 140.0, 200)
    found = priced(kind, distance_m)
    los = found.state == LOS
    assert 0 < los.sum() < 200
    np.testing.assert_array_equal(found.state, np.where(found.los, LOS, NLOS))
    expected = physics.path_loss_db(distance_m, CARRIER_HZ, los, BS_HEIGHT_M[kind], 1.5)
    np.testing.assert_array_equal(found.path_loss_db, expected)
    for name, table in [("shadowing_std_db", "shadowing_db"), ("decorrelation_m", "decorrelation_m")]:
        los_value, nlos_value = getattr(physics.STATISTICS, table)[:2]
        np.testing.assert_array_equal(getattr(found, name), np.where(los, los_value, nlos_value))


@pytest.mark.parametrize(
    ("kind", "keys", "distance_m", "height_m", "probability"),
    [
        # Table 7.4.2-1 by hand
        ("umi", {}, 36.0, 1.5, 0.5 + 0.5 / math.e),
        ("umi", {}, 120.0, 1.5, 0.15 + math.exp(-120 / 36) * 0.85),
        ("uma", {}, 126.0, 1.5, 18 / 126 + math.exp(-2) * (1 - 18 / 126)),
        (
            "uma",
            {},
            150.0,
            22.5,
            (0.12 + math.exp(-150 / 63) * 0.88) * (1 + 0.95**1.5 * 1.25 * 1.5**3 / math.e),
        ),
        ("rma", {}, 1_010.0, 1.5, 1 / math.e),
        ("inh", {}, 5.9, 1.5, 1 / math.e),
        ("inh", {"office": "open"}, 119.8, 1.5, 0.54 * math.exp(-70.8 / 211.7)),
    ],
)
def test_frequency_of_line_of_sight_matches_the_report(kind, keys, distance_m, height_m, probability):
    count = 20_000
    found = priced(kind, np.full(count, distance_m), height_m=height_m, keys=keys)
    seen = int((found.state == LOS).sum())
    assert binomtest(seen, count, probability).pvalue > 0.01
    assert binomtest(seen, count, probability + 0.025).pvalue < 1e-3  # the power of the test


@pytest.mark.parametrize("kind", ["umi_los", "free_space", "log_distance", "listed"])
def test_models_without_states_are_always_in_sight(kind):
    found = priced(kind, np.linspace(10, 5_000, 50), los=0.999999, indoor=0.0)
    assert np.all(found.los)
    assert np.all(found.state == LOS)


def test_models_without_states_price_as_the_physics():
    distance_m = np.linspace(10, 5_000, 50)
    np.testing.assert_array_equal(
        priced("umi_los", distance_m).path_loss_db, umi.path_loss_db(distance_m, CARRIER_HZ, True)
    )
    through_m = np.hypot(distance_m, 8.5)
    free_db = free_space.path_loss_db(through_m, CARRIER_HZ)
    np.testing.assert_allclose(priced("free_space", distance_m).path_loss_db, free_db, atol=1e-9)
    keys = {"exponent": 3.5, "reference_m": 2.0, "shadowing_db": 6.5, "decorrelation_m": 33.0}
    found = priced("log_distance", distance_m, keys=keys)
    expected = log_distance.path_loss_db(through_m, CARRIER_HZ, 3.5, 2.0)
    np.testing.assert_allclose(found.path_loss_db, expected, atol=1e-9)
    np.testing.assert_array_equal(found.shadowing_std_db, 6.5)
    np.testing.assert_array_equal(found.decorrelation_m, 33.0)
    given = priced("log_distance", distance_m, keys=keys | {"reference_loss_db": 50.0}).path_loss_db
    np.testing.assert_allclose(given, 50 + 35 * np.log10(through_m / 2), atol=1e-9)


def test_umi_los_keeps_the_papers_shadowing():
    found = priced("umi_los", [10.0, 250.0])
    np.testing.assert_array_equal(found.shadowing_std_db, 4.0)
    np.testing.assert_array_equal(found.decorrelation_m, 10.0)


@pytest.mark.parametrize("kind", OUTDOOR)
def test_into_buildings(kind):
    """Device by device, computed a second time."""
    count = 400
    share = 0.6
    high = {} if kind == "rma" else {"high_loss": 0.3, "walls": "materials"}
    distance_m = np.linspace(10.0, 250.0, count)
    given = draws((count,))
    physics, depth_m = {"umi": (umi, 25.0), "uma": (uma, 25.0), "rma": (rma, 10.0)}[kind]
    found = priced(kind, distance_m, keys={"indoor": share, **high})
    np.testing.assert_array_equal(found.state == O2I, given.indoor < share)
    for n, d in enumerate(distance_m):
        inside = given.indoor[n] < share
        d_in = depth_m * min(given.indoor_distance[n]) if inside else 0.0
        los = bool(given.los[n] < physics.los_probability(max(d - d_in, 0.0)))
        loss = float(physics.path_loss_db(d, CARRIER_HZ, los))
        if inside:
            high_loss = bool(given.building[n] < high.get("high_loss", 0.0))
            sigma = 6.5 if high_loss else 4.4
            loss += float(penetration.wall_db(CARRIER_HZ, high_loss)) + 0.5 * d_in + sigma * given.penetration[n]
        assert found.los[n] == los
        assert found.path_loss_db[n] == pytest.approx(loss, abs=1e-9)
        if inside:
            state = 2
        elif los:
            state = 0
        else:
            state = 1
        assert found.shadowing_std_db[n] == physics.STATISTICS.shadowing_db[state]
        assert found.decorrelation_m[n] == physics.STATISTICS.decorrelation_m[state]
    assert {LOS, NLOS} == set(np.where(found.los, LOS, NLOS)[found.state == O2I])


@pytest.mark.parametrize("kind", OUTDOOR)
def test_shares_of_devices_and_buildings(kind):
    high = {} if kind == "rma" else {"high_loss": 0.5, "walls": "materials"}
    count = 20_000
    found = priced(kind, np.full(count, 100.0), keys={"indoor": 0.8, **high}, penetration=0.0, indoor_distance=0.0)
    indoors = found.state == O2I
    assert binomtest(int(indoors.sum()), count, 0.8).pvalue > 0.01
    assert np.all(found.state[indoors] == O2I)
    base_db = found.path_loss_db[indoors] - np.where(
        found.los[indoors], *({"umi": umi, "uma": uma, "rma": rma}[kind].path_loss_db(100.0, CARRIER_HZ, [True, False]))
    )
    walls_db = penetration.wall_db(CARRIER_HZ, [False, True])
    low = np.isclose(base_db, walls_db[0])
    assert np.all(low | np.isclose(base_db, walls_db[1]))
    assert low.all() if kind == "rma" else binomtest(int(low.sum()), low.size, 0.5).pvalue > 0.01


def test_spread_of_penetration_matches_the_report():
    keys = {"indoor": 1.0, "high_loss": 1.0, "walls": "materials"}
    found = priced("umi", np.full(5_000, 100.0), keys=keys, los=0.001, indoor_distance=0.0)
    middle = float(umi.path_loss_db(100.0, CARRIER_HZ, True) + penetration.wall_db(CARRIER_HZ, True))
    normal = (found.path_loss_db - middle) / 6.5
    assert kstest(normal, "norm").pvalue > 0.01
    assert kstest(normal * 6.5 / 4.4, "norm").pvalue < 1e-6


@pytest.mark.parametrize("kind", ["umi", "uma"])
def test_one_loss_of_all_buildings_below_6_ghz(kind):
    """Table 7.4.3-3: 20 dB, half a decibel a metre, U(0, 25) m by link, and nothing around it."""
    count = 4_000
    physics = {"umi": umi, "uma": uma}[kind]
    keys = {"indoor": 1.0, "high_loss": 0.5}
    at = {"distance_m": np.full(count, 100.0), "keys": keys, "los": 0.0001}
    below_hz = np.nextafter(6e9, 0.0)
    found = priced(kind, carrier_hz=below_hz, **at)
    entry_db = found.path_loss_db - float(physics.path_loss_db(100.0, below_hz, True))
    assert kstest(entry_db, "uniform", (20.0, 12.5)).pvalue > 0.01
    assert np.all(found.shadowing_std_db == 7.0)
    np.testing.assert_allclose(entry_db, 20.0 + 12.5 * draws((count,), los=0.0001).path_depth, rtol=0, atol=1e-9)
    # The clause says below 6 GHz: at 6 GHz, and with `walls: materials`, the walls count.
    at_6_ghz = priced(kind, carrier_hz=6e9, **at)
    assert (
        kstest(at_6_ghz.path_loss_db - float(physics.path_loss_db(100.0, 6e9, True)), "uniform", (20.0, 12.5)).pvalue
        < 1e-9
    )
    at["keys"] = keys | {"walls": "materials"}
    walls = priced(kind, carrier_hz=below_hz, **at)
    np.testing.assert_allclose(walls.path_loss_db, at_6_ghz.path_loss_db, atol=1e-6)


def test_the_glass_of_release_19():
    for release, glass_db in ((16, 23 + 0.3 * 28), (19, 25.4 + 0.11 * 28)):
        keys = {"indoor": 1.0, "high_loss": 1.0, "release": release}
        at = {"los": 0.0001, "indoor_distance": 0.0, "penetration": 0.0}
        found = priced("umi", [100.0], keys=keys, carrier_hz=28e9, **at)
        entry_db = found.path_loss_db[0] - float(umi.path_loss_db(100.0, 28e9, True))
        # At 28 GHz concrete lets nothing through: 5 dB, the glass, and its share of the wall.
        assert entry_db == pytest.approx(5 + glass_db - 10 * math.log10(0.7), abs=1e-6)


def test_devices_in_buildings_stand_on_floors():
    """TR 36.873 Table 6-1: h = 3 (n - 1) + 1.5, n in 1 to N, N in 4 to 8; outdoors the device's own height."""
    count = 20_000
    given = draws((count,))
    uma_model = model("uma", indoor=0.8, floors=[4, 8])
    heights_m = uma_model.heights_m(np.full(count, 1.7), given)
    indoors = given.indoor < 0.8
    np.testing.assert_array_equal(heights_m[~indoors], 1.7)
    floors, counts = np.unique(heights_m[indoors], return_counts=True)
    np.testing.assert_allclose(floors, 1.5 + 3.0 * np.arange(8))
    likely = np.array([sum(1 / (5 * most) for most in range(max(n, 4), 9)) for n in range(1, 9)])
    assert chisquare(counts, likely / likely.sum() * counts.sum()).pvalue > 0.01
    assert chisquare(counts, np.full(8, counts.sum() / 8)).pvalue < 1e-9  # the power of the test
    assert uma_model.height_span_m(1.7, 1.7) == (1.5, 22.5)
    assert model("uma", indoor=0.8).height_span_m(1.7, 1.7) == (1.7, 1.7)
    np.testing.assert_array_equal(model("uma", indoor=0.8).heights_m(np.full(count, 1.7), given), 1.7)


def test_uma_draws_the_height_of_the_environment():
    low = priced("uma", [300.0], height_m=22.5, los=0.0001, environment=0.001).path_loss_db[0]
    high = priced("uma", [300.0], height_m=22.5, los=0.0001, environment=0.999).path_loss_db[0]
    assert low == pytest.approx(float(uma.path_loss_db(300.0, CARRIER_HZ, True, 25.0, 22.5, 0.001)))
    assert high > low


def test_rma_takes_its_surroundings_and_the_wider_shadowing_beyond_the_breakpoint():
    keys = {"building_height_m": 20.0, "street_width_m": 30.0}
    found = priced("rma", [3_000.0, 4_000.0, 4_000.0], keys=keys, los=[0.0001, 0.0001, 0.9999])
    expected = rma.path_loss_db([3_000.0, 4_000.0, 4_000.0], CARRIER_HZ, [True, True, False], 35.0, 1.5, 20.0, 30.0)
    np.testing.assert_array_equal(found.path_loss_db, expected)
    np.testing.assert_array_equal(found.shadowing_std_db, [4.0, 6.0, 8.0])
    indoors = priced("rma", [4_000.0], keys=keys | {"indoor": 1.0}, los=0.0001)
    np.testing.assert_array_equal(indoors.shadowing_std_db, 8.0)


RANGES_M = {"umi_los": (10, 5_000), "umi": (10, 5_000), "uma": (10, 5_000), "rma": (10, 5_000)}
RANGES_M["inh"] = (1.0, math.sqrt(150**2 - 1.5**2))


@pytest.mark.parametrize("kind", RANGES_M)
def test_out_of_range(kind):
    """An error by default; by choice the price of the border."""
    shortest, longest = RANGES_M[kind]
    outside = [0.5 * shortest, 1.2 * longest] if kind != "inh" else [1.2 * longest]
    for distance_m in outside:
        with pytest.raises(ValueError, match=r"distance_.d_m = .* is out of range"):
            priced(kind, [distance_m])
    clamped = priced(kind, [*outside, 50.0], keys={"out_of_range": "clamp"}, los=0.0001)
    border = [shortest, longest] if kind != "inh" else [longest]
    at = priced(kind, [*border, 50.0], los=0.0001)
    np.testing.assert_array_equal(clamped.path_loss_db, at.path_loss_db)
    with pytest.raises(ValueError, match="nan is out of range"):
        priced(kind, [np.nan], keys={"out_of_range": "clamp"})


def test_clamp_of_inh_is_between_the_antennas():
    """Below 1 m apart only where the heights are near each other."""
    found = priced("inh", [0.1], height_m=2.5, keys={"out_of_range": "clamp"}, los=0.0001)
    assert found.path_loss_db == pytest.approx(32.4 + 20 * math.log10(3.5))
    assert priced("inh", [0.0], height_m=1.5).path_loss_db == pytest.approx(
        32.4 + 17.3 * math.log10(1.5) + 20 * math.log10(3.5)
    )


def test_clamp_of_the_simple_models_is_the_far_field_and_no_loss():
    free = model("free_space", out_of_range="clamp").large_scale(
        np.zeros(1), CARRIER_HZ, 1.5, np.full(1, 1.5), draws((1,))
    )
    assert free.path_loss_db == pytest.approx(20 * math.log10(4 * math.pi))
    line = model("log_distance", out_of_range="clamp", reference_m=10.0, reference_loss_db=70.0)
    below = line.large_scale(np.array([0.0, 1.0, 10.0]), CARRIER_HZ, 1.5, np.full(3, 1.5), draws((3,)))
    assert below.path_loss_db == pytest.approx([0.0, 40.0, 70.0])  # 30 dB a decade


@pytest.mark.parametrize(
    ("kind", "distances_m", "moved"),
    [("umi", [9.0, 10.0, 300.0, 5_000.0, 6_000.0], 2), ("free_space", [0.0, 1.0], 0), ("inh", [0.0, 149.0, 151.0], 1)],
)
def test_paths_at_the_border_are_counted(kind, distances_m, moved):
    distance_m = np.array(distances_m)
    heights_m = np.full(len(distance_m), 1.5)
    arguments = (distance_m, CARRIER_HZ, 10.0, heights_m)
    assert model(kind, out_of_range="clamp").count_at_border(*arguments) == moved
    assert model(kind, out_of_range="clamp").count_at_border(distance_m * (1 + 1e-12), *arguments[1:]) == moved
    assert model(kind).count_at_border(*arguments) == 0


@pytest.mark.parametrize(
    ("kind", "cell", "sentence"),
    [
        ("umi_los", (10, 6_000, 3.5e9, 10), "umi_los holds from 10 m to 5 km, the cell spans 10 m to 6000 m"),
        ("umi", (9, 250, 3.5e9, 10), "umi holds from 10 m to 5 km, the cell spans 9 m to 250 m"),
        ("umi", (10, 250, 0.4e9, 10), "umi holds from 0.5 to 100 GHz, the carrier is at 0.4 GHz"),
        ("uma", (10, 250, 3.5e9, 10), "uma holds for base stations' heights from 22.5 m on, this one is at 10 m"),
        ("uma", (10, 250, 3.5e9, 25, (1, 2)), "uma holds for devices' heights from 1.5 m to 22.5 m, these are at 1 m"),
        ("rma", (10, 5_001, 3.5e9, 35), "rma holds from 10 m to 5 km"),
        ("rma", (10, 250, 31e9, 35), "rma holds from 0.5 to 30 GHz"),
        ("rma", (10, 250, 3.5e9, 9), "rma holds for base stations' heights from 10 m to 150 m"),
        ("rma", (10, 250, 3.5e9, 35, (1.5, 22.5)), "rma holds for devices' heights from 1 m to 10 m"),
        ("inh", (1, 151, 3.5e9, 3), "inh holds from 0 m to 150 m"),
        ("inh", (0, 100, 3.5e9, 3, (1.5, 4.0)), "inh holds from 1 m to 150 m, the cell spans 0 m"),
        ("free_space", (0, 250, 3.5e9, 3, (1.5, 4.0)), "free_space holds from 0.08571 m on, the cell spans 0 m"),
        ("log_distance", (0.03, 250, 3.5e9, 1.5), "log_distance holds from 0.03597 m on, the cell spans 0.03 m"),
        ("log_distance", (10, 250, 0.2e9, 1.5), "log_distance needs reference_m of at least a wavelength, 1.5 m"),
    ],
)
def test_check_names_the_violated_range(kind, cell, sentence):
    assert model(kind).check(*cell).startswith(sentence)
    clamped = model(kind, out_of_range="clamp").check(*cell)
    assert (clamped is None) == ("the cell spans" in model(kind).check(*cell))


# A map has places, not distances.
@pytest.mark.parametrize("kind", [kind for kind in BS_HEIGHT_M if kind != "map"])
def test_check_accepts_valid_ranges(kind):
    """Every corner of a cell that passes the check has a price."""
    shortest, longest = (10.0, 149.0) if kind == "inh" else (10.0, 5_000.0)
    heights_m = (1.5, 10.0)
    assert model(kind).check(shortest, longest, CARRIER_HZ, BS_HEIGHT_M[kind], heights_m) is None
    for distance_m, height_m, los in itertools.product((shortest, longest), heights_m, (0.0001, 0.9999)):
        assert np.isfinite(priced(kind, [distance_m], height_m=height_m, los=los).path_loss_db).all()


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("umi", {"indoor": 1.1}),
        ("umi", {"floors": [8, 4]}),
        ("uma", {"release": 17}),
        ("rma", {"high_loss": 0.5}),  # the report has only low-loss buildings there
        ("inh", {"office": "closed"}),
    ],
)
def test_keys_are_checked(kind, keys):
    model(kind)
    with pytest.raises(ValidationError, match=next(iter(keys))):
        model(kind, **keys)
