"""The compiled loops return the results of NumPy and SciPy."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel import _compiled, fading, rate, transfer

pytest.importorskip("numba")

SLOT_S = 0.5e-3
MODELS = [
    rate.SHANNON,
    rate.TRUNCATED,
    rate.Shannon(max_bps_hz=7.4),
    rate.Shannon(attenuation=0.4, min_snr=3.0),
    rate.Shannon(attenuation=1e-3, max_bps_hz=5.0),  # 2^(5/0.001) is beyond floating point
]


def both(monkeypatch, *arguments, **more):
    """`walk_until` with the compiled loops, and without; each with new `innovations`."""
    results = []
    for compiled in (True, False):
        with monkeypatch.context() as patch:
            if not compiled:
                patch.setattr(_compiled, "walk", lambda: None)
                patch.setattr(_compiled, "sfc64", lambda: None)
                patch.setattr(_compiled, "filtered", lambda: None)
            generators = {}
            source = transfer.innovations_of(
                lambda row, known=generators: known.setdefault(row, np.random.default_rng([9, row]))
            )
            results.append(transfer.walk_until(*arguments, innovations=source, **more))
    return results


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    slots=st.floats(1e-3, 200),
    snr_db=st.floats(-150, 300),
    rho=st.floats(-1, 1),
    k=st.sampled_from([0.0, 1e-3, 5.0]),
    hold=st.integers(1, 20),
    limit=st.integers(0, 400),
    model=st.sampled_from(MODELS[:4]),
)
def test_both_loops_agree_anywhere(seed, slots, snr_db, rho, k, hold, limit, model):
    snr = 10 ** (snr_db / 10)
    payload_bits = slots * 1e6 * rate.SHANNON.bps_hz(snr) * SLOT_S
    with pytest.MonkeyPatch.context() as monkeypatch:
        link = (limit, payload_bits, snr, 1e6, SLOT_S, rho)
        fast, plain = both(monkeypatch, *link, start=seed % 7 * 0.2j, efficiency=model, k_factor=k, hold_slots=hold)
    assert fast.slots == plain.slots
    np.testing.assert_array_equal(fast.gain, plain.gain)
    np.testing.assert_allclose(fast.sent_bits, plain.sent_bits, rtol=1e-12)


def test_weak_links_keep_their_digits(monkeypatch):
    # 1 + 1e-15 has no digit of the SNR left
    snr = np.array([1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-18])
    fast, plain = both(monkeypatch, 1_000, 1e9, snr, 1e6, SLOT_S, 0.9, start=1.0)
    np.testing.assert_allclose(fast.sent_bits, plain.sent_bits, rtol=1e-13)
    assert (fast.sent_bits > 0).all()


@pytest.mark.parametrize("attenuation", [0.4, 0.6, 0.75, 1.0])
@pytest.mark.parametrize("cap", [2.0, 4.4, 5.5, 7.4])
def test_slots_at_the_cap_add_up_exactly(monkeypatch, cap, attenuation):
    # a whole number of bits in each slot at the cap: a payload of whole slots ends on a border in both
    slots = np.arange(1, 200)
    model = rate.Shannon(attenuation, min_snr=0.1, max_bps_hz=cap)
    fast, plain = both(monkeypatch, 400, round(500 * cap) * slots, 1e30, 1e6, SLOT_S, 0.5, start=1.0, efficiency=model)
    np.testing.assert_array_equal(plain.slots, slots)
    np.testing.assert_array_equal(fast.slots, slots)


def test_compiled_normals_match_numpys_generator():
    # three million draws come to each of the 256 layers and a thousand times to the tail
    seeds = [hashlib.sha256(bytes([row])).digest()[:24] for row in range(2)]
    source = transfer.innovations_of_seeds(seeds.__getitem__)
    counts = (1, 750_000)
    drawn = np.concatenate([source(np.array([0, 1]), count) for count in counts], axis=1).view(float)
    for row, seed in zip(drawn, seeds, strict=True):
        words = np.frombuffer(seed, "<u8")
        generator = np.random.Generator(np.random.SFC64(Words(words)))
        np.testing.assert_array_equal(row, generator.standard_normal(2 * sum(counts)) * np.sqrt(0.5))
        assert np.abs(row).max() > 3.66 * np.sqrt(0.5)  # the tail was met


class Words(np.random.bit_generator.ISeedSequence):
    """Seed words in the form in which NumPy takes them."""

    def __init__(self, words):
        self.words = words

    def generate_state(self, n_words, dtype=np.uint64):
        return self.words[:n_words].astype(dtype)


def test_innovations_of_seeds_have_the_same_bits(monkeypatch):
    seeds = [hashlib.sha256(bytes([row])).digest()[:24] for row in range(6)]
    asked = []

    def draw():
        def seed(row):
            asked.append(row)
            return seeds[row]

        source = transfer.innovations_of_seeds(seed)
        # rows begin and end; each continues where it stopped
        calls = [((0, 2, 5), 1), ((2,), 7), ((5, 0), 500), ((3, 2), 40), ((), 3)]
        return np.concatenate([source(np.array(rows, dtype=int), count).ravel() for rows, count in calls])

    with_numba = draw()
    assert asked == [0, 2, 5, 3]  # once each
    monkeypatch.setattr(_compiled, "sfc64", lambda: None)
    np.testing.assert_array_equal(draw(), with_numba)


@pytest.mark.parametrize("correlation", [0.9667, -0.4, 0.0, 1.0, -1.0, "each its own"])
@pytest.mark.parametrize("shape", [(300,), (2, 3, 1000), (40, 8), (1, 1), (0, 5), (3, 0)])
def test_gauss_markov_has_the_bits_of_the_filter(monkeypatch, shape, correlation):
    rng = np.random.default_rng(3)
    innovations = rng.standard_normal((*shape[:-1], 2 * shape[-1])).view(complex)
    start = rng.standard_normal(shape[:-1]) + 1j
    if correlation == "each its own":
        correlation = rng.uniform(-1, 1, shape[:-1])
    with_numba = fading.gauss_markov(innovations, correlation, start)
    transposed = np.asfortranarray(innovations)  # another layout in memory
    np.testing.assert_array_equal(fading.gauss_markov(transposed, correlation, start), with_numba)
    monkeypatch.setattr(_compiled, "filtered", lambda: None)
    np.testing.assert_array_equal(fading.gauss_markov(innovations, correlation, start), with_numba)


@pytest.mark.oracle
def test_the_loop_that_is_compiled_also_runs_in_python():
    rng = np.random.default_rng(8)
    draws = rng.standard_normal((30, 2 * 96)).view(complex) * math.sqrt(0.5)
    columns = (
        *(rng.uniform(-1, 1, 30), rng.choice([0.0, 0.6], 30), rng.choice([1.0, 0.8], 30), 10 ** rng.uniform(-1, 3, 30)),
        *(np.full(30, 500.0), 10 ** rng.uniform(0, 6, 30), rng.choice([1, 5], 30), rng.integers(1, 90, 30)),
        (0.6, 0.1, 4.4),
    )

    def run(kernel):
        gain = np.ones(30, complex)
        sent = np.zeros(30)
        used = np.zeros(30, int)
        for first in range(0, 96, 32):
            kernel(draws[:, first : first + 32], *columns, gain, sent, used)
        return gain, sent, used

    for compiled, plain in zip(run(_compiled.walk()), run(_compiled._walk), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-13)


def test_compiled_loop_needs_numba(monkeypatch):
    monkeypatch.setattr(_compiled, "find_spec", lambda _: None)
    assert _compiled._compiled(_compiled._walk) is None


def test_channel_that_keeps_its_strength_loads_no_compiled_generator(monkeypatch):
    def loaded():
        raise AssertionError("numba was loaded for draws that nothing takes")

    monkeypatch.setattr(_compiled, "sfc64", loaded)
    source = transfer.innovations_of_seeds([bytes(24)].__getitem__)
    walk = transfer.walk_until(100, 1e6, 3.0, 1e6, SLOT_S, 1.0, source, 1.0)
    assert walk.sent_bits[0] == 100_000.0
