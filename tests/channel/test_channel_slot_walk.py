import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import channel._compiled
from channel import fading, mcs, rate, slot_walk, transfer

SLOT_S = 0.5e-3
RHO = float(fading.doppler_correlation(10.0, 3.5e9, SLOT_S))


@pytest.fixture(autouse=True, params=["numpy", "compiled"])
def engine(request, monkeypatch):
    """Run every test by both loops."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(channel._compiled, "walk", lambda: None)
        monkeypatch.setattr(channel._compiled, "sfc64", lambda: None)
    return request.param


class Streams:
    """One generator a row, named by its key, so that a row keeps its draws at any position."""

    def __init__(self, keys):
        self.generators = [np.random.default_rng([7, int(key)]) for key in keys]
        self.calls = []

    def __call__(self, rows, count):
        self.calls.append((rows.copy(), count))
        draws = np.empty((rows.size, 2 * count))
        for row, into in zip(rows, draws, strict=True):
            self.generators[row].standard_normal(out=into)
        return (draws * math.sqrt(0.5)).view(complex)


def naive(arguments, draw, start):
    """Equation 26 word for word in plain Python: slots, and h at the end."""
    payload_bits, mean_snr, bandwidth_hz, rho = arguments
    h = start
    sent_bits = 0.0
    slots = 0
    while sent_bits < payload_bits:
        h = rho * h + math.sqrt((1 - rho) * (1 + rho)) * draw()
        sent_bits += bandwidth_hz * math.log1p(mean_snr * (h.real**2 + h.imag**2)) / math.log(2) * SLOT_S
        slots += 1
    return slots, h


def population(n=40):
    """Arguments of `n` transfers, by name, that differ in everything; row 0 has nothing to send."""
    rng = np.random.default_rng(3)
    mean_snr = 10 ** rng.uniform(-0.5, 5, n)
    bandwidth_hz = rng.uniform(1e5, 1e8, n)
    mean_slot_bits = rate.mean_rayleigh_bps(bandwidth_hz, mean_snr) * SLOT_S
    return {
        "payload_bits": 10 ** rng.permutation(np.linspace(-2, 3.4, n)) * mean_slot_bits * (np.arange(n) > 0),
        "mean_snr": mean_snr,
        "bandwidth_hz": bandwidth_hz,
        "correlation": rng.choice([RHO, 0.0, -0.4, 0.999], n),
        "start": rng.standard_normal((n, 2)).view(complex)[:, 0] * math.sqrt(0.5),
    }


def walk(arguments, keys=None, **more):
    source = Streams(range(arguments["start"].size) if keys is None else keys)
    return transfer.walk(**arguments, slot_s=SLOT_S, innovations=source, **more)


def test_against_the_naive_loop():
    arguments = population()
    durations_s, gain = walk(arguments)
    for row in range(durations_s.size):
        generator = np.random.default_rng([7, row])
        values = [arguments[name][row] for name in ("payload_bits", "mean_snr", "bandwidth_hz", "correlation")]
        draw = lambda: complex(*(generator.standard_normal(2) * math.sqrt(0.5)))  # noqa: B023, E731
        slots, h = naive(values, draw, complex(arguments["start"][row]))
        assert durations_s[row] == slots * SLOT_S
        assert gain[row] == pytest.approx(h, abs=1e-12)
    assert durations_s.max() > 1_000 * SLOT_S  # the loop covered long transfers
    assert (durations_s == SLOT_S).any()
    assert durations_s[0] == 0
    assert gain[0] == arguments["start"][0]


def test_slots_is_walk_without_the_gain():
    arguments = population()
    durations_s = transfer.slots(**arguments, slot_s=SLOT_S, innovations=Streams(range(40)))
    np.testing.assert_array_equal(durations_s, walk(arguments)[0])


def test_draws_only_for_rows_under_way_and_in_bounded_chunks(monkeypatch):
    monkeypatch.setattr(slot_walk, "CHUNK_VALUES", 4_000)
    arguments = population()
    source = Streams(range(40))
    durations_s = transfer.slots(**arguments, slot_s=SLOT_S, innovations=source)
    walked = 0
    for rows, count in source.calls:
        np.testing.assert_array_equal(rows, np.flatnonzero(durations_s > walked * SLOT_S))
        assert rows.size * count <= 4_000
        walked += count
    assert len(source.calls) > 3


@pytest.mark.oracle
@settings(deadline=None, derandomize=True)
@given(st.floats(0.01, 1e4), st.floats(0.01, 4), st.floats(0.3, 400), st.sampled_from([1, -1]))
def test_constant_channel(mean_snr, amplitude, slots, rho):
    slot_bits = 1e6 * rate.SHANNON.bps_hz(mean_snr * amplitude**2) * SLOT_S
    durations_s = transfer.slots(slots * slot_bits, mean_snr, 1e6, SLOT_S, rho, Streams([0]), amplitude * 1j)
    wanted = math.ceil(slots * (1 - 1e-12))
    assert durations_s[0] in {wanted * SLOT_S, (wanted + (slots == wanted)) * SLOT_S}  # a tie may round either way


@pytest.mark.parametrize("chunk_values", [1, 2**18])  # the fill falls at the end of a chunk, and within one
def test_exact_fill_takes_no_other_slot(monkeypatch, chunk_values):
    monkeypatch.setattr(slot_walk, "CHUNK_VALUES", chunk_values)
    # |h|^2 = 1 and SNR 1 give 1 bit/s/Hz: 500 bits a slot
    payload_bits = [1.0, 499.0, 500.0, 501.0, 5_000.0]
    durations_s = transfer.slots(payload_bits, 1.0, 1e6, SLOT_S, 1.0, Streams(range(5)), 1.0)
    np.testing.assert_array_equal(durations_s / SLOT_S, [1, 1, 1, 2, 10])


def test_mean_duration_of_long_transfers():
    rows = 400
    slots = 1_000
    mean_snr = 100.0
    payload_bits = slots * SLOT_S * rate.mean_rayleigh_bps(1e6, mean_snr)
    start = Streams([10_000])(np.array([0]), rows)[0]
    durations = transfer.slots(payload_bits, mean_snr, 1e6, SLOT_S, 0.5, Streams(range(rows)), start) / SLOT_S
    standard_error = durations.std() / math.sqrt(rows)
    assert standard_error < 2
    assert durations.mean() == pytest.approx(slots, abs=4 * standard_error + 1)  # + 1: the last slot is whole


def refuse_to_draw(rows, count):
    pytest.fail(f"drew {count} slots for {rows}")


MODELS = [rate.SHANNON, rate.TRUNCATED, rate.Shannon(max_bps_hz=6.0), mcs.Mcs()]
NAMES = ["shannon", "truncated", "capped", "mcs"]


def by_the_book(model, snr):
    """Spectral efficiency, written out once more."""
    if isinstance(model, mcs.Mcs):
        reached = math.log2(1 + snr / 10 ** (model.snr_gap_db / 10))
        steps = [order * code / 1024 for order, code in mcs.TABLES[model.table]]
        return max((step for step in steps if step <= reached), default=0.0)
    return min(model.attenuation * math.log2(1 + snr), model.max_bps_hz) if snr >= model.min_snr else 0.0


def mixture(n=120, longest=3_000):
    """Arguments of `walk_until`, by name: everything varies, in most rows from the plain case."""
    rng = np.random.default_rng(11)
    mean_snr = 10 ** rng.uniform(-1.5, 5, n)
    bandwidth_hz = rng.uniform(1e5, 1e8, n)
    return {
        "limit_slots": rng.choice([0, 1, 7, 8, 9, 100, 1_000, longest, longest], n),
        "payload_bits": 10 ** rng.uniform(-2, 3.5, n) * rate.mean_rayleigh_bps(bandwidth_hz, mean_snr) * SLOT_S,
        "mean_snr": mean_snr,
        "bandwidth_hz": bandwidth_hz,
        "correlation": rng.choice([RHO, RHO, 0.0, -0.4, 0.999, 1.0, -1.0], n),
        "start": rng.standard_normal((n, 2)).view(complex)[:, 0] * math.sqrt(0.5),
        "k_factor": rng.choice([0.0, 0.0, 0.3, 8.0, np.inf], n),
        "hold_slots": rng.choice([1, 1, 1, 2, 7, 48], n),
    }


def walk_until(arguments, keys=None, model=rate.SHANNON):
    source = Streams(range(arguments["start"].size) if keys is None else keys)
    return transfer.walk_until(**arguments, slot_s=SLOT_S, innovations=source, efficiency=model)


def naive_until(row, model, generator):
    """The same for one row in plain Python: slots, bits and h at the end."""
    rho = row["correlation"]
    k = row["k_factor"]
    h = complex(row["start"])
    line, scatter = (1.0, 0.0) if math.isinf(k) else (math.sqrt(k / (k + 1)), math.sqrt(1 / (k + 1)))
    slots = 0
    sent_bits = 0.0
    while sent_bits < row["payload_bits"] and slots < row["limit_slots"]:
        if slots % row["hold_slots"] == 0 and not math.isinf(k):
            h = rho * h + math.sqrt((1 - rho) * (1 + rho)) * complex(*(generator.standard_normal(2) * math.sqrt(0.5)))
        snr = row["mean_snr"] * abs(line + scatter * h) ** 2
        sent_bits += row["bandwidth_hz"] * by_the_book(model, snr) * SLOT_S
        slots += 1
    return slots, min(sent_bits, row["payload_bits"]), h


@pytest.mark.oracle
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_limits_blocks_and_lines_of_sight_against_the_naive_loop(model):
    arguments = mixture()
    done = walk_until(arguments, model=model)
    for row in range(len(done.slots)):
        values = {name: value[row] for name, value in arguments.items()}
        slots, sent_bits, h = naive_until(values, model, np.random.default_rng([7, row]))
        assert done.slots[row] == slots
        assert done.sent_bits[row] == pytest.approx(sent_bits, rel=1e-9)
        assert done.gain[row] == pytest.approx(h, abs=1e-11)
    complete = done.sent_bits == arguments["payload_bits"]
    assert 20 < complete.sum() < 100  # both ends occur, with and without blocks
    assert {1, 2, 7, 48} <= set(arguments["hold_slots"][complete]) & set(arguments["hold_slots"][~complete])
    assert done.slots.sum() > 5_000


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_bits_are_conserved(model):
    arguments = mixture()
    done = walk_until(arguments, model=model)
    payload_bits = arguments["payload_bits"]
    limit = arguments["limit_slots"]
    assert (done.sent_bits <= payload_bits).all()
    assert (done.slots <= limit).all()
    cut = done.sent_bits < payload_bits
    np.testing.assert_array_equal(done.slots[cut], limit[cut])
    np.testing.assert_array_equal(done.sent_bits[done.slots == 0], 0.0)
    np.testing.assert_array_equal(done.gain[done.slots == 0], arguments["start"][done.slots == 0])


@pytest.mark.parametrize("model", [rate.SHANNON, rate.TRUNCATED, mcs.Mcs()], ids=["shannon", "truncated", "mcs"])
@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 300), min_size=1, max_size=8),
    st.floats(-10, 50),
    st.sampled_from([0.0, 2.0]),
    st.sampled_from([1, 3, 40]),
)
def test_a_cut_transfer_has_sent_its_first_slots(model, seed, limits, snr_db, k, hold):
    rho = 0.9
    snr = 10 ** (snr_db / 10)
    rows = len(limits)
    link = (1e9, snr, 1e6, SLOT_S, rho)
    done = transfer.walk_until(limits, *link, Streams([seed] * rows), 1.0, model, k, hold)
    fresh = Streams([seed])(np.array([0]), 300)[0]
    power = np.abs(fading.ricean(np.repeat(fading.gauss_markov(fresh, rho, 1.0), hold)[:300], k)) ** 2
    sums = np.concatenate([[0.0], np.cumsum(model.bps_hz(snr * power) * 1e6 * SLOT_S)])
    np.testing.assert_array_equal(done.slots, limits)
    np.testing.assert_allclose(done.sent_bits, sums[limits], rtol=1e-9)
    order = np.argsort(limits)
    assert (np.diff(done.sent_bits[order]) >= 0).all()  # monotone in the limit


def test_no_limit():
    arguments = mixture()
    arguments["limit_slots"] = np.full(120, np.inf)
    done = walk_until(arguments)
    np.testing.assert_array_equal(done.sent_bits, arguments["payload_bits"])
    del arguments["limit_slots"]
    durations_s, gain = walk(arguments)
    np.testing.assert_array_equal(durations_s, done.slots * SLOT_S)
    np.testing.assert_array_equal(gain, done.gain)


@pytest.mark.parametrize(("chunk_values", "group_rows"), [(1, 64), (700, 64), (2**14, 7), (2**17, 1)])
def test_cut_transfers_do_not_depend_on_chunks_or_groups(monkeypatch, chunk_values, group_rows):
    arguments = mixture()
    expected = walk_until(arguments, model=rate.TRUNCATED)
    monkeypatch.setattr(slot_walk, "CHUNK_VALUES", chunk_values)
    monkeypatch.setattr(slot_walk, "GROUP_ROWS", group_rows)
    for actual, wanted in zip(walk_until(arguments, model=rate.TRUNCATED), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_cut_transfers_do_not_depend_on_other_rows():
    arguments = mixture()
    expected = walk_until(arguments)
    subsets = [np.random.default_rng(4).permutation(120), np.arange(0, 120, 3), *np.arange(0, 120, 5)[:, None]]
    for rows in subsets:
        chosen = walk_until({name: values[rows] for name, values in arguments.items()}, keys=rows)
        for actual, wanted in zip(chosen, expected, strict=True):
            np.testing.assert_array_equal(actual, wanted[rows])


@pytest.mark.parametrize("hold", [1, 3])
@pytest.mark.parametrize(("rho", "k"), [(1.0, 0.0), (-1.0, 0.0), (1.0, 2.0), (0.3, np.inf), (-1.0, np.inf)])
def test_channels_that_do_not_change_need_no_draw(rho, k, hold):
    start = 0.6 - 0.3j
    slot_bits = 1e6 * rate.SHANNON.bps_hz(50.0 * abs(fading.ricean(start, k)) ** 2) * SLOT_S
    slots = np.array([0.4, 1.0, 7.5, 12.0, 1e6, 20.0])
    limit = np.array([9, 9, 9, 9, 2_000_000, 0])
    done = transfer.walk_until(
        limit, slots * slot_bits, 50.0, 1e6, SLOT_S, rho, refuse_to_draw, start, k_factor=k, hold_slots=hold
    )
    np.testing.assert_array_equal(done.slots, np.minimum(np.ceil(slots), limit))
    np.testing.assert_allclose(done.sent_bits, np.minimum(slots, done.slots) * slot_bits, rtol=1e-12)
    turns = 0 if math.isinf(k) else -(-done.slots // hold)
    np.testing.assert_array_equal(done.gain, start * np.where(rho < 0, -1.0, 1.0) ** turns)


def test_turning_scatter_with_a_line_of_sight_is_walked():
    # rho = -1: the scatter adds to the line of sight in every other slot, and takes from it in between
    k = 1.0
    start = 0.5
    slots = 31
    powers = np.abs(fading.ricean([-start, start], k)) ** 2
    low, high = 1e6 * rate.SHANNON.bps_hz(100.0 * powers) * SLOT_S
    assert high > 1.5 * low
    done = transfer.walk_until(slots, 1e9, 100.0, 1e6, SLOT_S, -1.0, Streams([0]), start, k_factor=k)
    assert done.sent_bits[0] == pytest.approx(16 * low + 15 * high, rel=1e-12)
    assert done.gain[0] == -start


def test_the_last_block_ends_with_the_payload():
    # 1 bit/s/Hz in every slot (|h|^2 = 1 by K = 1e30, SNR 1): payloads in slots, blocks of 10
    payload_slots = np.array([1, 7, 9, 10, 11, 19, 20, 25, 100, 101])
    bits = 1e6 * SLOT_S * payload_slots * (1 - 1e-9)
    done = transfer.walk_until(95, bits, 1.0, 1e6, SLOT_S, 0.0, Streams(range(10)), 1.0, k_factor=1e30, hold_slots=10)
    np.testing.assert_array_equal(done.slots, np.minimum(payload_slots, 95))
    np.testing.assert_allclose(done.sent_bits, np.minimum(bits, 95 * 500.0), rtol=1e-12)


def test_a_payload_that_fills_slots_to_rounding_ends_its_block():
    # one bit in the last place more than 7 slots in a block carry, seen as exactly 7 when divided
    snr = 10 ** np.linspace(2, 3, 4_000)
    slot_bits = np.log1p(snr) / np.log(2.0) * (1e6 * SLOT_S)
    payload_bits = np.nextafter(7 * slot_bits, np.inf)
    ties = payload_bits / slot_bits == 7
    assert ties.sum() > 100
    done = transfer.walk_until(
        30,
        payload_bits[ties],
        snr[ties],
        1e6,
        SLOT_S,
        0.0,
        Streams(range(ties.sum())),
        1.0,
        k_factor=1e30,
        hold_slots=10,
    )
    assert set(done.slots) <= {7, 8}
    np.testing.assert_array_equal(done.sent_bits, payload_bits[ties])
    drawn = [Streams([row])(np.array([0]), 1)[0, 0] for row in range(ties.sum())]
    np.testing.assert_array_equal(done.gain, drawn)  # of the first block: there was no second one


def test_block_fading_duration_law():
    # 4,000 transfers that need about half a block of 20 slots; 4 standard errors: 3 % are seen
    rows = 4_000
    hold = 20
    snr = 30.0
    slots = np.array([4, 8, 9, 12, 20, 40])
    payload_bits = 45 * 1e6 * SLOT_S
    source = Streams(range(rows))
    done = transfer.walk_until(41, payload_bits, snr, 1e6, SLOT_S, 0.0, source, 1.0, hold_slots=np.full(rows, hold))

    def reached(bps_hz):  # P(log2(1 + snr |h|^2) >= bps_hz)
        return np.exp(-np.expm1(np.maximum(bps_hz, 0.0) * np.log(2)) / snr)

    law = reached(45 / slots)
    tail = integrate.quad(lambda x: np.exp(-x) * reached(45 / 20 - np.log2(1 + snr * x)), 0, 60, points=[0.1, 1])[0]
    law[-1] = tail  # two blocks
    share = (done.slots[:, None] <= slots).mean(axis=0)
    np.testing.assert_array_less(np.abs(share - law), 4 * np.sqrt(law * (1 - law) / rows))


@pytest.mark.oracle
@pytest.mark.parametrize("k", [0.0, 4.0])
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_mean_rates(model, k):
    rows = 40
    slots = 1_000
    snr = 8.0
    done = transfer.walk_until(slots, np.full(rows, 1e12), snr, 1e6, SLOT_S, 0.0, Streams(range(rows)), 0.0, model, k)
    bps_hz = done.sent_bits / (slots * SLOT_S * 1e6)
    power = stats.ncx2(2, 2 * k, scale=0.5 / (k + 1)) if k else stats.expon()
    u = (np.arange(200_000) + 0.5) / 200_000
    wanted = model.bps_hz(snr * power.ppf(u)).mean()
    assert bps_hz.mean() == pytest.approx(wanted, abs=4 * bps_hz.std() / math.sqrt(rows))
    assert bps_hz.std() < 0.05 * wanted  # 40 rows: 3 % are seen


def test_draws_of_generators_do_not_depend_on_the_counts():
    def source():
        generators = {}
        return transfer.innovations_of(
            lambda row: generators.setdefault(row, np.random.default_rng([5, row]))
        ), generators

    whole = source()[0](np.array([3, 8]), 100)
    draw, generators = source()
    parts = np.concatenate([draw(np.array([3, 8]), 1), draw(np.array([3, 8]), 60), draw(np.array([3, 8]), 39)], axis=1)
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_array_equal(source()[0](np.array([8]), 100), whole[1:])
    normals = np.random.default_rng([5, 8]).standard_normal(200) * np.sqrt(0.5)
    np.testing.assert_array_equal(whole[1].view(float), normals)
    assert set(generators) == {3, 8}  # no other was used


def test_generators_are_made_for_rows_that_are_walked():
    made = []
    source = transfer.innovations_of(lambda row: made.append(row) or np.random.default_rng(row))
    transfer.walk_until([5, 5, 0, 5], [1e3, 0.0, 1e3, 1e3], 1.0, 1e6, SLOT_S, [0.5, 0.5, 0.5, 1.0], source, 1.0)
    assert set(made) == {0}


def test_innovations_are_circular_and_of_unit_power():
    generator = np.random.default_rng(2)
    draws = transfer.innovations_of(lambda _: generator)(np.array([0]), 100_000)[0]
    assert stats.kstest(np.abs(draws) ** 2, stats.expon().cdf).pvalue > 0.01
    assert abs(draws.mean()) < 4 / math.sqrt(100_000)
    assert abs((draws**2).mean()) < 4 * math.sqrt(2 / 100_000)


def test_a_hopeless_link_is_refused_before_the_first_draw():
    with pytest.raises(transfer.TransferTooLong, match=r"2 transfer\(s\) need more than 20000000 slots.* SNR 1e-07"):
        transfer.slots(1e9, [1e-7, 1e3, 1e-5], 1e6, SLOT_S, RHO, refuse_to_draw, 1.0)
    with pytest.raises(transfer.TransferTooLong, match="lowest mean SNR 0"):
        transfer.slots([0.0, 1.0], 0.0, 1e6, SLOT_S, RHO, refuse_to_draw, 1.0)


def test_nothing_to_send_needs_no_link():
    np.testing.assert_array_equal(transfer.slots([0.0], 0.0, 1e6, SLOT_S, RHO, refuse_to_draw, 1.0), 0.0)


def test_limit_holds_during_a_walk():
    # a channel at rest in a fade of |h|^2 = 0.25 needs 100 slots, where the mean over fading promises fewer
    payload_bits = 99.5 * 1e6 * rate.SHANNON.bps_hz(10.0 * 0.25) * SLOT_S
    arguments = (payload_bits, 10.0, 1e6, SLOT_S, 1.0)
    assert transfer.slots(*arguments, Streams([0]), 0.5, max_slots=100)[0] == 100 * SLOT_S
    with pytest.raises(transfer.TransferTooLong, match=r"1 transfer\(s\) need more than 99 slots; lowest mean SNR 10"):
        transfer.slots(*arguments, Streams([0]), 0.5, max_slots=99)
    with pytest.raises(ValueError, match="need more than 5000 slots"):
        transfer.slots(*arguments, Streams([0]), 0.0, max_slots=5_000)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("payload_bits", -1.0),
        ("mean_snr", -0.1),
        ("correlation", 1.5),
    ],
)
def test_invalid_row(name, bad):
    arguments = population(3)
    arguments[name][1] = bad
    with pytest.raises(ValueError, match=rf"{name} = .* is out of range"):
        walk(arguments)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("limit_slots", -1),
        ("hold_slots", 0),
        ("k_factor", -0.1),
    ],
)
def test_invalid_row_of_walk_until(name, bad):
    arguments = mixture(6)
    arguments[name] = np.array([*arguments[name][:5], bad])
    with pytest.raises(ValueError, match=rf"{name} = .* is out of range"):
        walk_until(arguments)


def test_invalid_shapes():
    with pytest.raises(ValueError, match=r"vector, but .* shape \(2, 3\)"):
        transfer.slots(np.ones((2, 3)), 1.0, 1e6, SLOT_S, RHO, refuse_to_draw, 1.0)
    with pytest.raises(ValueError, match=r"innovations returned shape \(3,\) for 1 rows"):
        transfer.slots(1e4, 1.0, 1e6, SLOT_S, RHO, lambda _rows, _count: np.ones(3, complex), 1.0)


def test_a_draw_that_is_not_a_number_is_noticed():
    with pytest.raises(ValueError, match=r"innovations = .*nan"):
        transfer.slots(1e4, 1.0, 1e6, SLOT_S, RHO, lambda rows, count: np.full((rows.size, count), np.nan * 1j), 1.0)
