import math
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pytest
from channel_cases import SLOT_S, Linear, Stairs, circular, rho_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from channel import first_passage, rate, transfer
from channel.cumulants import sum_cumulants
from channel.first_passage import fast, walked
from channel.mcs import Mcs

BANDWIDTH_HZ = 1e6
SIDE = 20_000  # transfers on each side of a comparison


class Streams:
    """One generator a row, named by its key."""

    def __init__(self, keys):
        self.generators = [np.random.default_rng([7, int(key)]) for key in keys]
        self.asked = set()
        self.draws = 0

    def __call__(self, rows, count):
        self.asked |= set(rows.tolist())
        self.draws += rows.size * count
        draws = np.stack([self.generators[row].standard_normal(2 * count) for row in rows])
        return (draws * math.sqrt(0.5)).view(complex)


def draw(generator, rows, count):
    return circular(generator, rows.size, count)


def mean_of(snr):
    return rate.mean_rayleigh_bps(1.0, snr)


def link(snr_db, speed_mps, slots, efficiency=rate.SHANNON):
    """Payload, SNR, bandwidth, slot and correlation of transfers that take so many slots at the mean rate."""
    snr = 10 ** (snr_db / 10)
    payload_bits = slots * float(rate.mean_rayleigh_bps_hz(efficiency, snr)) * BANDWIDTH_HZ * SLOT_S
    return payload_bits, snr, BANDWIDTH_HZ, SLOT_S, rho_of(speed_mps)


def both(arguments, seed, efficiency=rate.SHANNON, k_factor=0.0, count=SIDE):
    """Slots of `count` transfers by both engines: (fast, walked)."""
    sides = []
    for engine in ("fast", "slots"):
        generator = np.random.default_rng([seed, engine == "fast"])
        source = partial(draw, generator)
        start = circular(generator, count)
        normal = generator.standard_normal(count)
        more = {"efficiency": efficiency, "k_factor": k_factor}
        if engine == "fast":
            durations_s = fast(*arguments, normal, source, start, **more)
        else:
            durations_s = transfer.slots(*arguments, source, start, **more)
        sides.append(np.rint(durations_s / SLOT_S))
    return sides


def assert_same_law(by_fast, by_slots):
    test = stats.ks_2samp(by_fast, by_slots, method="asymp")
    assert test.pvalue > 0.01, test
    mean = by_slots.mean()
    noise = math.hypot(by_slots.std(), by_fast.std()) / math.sqrt(by_slots.size) / mean
    assert by_fast.mean() / mean == pytest.approx(1.0, abs=max(0.005, 4 * noise))


# -- the law of the durations


@pytest.mark.oracle
@pytest.mark.parametrize("slots", [10.0, 14.3, 40.0, 200.5])
def test_independent_linear_slots_make_a_poisson_process(slots):
    """Sums of exponentials are the times of a Poisson process: N - 1 is its number of events up to the payload."""
    count = 200_000
    normal = stats.norm.ppf((np.arange(count) + 0.5) / count)
    arguments = slots * BANDWIDTH_HZ * SLOT_S, 1.0, BANDWIDTH_HZ, SLOT_S, 0.0
    assert not walked(*arguments, Linear())[0]
    taken = np.rint(fast(*arguments, normal, None, 1.0, efficiency=Linear()) / SLOT_S)
    number = np.arange(1, int(slots + 8 * math.sqrt(slots)))
    share = np.searchsorted(np.sort(taken), number, side="right") / count
    assert np.abs(share - stats.poisson.cdf(number - 1, slots)).max() < 0.02 / slots
    assert taken.mean() == pytest.approx(1 + slots, abs=0.01)


@pytest.mark.oracle
@pytest.mark.parametrize(("snr_db", "speed_mps", "slots"), [(-5, 30, 200), (50, 10, 200), (10, 5, 500), (35, 0.5, 600)])
def test_fast_has_the_law_of_the_walk(snr_db, speed_mps, slots):
    assert_same_law(*both(link(snr_db, speed_mps, slots), 21))


@pytest.mark.slow
@pytest.mark.parametrize("speed_mps", [0.5, 2.0, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("snr_db", [-5, 5, 20, 35, 50])
@pytest.mark.parametrize("slots", [200, 1_000, 5_000])
def test_fast_has_the_law_of_the_walk_on_a_grid(snr_db, speed_mps, slots):
    assert_same_law(*both(link(snr_db, speed_mps, slots), 22))


@pytest.mark.slow
@pytest.mark.parametrize(("snr_db", "speed_mps"), [(-5, 10), (20, 30), (50, 3)])
def test_fast_has_the_law_of_the_walk_over_20_000_slots(snr_db, speed_mps):
    assert_same_law(*both(link(snr_db, speed_mps, 20_000), 23))


@pytest.mark.oracle
@pytest.mark.parametrize(("snr_db", "slots"), [(0, 200), (-5, 400), (10, 200)])
def test_normal_and_inverse_gaussian_laws_are_distinguished(snr_db, slots):
    arguments = link(snr_db, 10.0, slots)
    by_fast, by_slots = both(arguments, 24)
    assert not walked(*arguments)[0] or snr_db == -5
    _, variance, *_ = sum_cumulants(arguments[1], arguments[4], 1e6)
    spread = math.sqrt(float(variance) / 1e6 * slots) / float(mean_of(arguments[1]))
    normal = np.ceil(slots + spread * np.random.default_rng(1).standard_normal(SIDE))
    wald = np.ceil(stats.invgauss(spread**2 / slots**2, scale=slots**3 / spread**2).rvs(SIDE, random_state=2))
    assert stats.ks_2samp(normal, by_slots).pvalue < 1e-4
    assert stats.ks_2samp(wald, by_slots).pvalue < 1e-4
    assert stats.ks_2samp(by_fast, by_slots).pvalue > 0.01


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("efficiency", "snr_db", "speed_mps"),
    [(Stairs(), 12, 30), (Mcs(), 20, 3), (Mcs(), 20, 30), (rate.TRUNCATED, 25, 30), (Linear(), 0, 3)],
)
def test_fast_has_the_law_of_the_walk_for_other_efficiencies(efficiency, snr_db, speed_mps):
    arguments = link(snr_db, speed_mps, 300, efficiency)
    assert walked(*arguments, efficiency)[0] == (speed_mps == 3)
    assert_same_law(*both(arguments, 25, efficiency, count=10_000))


@pytest.mark.oracle
@pytest.mark.parametrize(("k_factor", "speed_mps"), [(8.0, 10), (1.0, 1)])
def test_ricean_fading_is_walked(k_factor, speed_mps):
    arguments = link(10, speed_mps, 300)
    assert walked(*arguments, k_factor=k_factor)[0]
    assert_same_law(*both(arguments, 26, k_factor=k_factor, count=10_000))


def test_long_transfers_take_the_mean_rate():
    arguments = link(20, 10, 200_000)
    slots = fast(*arguments, np.random.default_rng(3).standard_normal(SIDE), None, 1.0) / SLOT_S
    _, variance, *_ = sum_cumulants(100.0, arguments[4], 200_000)
    spread = math.sqrt(variance) / mean_of(100.0)
    assert slots.mean() == pytest.approx(200_000, abs=4 * spread / math.sqrt(SIDE) + 30)
    assert slots.std() == pytest.approx(spread, rel=0.03)


@pytest.mark.oracle
def test_a_rate_that_does_not_vary():
    @dataclass(frozen=True)
    class Flat:
        def bps_hz(self, snr):
            return np.full(np.shape(snr), 2.0)

        def rayleigh_bps_hz(self, mean_snr):
            return np.full(np.shape(mean_snr), 2.0)

    draws = np.linspace(-5, 5, 11)
    durations_s = fast(
        2.0 * 123.4 * BANDWIDTH_HZ * SLOT_S, 1.0, BANDWIDTH_HZ, SLOT_S, 0.5, draws, None, 1.0, efficiency=Flat()
    )
    np.testing.assert_allclose(durations_s, 124 * SLOT_S)


# -- rows that are walked


def mixed(count=60):
    """Arguments by name: long and short transfers, all kinds of correlation, a few constant or empty ones."""
    generator = np.random.default_rng(5)
    snr = 10 ** generator.uniform(-0.5, 5, count)
    slots = 10 ** generator.permutation(np.linspace(0, 3.5, count))
    return {
        "payload_bits": slots * mean_of(snr) * BANDWIDTH_HZ * SLOT_S * (np.arange(count) > 1),
        "mean_snr": snr,
        "bandwidth_hz": np.full(count, BANDWIDTH_HZ),
        "correlation": generator.choice([0.0, 0.3, 0.72, -0.4, 0.9667, 0.9999, 1.0], count),
        "normal": generator.standard_normal(count),
        "start": circular(generator, count),
    }


def run(arguments, keys=None, **more):
    source = Streams(range(arguments["start"].size) if keys is None else keys)
    return fast(**arguments, slot_s=SLOT_S, innovations=source, **more), source


def mask_of(arguments):
    names = ("payload_bits", "mean_snr", "bandwidth_hz", "correlation")
    return walked(**{name: arguments[name] for name in names}, slot_s=SLOT_S)


def test_source_is_called_only_for_walked_rows_by_their_numbers():
    arguments = mixed()
    mask = mask_of(arguments)
    assert 5 < mask.sum() < 55
    assert run(arguments)[1].asked == set(np.flatnonzero(mask))


def test_walked_rows_of_fast_fading_are_walked_slot_by_slot():
    arguments = mixed()
    rows = np.flatnonzero(mask_of(arguments) & (arguments["correlation"] < 0.9))
    assert rows.size > 5
    chosen = {name: values[rows] for name, values in arguments.items()}
    durations_s, _ = run(chosen)
    del chosen["normal"]
    np.testing.assert_array_equal(
        durations_s, transfer.slots(**chosen, slot_s=SLOT_S, innovations=Streams(range(rows.size)))
    )


def test_rows_do_not_depend_on_order_or_other_rows(monkeypatch):
    arguments = mixed()
    expected, _ = run(arguments)
    for rows in [np.random.default_rng(4).permutation(60), np.arange(0, 60, 3), *np.arange(60)[:, None]]:
        durations_s, _ = run({name: values[rows] for name, values in arguments.items()}, keys=rows)
        np.testing.assert_array_equal(durations_s, expected[rows])
    monkeypatch.setattr(first_passage, "CHUNK_TRANSFERS", 7)
    np.testing.assert_array_equal(run(arguments)[0], expected)


def test_slow_fading_is_walked_in_few_blocks():
    count = 50
    arguments = link(20, 0.5, 20_000)
    source = Streams(range(count))
    durations_s = fast(*arguments, np.zeros(count), source, circular(np.random.default_rng(8), count))
    assert walked(*arguments)[0]
    assert source.draws < durations_s.sum() / SLOT_S / 50


@pytest.mark.parametrize("rho", [1.0, -1.0])
@pytest.mark.parametrize("k_factor", [0.0, math.inf])
def test_constant_channel(rho, k_factor):
    start = np.array([0.1, 1.0, 2.0 + 1.0j])
    payload_bits = 1.2345e5
    power = np.abs(start) ** 2 if k_factor == 0 else np.ones(3)
    slot_bits = BANDWIDTH_HZ * rate.SHANNON.bps_hz(10.0 * power) * SLOT_S
    durations_s = fast(payload_bits, 10.0, BANDWIDTH_HZ, SLOT_S, rho, np.zeros(3), None, start, k_factor=k_factor)
    np.testing.assert_array_equal(durations_s, np.ceil(payload_bits / slot_bits) * SLOT_S)
    assert not walked(payload_bits, 10.0, BANDWIDTH_HZ, SLOT_S, rho, k_factor=k_factor)[0]


def test_outside_the_tables_transfers_are_walked():
    payload_bits = 1e9
    snr = np.array([9.9e-5, 1.01e-4, 0.99e12, 1.01e12])
    np.testing.assert_array_equal(walked(payload_bits, snr, BANDWIDTH_HZ, SLOT_S, 0.0), [True, False, False, True])
    assert not walked(0.0, 1.0, BANDWIDTH_HZ, SLOT_S, 0.5)[0]


# -- shapes, limits, errors


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(-5, 50), st.floats(0, 0.98), st.floats(600, 2e5), st.floats(1.0001, 2), st.floats(-3.5, 3.5))
def test_monotone(snr_db, rho, slots, factor, normal):
    def duration_s(slots, snr_db, normal):
        payload_bits = slots * mean_of(10 ** (base_db / 10)) * BANDWIDTH_HZ * SLOT_S
        return fast(payload_bits, 10 ** (snr_db / 10), BANDWIDTH_HZ, SLOT_S, rho, [normal], None, 1.0)[0]

    base_db = snr_db
    middle_s = duration_s(slots, snr_db, normal)
    assert duration_s(slots * factor, snr_db, normal) >= middle_s
    assert duration_s(slots, snr_db, normal + factor - 1) <= middle_s
    assert duration_s(slots * factor, snr_db + 3, normal) <= duration_s(slots * factor, snr_db, normal)


def test_durations_are_whole_slots_and_at_least_one():
    arguments = mixed()
    slots = run(arguments)[0] / SLOT_S
    np.testing.assert_allclose(slots, np.rint(slots), rtol=1e-12)
    np.testing.assert_array_equal(slots >= 1, arguments["payload_bits"] > 0)


def test_a_hopeless_link_is_refused():
    for mean_snr in (0.0, 1e-9, 1e-3):
        with pytest.raises(transfer.TransferTooLong, match="lowest mean SNR"):
            fast(1e9, mean_snr, BANDWIDTH_HZ, SLOT_S, 0.9, [0.0], None, 1.0)
    with pytest.raises(transfer.TransferTooLong, match="lowest mean SNR"):
        fast(1e9, 2e-3, BANDWIDTH_HZ, SLOT_S, 0.9, [0.0], None, 1.0, efficiency=Mcs())  # always below the lowest scheme


def test_limit_holds_for_drawn_transfers():
    arguments = link(20, 10, 2_000)
    assert fast(*arguments, [3.0], None, 1.0, 2_000)[0] < 1.0
    with pytest.raises(transfer.TransferTooLong):
        fast(*arguments, [3.0, -3.0], None, 1.0, 2_000)
    with pytest.raises(transfer.TransferTooLong):
        fast(*link(20, 0.5, 2_000), np.zeros(99), Streams(range(99)), circular(np.random.default_rng(1), 99), 2_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"payload_bits": -1.0}, "payload_bits = -1.0"),
        ({"correlation": 1.1}, "correlation = 1.1"),
        ({"payload_bits": np.ones((2, 2)), "normal": 0.0}, "must form a vector"),
    ],
)
def test_bad_arguments(change, message):
    good = {"payload_bits": 1e8, "mean_snr": 10.0, "bandwidth_hz": 1e6, "slot_s": SLOT_S, "correlation": 0.5}
    more = {"normal": [0.0], "innovations": None, "start": 1.0}
    with pytest.raises(ValueError, match=message):
        fast(**(good | more | change))


def test_worth_of_a_slot_does_not_cancel():
    for rho, slots in product((1 - 1e-9, 0.5), (10, 1_000)):
        block = int(first_passage.slots_at_one_rate(np.array([float(slots)]), np.array([rho]))[0])
        assert block == max(1, min(slots // first_passage.MIN_BLOCKS, int(1 / 32 / (-2 * math.log(rho)))))
