"""Keyed randomness: known answers, an independent reference, and independence of everything but the key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from edgefl.core.streams import Streams, philox4x32

# Random123 1.14, tests/kat_vectors: philox4x32 10
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def reference_philox(counter, key, bits, multipliers, weyl):
    """Philox4xN-10 in plain integers, for any word size."""
    mask = (1 << bits) - 1
    c = list(counter)
    k = list(key)
    for _ in range(10):
        p0 = multipliers[0] * c[0]
        p1 = multipliers[1] * c[2]
        c = [(p1 >> bits) ^ c[1] ^ k[0], p1 & mask, (p0 >> bits) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + weyl[0]) & mask, (k[1] + weyl[1]) & mask]
    return c


M32 = (0xD2511F53, 0xCD9E8D57)
W32 = (0x9E3779B9, 0xBB67AE85)
M64 = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
W64 = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    words = philox4x32(np.array(counter, dtype=np.uint64)[:, None], key)
    assert tuple(int(word[0]) for word in words) == expected


def test_the_reference_is_numpys_philox():
    """The same rounds with 64-bit words are NumPy's generator, so the reference below can be trusted."""
    bit_generator = np.random.Philox(key=[5, 6], counter=[7, 8, 9, 10])
    expected = bit_generator.random_raw(4)
    assert reference_philox([8, 8, 9, 10], [5, 6], 64, M64, W64) == expected.tolist()


@pytest.mark.oracle
@given(st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4), st.tuples(*[st.integers(0, 2**32 - 1)] * 2))
def test_philox_agrees_with_the_reference(counter, key):
    words = philox4x32(np.array(counter, dtype=np.uint64)[:, None], key)
    assert [int(word[0]) for word in words] == reference_philox(counter, key, 32, M32, W32)


def test_a_device_has_the_same_number_in_any_population():
    streams = Streams(3)
    alone = streams.uniform("shadowing", [7], 12)
    assert streams.uniform("shadowing", np.arange(10), 12)[7] == alone[0]
    assert streams.uniform("shadowing", np.arange(10_000)[::-1], 12)[9992] == alone[0]


def test_numbers_do_not_depend_on_how_many_are_drawn():
    streams = Streams(3)
    assert np.array_equal(
        streams.uniform("fading_gap", [4], 2, count=9)[:, :3], streams.uniform("fading_gap", [4], 2, 3)
    )


@pytest.mark.parametrize("other", [Streams(2).uniform("placement", 5, 1), Streams(1).uniform("waypoint", 5, 1)])
def test_seed_and_purpose_matter(other):
    assert Streams(1).uniform("placement", 5, 1) != other


def test_all_keys_give_different_numbers():
    streams = Streams(1)
    values = np.concatenate([streams.uniform("selection", np.arange(200), index, 5).ravel() for index in range(20)])
    assert len(np.unique(values)) == values.size


def test_large_entities_do_not_collide():
    low, high = Streams(1).uniform("selection", [3, 3 + 2**32])
    assert low != high


def test_uniforms_are_uniform_and_normals_normal():
    """KS at 1 % with 100,000 numbers: a shift of the distribution function by 0.5 % would be seen."""
    streams = Streams(11)
    assert stats.kstest(streams.uniform("placement", np.arange(100_000)), "uniform").pvalue > 0.01
    assert stats.kstest(streams.normal("shadowing", np.arange(50_000), 3, 2).ravel(), "norm").pvalue > 0.01


def test_neighbours_are_uncorrelated():
    """Standard error of a correlation of 100,000 pairs is 0.0032."""
    values = Streams(5).normal("shadowing", np.arange(100_000))
    rounds = Streams(5).normal("shadowing", np.arange(100_000), 1)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.013
    assert abs(np.corrcoef(values, rounds)[0, 1]) < 0.013


def test_generators_are_keyed():
    streams = Streams(1)
    draws = [streams.generator("batches", *key).random(3).tolist() for key in [(1, 1), (1, 2), (2, 1), (1, 1)]]
    assert draws[0] == draws[3]
    assert draws[0] != draws[1] != draws[2] != draws[0]


@pytest.mark.parametrize("count", [None, 1, 3])
@pytest.mark.parametrize("shape", [(70_000,), (3, 25_000)])
def test_very_many_devices_have_the_numbers_of_a_few(shape, count):
    """Their numbers are computed piece by piece."""
    ids = np.arange(np.prod(shape)).reshape(shape)
    values = Streams(3).uniform("shadowing", ids, 12, count)
    assert values.shape == shape + (() if count is None else (count,))
    few = ids.ravel()[[0, 2**15 - 1, 2**15, 69_999]]
    rows = values.reshape(ids.size, *values.shape[len(shape) :])
    assert (rows[few] == Streams(3).uniform("shadowing", few, 12, count)).all()


@given(st.integers(0, 2**20), st.integers(0, 2**40), st.integers(0, 2**32 - 1))
def test_a_generator_is_numpys_philox_of_its_key(seed, entity, index):
    """Also where NumPy rounds a key of more than 2^63 that stands beside a small number."""
    streams = Streams(seed)
    key = [streams._key("street"), entity]
    expected = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, index, 0]))
    assert (streams.generator("street", entity, index).random(5) == expected.random(5)).all()
