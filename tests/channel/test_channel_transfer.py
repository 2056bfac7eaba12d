import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import fading, rate, transfer

SLOT_S = 0.5e-3
RHO = float(fading.doppler_correlation(10.0, 3.5e9, SLOT_S))


class Streams:
    """One generator a row, named by a key of its own, so that a row keeps its draws wherever it stands."""

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
    h, sent_bits, slots = start, 0.0, 0
    while sent_bits < payload_bits:
        h = rho * h + math.sqrt((1 - rho) * (1 + rho)) * draw()
        sent_bits += bandwidth_hz * math.log1p(mean_snr * (h.real**2 + h.imag**2)) / math.log(2) * SLOT_S
        slots += 1
    return slots, h


def population(n=40):
    """Arguments of `n` transfers, by name, that differ in everything; row 0 has nothing to send."""
    rng = np.random.default_rng(3)
    mean_snr, bandwidth_hz = 10 ** rng.uniform(-0.5, 5, n), rng.uniform(1e5, 1e8, n)
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


@pytest.mark.parametrize("chunk_values", [1, 50, 1_000, 2**14])
def test_chunks_leave_no_trace(monkeypatch, chunk_values):
    arguments = population()
    expected = walk(arguments)
    monkeypatch.setattr(transfer, "CHUNK_VALUES", chunk_values)
    for actual, wanted in zip(walk(arguments), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_order_and_company_of_rows_leave_no_trace():
    arguments = population()
    expected = walk(arguments)
    subsets = [np.random.default_rng(4).permutation(40), np.arange(0, 40, 3), *np.arange(40)[:, None]]
    for rows in subsets:
        chosen = walk({name: values[rows] for name, values in arguments.items()}, keys=rows)
        for actual, wanted in zip(chosen, expected, strict=True):
            np.testing.assert_array_equal(actual, wanted[rows])


def test_slots_is_walk_without_the_gain():
    arguments = population()
    durations_s = transfer.slots(**arguments, slot_s=SLOT_S, innovations=Streams(range(40)))
    np.testing.assert_array_equal(durations_s, walk(arguments)[0])


def test_scalars_broadcast():
    arguments = {"payload_bits": 1e5, "mean_snr": [1e3] * 3, "bandwidth_hz": 1e6, "correlation": RHO, "start": 1.0}
    spread = {name: np.broadcast_to(values, 3) for name, values in arguments.items()}
    durations_s = transfer.slots(**arguments, slot_s=SLOT_S, innovations=Streams(range(3)))
    np.testing.assert_array_equal(durations_s, walk(spread)[0])
    alone = arguments | {"mean_snr": 1e3}
    np.testing.assert_array_equal(transfer.slots(**alone, slot_s=SLOT_S, innovations=Streams([0])), durations_s[:1])


def test_no_rows():
    durations_s, gain = walk({name: values[:0] for name, values in population().items()})
    assert durations_s.shape == gain.shape == (0,)


def test_arguments_are_left_alone():
    arguments = population()
    copies = {name: values.copy() for name, values in arguments.items()}
    walk(arguments)
    for name, values in arguments.items():
        np.testing.assert_array_equal(values, copies[name])


def test_draws_only_for_rows_under_way_and_in_bounded_chunks(monkeypatch):
    monkeypatch.setattr(transfer, "CHUNK_VALUES", 4_000)
    arguments, source = population(), Streams(range(40))
    durations_s = transfer.slots(**arguments, slot_s=SLOT_S, innovations=source)
    walked = 0
    for rows, count in source.calls:
        np.testing.assert_array_equal(rows, np.flatnonzero(durations_s > walked * SLOT_S))
        assert rows.size * count <= 4_000
        walked += count
    assert len(source.calls) > 3


def test_few_draws_are_in_vain():
    rows, source = 50, Streams(range(50))
    durations_s = transfer.slots(1e7, 10 ** np.linspace(2, 4, rows), 1e6, SLOT_S, RHO, source, 1.0)
    drawn = sum(asked.size * count for asked, count in source.calls)
    assert drawn < 1.3 * durations_s.sum() / SLOT_S


@settings(deadline=None, derandomize=True)
@given(st.floats(0.01, 1e4), st.floats(0.01, 4), st.floats(0.3, 400), st.sampled_from([1, -1]))
def test_constant_channel(mean_snr, amplitude, slots, rho):
    slot_bits = rate.shannon_bps(1e6, mean_snr * amplitude**2) * SLOT_S
    durations_s = transfer.slots(slots * slot_bits, mean_snr, 1e6, SLOT_S, rho, Streams([0]), amplitude * 1j)
    wanted = math.ceil(slots * (1 - 1e-12))
    assert durations_s[0] in {wanted * SLOT_S, (wanted + (slots == wanted)) * SLOT_S}  # a tie may round either way


@pytest.mark.parametrize("chunk_values", [1, 2**18])  # the fill falls at the end of a chunk, and within one
def test_exact_fill_takes_no_further_slot(monkeypatch, chunk_values):
    monkeypatch.setattr(transfer, "CHUNK_VALUES", chunk_values)
    # |h|^2 = 1 and SNR 1 give 1 bit/s/Hz: 500 bits a slot
    payload_bits = [1.0, 499.0, 500.0, 501.0, 5_000.0]
    durations_s = transfer.slots(payload_bits, 1.0, 1e6, SLOT_S, 1.0, Streams(range(5)), 1.0)
    np.testing.assert_array_equal(durations_s / SLOT_S, [1, 1, 1, 2, 10])


def test_mean_duration_of_long_transfers():
    rows, slots, mean_snr = 400, 1_000, 100.0
    payload_bits = slots * SLOT_S * rate.mean_rayleigh_bps(1e6, mean_snr)
    start = Streams([10_000])(np.array([0]), rows)[0]
    durations = transfer.slots(payload_bits, mean_snr, 1e6, SLOT_S, 0.5, Streams(range(rows)), start) / SLOT_S
    standard_error = durations.std() / math.sqrt(rows)
    assert standard_error < 2
    assert durations.mean() == pytest.approx(slots, abs=4 * standard_error + 1)  # + 1: the last slot is whole


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 2**32), st.floats(0, 3e5), st.floats(0, 3e5), st.floats(0, 40))
def test_monotone_in_payload_and_snr(seed, one_bits, other_bits, snr_db):
    def duration_s(payload_bits, mean_snr):
        return transfer.slots(payload_bits, mean_snr, 1e6, SLOT_S, RHO, Streams([seed]), 1.0)[0]

    mean_snr, (less, more) = 10 ** (snr_db / 10), sorted([one_bits, other_bits])
    assert duration_s(less, mean_snr) <= duration_s(more, mean_snr)
    assert duration_s(more, 2 * mean_snr) <= duration_s(more, mean_snr)
    assert duration_s(less, mean_snr) > 0 or less == 0


def refuse_to_draw(rows, count):
    pytest.fail(f"drew {count} slots for {rows}")


def test_a_hopeless_link_is_refused_before_the_first_draw():
    with pytest.raises(transfer.TransferTooLong, match=r"2 transfer\(s\) need more than 20000000 slots.* SNR 1e-07"):
        transfer.slots(1e9, [1e-7, 1e3, 1e-5], 1e6, SLOT_S, RHO, refuse_to_draw, 1.0)
    with pytest.raises(transfer.TransferTooLong, match="lowest mean SNR 0"):
        transfer.slots([0.0, 1.0], 0.0, 1e6, SLOT_S, RHO, refuse_to_draw, 1.0)


def test_nothing_to_send_needs_no_link():
    np.testing.assert_array_equal(transfer.slots([0.0], 0.0, 1e6, SLOT_S, RHO, refuse_to_draw, 1.0), 0.0)


def test_the_limit_holds_on_the_way():
    # a channel at rest in a fade of |h|^2 = 0.25 needs 100 slots, where the mean over fading promises fewer
    payload_bits = 99.5 * rate.shannon_bps(1e6, 10.0 * 0.25) * SLOT_S
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
        ("payload_bits", np.nan),
        ("payload_bits", np.inf),
        ("mean_snr", -0.1),
        ("mean_snr", np.nan),
        ("bandwidth_hz", 0.0),
        ("bandwidth_hz", -1.0),
        ("bandwidth_hz", np.nan),
        ("correlation", 1.5),
        ("correlation", np.nan),
        ("start", complex(np.nan, 0)),
    ],
)
def test_invalid_row(name, bad):
    arguments = population(3)
    arguments[name][1] = bad
    with pytest.raises(ValueError, match=rf"{name} = .* is out of range"):
        walk(arguments)


@pytest.mark.parametrize("bad", [0.0, -SLOT_S, np.nan])
def test_invalid_slot(bad):
    with pytest.raises(ValueError, match=r"slot_s = .* is out of range"):
        transfer.slots(**population(), slot_s=bad, innovations=refuse_to_draw)


def test_invalid_shapes():
    with pytest.raises(ValueError, match=r"vector, but .* shape \(2, 3\)"):
        transfer.slots(np.ones((2, 3)), 1.0, 1e6, SLOT_S, RHO, refuse_to_draw, 1.0)
    with pytest.raises(ValueError, match=r"innovations returned shape \(3,\) for 1 rows"):
        transfer.slots(1e4, 1.0, 1e6, SLOT_S, RHO, lambda _rows, _count: np.ones(3, complex), 1.0)


def test_a_draw_that_is_not_a_number_is_noticed():
    with pytest.raises(ValueError, match="snr = nan"):
        transfer.slots(1e4, 1.0, 1e6, SLOT_S, RHO, lambda rows, count: np.full((rows.size, count), np.nan * 1j), 1.0)
