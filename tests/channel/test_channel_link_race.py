"""The race of a band: the bits of a plain program, the same from any place to which it goes back, and without numba."""

import hashlib

import numpy as np
import pytest
from plain_blocks import PlainBlocks

from channel import _link_race, fading, innovations, link_columns, link_race, mcs
from channel.link_adaptation import LinkAdaptation, grid_db, nr_block_error_rate

SCHEMES = mcs.Mcs().efficiencies_bps_hz
ADAPTATION = LinkAdaptation(SCHEMES, nr_block_error_rate(SCHEMES[:, None], 10 ** (grid_db() / 10), 1000))
COUNT = 6
RHO = np.array([0.9, 0.99, -0.4, 1.0, 0.5, 0.999])
SOURCES = np.array([0, 0, 0, link_columns.CONSTANT, link_columns.GIVEN, 0])
K_FACTOR = np.array([0.0, 4.0, 0.0, 2.0, 0.0, 0.0])
MEAN_SNR = np.array([3.0, 30.0, 200.0, 10.0, 1.0, 0.0])  # the last one has no share
SLOT_HZ_S = np.linspace(500.0, 1500.0, COUNT)
START = np.exp(1j * np.arange(COUNT))
GIVEN = np.random.default_rng(1).exponential(20.0, (COUNT, 700))


def seeds(name):
    return [hashlib.blake2b(f"{name}{row}".encode(), digest_size=24).digest() for row in range(COUNT)]


def begun(payload_bits):
    table = link_race.begin(ADAPTATION, START, seeds("fading"), seeds("blocks"))
    return table, link_race.links(RHO, K_FACTOR, MEAN_SNR, SLOT_HZ_S, np.full(COUNT, payload_bits))


def plain(slots):
    """The plain program of each row: its blocks and the bits [slots] sent by the end of each slot."""
    draws = innovations.innovations_of_seeds(seeds("fading").__getitem__)(np.arange(COUNT), slots)
    draws[SOURCES == link_columns.CONSTANT] = 0.0
    gains = fading.gauss_markov(draws, RHO, START)
    snr = np.abs(fading.ricean(gains, K_FACTOR[:, None])) ** 2 * MEAN_SNR[:, None]
    snr[SOURCES == link_columns.GIVEN] = GIVEN[SOURCES == link_columns.GIVEN, :slots]
    found = []
    for row in range(COUNT):
        uniform = innovations.generator_of(seeds("blocks")[row]).random(slots)
        blocks = PlainBlocks(ADAPTATION, uniform.tolist())
        bits = np.zeros(slots)
        if MEAN_SNR[row] > 0:
            bits = np.array([blocks.step(value) for value in snr[row]]) * SLOT_HZ_S[row]
        found.append((blocks, bits.cumsum()))
    return found, gains


@pytest.mark.parametrize("payload_bits", [9e4, 4e5, 1e9])
def test_the_race_ends_with_the_first_payload_of_a_plain_program(payload_bits):
    table, links = begun(payload_bits)
    slots = link_race.race(ADAPTATION, table, links, SOURCES, 700, GIVEN)
    found, gains = plain(700)
    complete = np.array([bits >= payload_bits for _, bits in found]).any(axis=0)
    assert slots == (int(complete.argmax()) + 1 if complete.any() else 700)
    found, gains = plain(slots)
    assert table.state[:, link_columns.BITS].tolist() == [bits[-1] for _, bits in found]
    for column, name in (("FIRST_SENT", "first"), ("FIRST_LOST", "lost"), ("OFFSET", "offset_db")):
        state = table.state[:, getattr(link_columns, column)].tolist()
        assert state == [getattr(blocks, name) for blocks, _ in found]
    drawn = SOURCES != link_columns.GIVEN
    np.testing.assert_array_equal(link_race.last_gains(table)[drawn], gains[drawn, -1])


def test_a_table_that_is_put_back_goes_the_same_way():
    table, links = begun(1e9)
    straight, _ = begun(1e9)
    at = 0
    for ahead, used in zip(*np.random.default_rng(5).integers(1, 40, (2, 15)).tolist(), strict=True):
        before = table.copy()
        link_race.race(ADAPTATION, table, links, SOURCES, ahead, GIVEN[:, at : at + ahead].copy())
        table.put_back(before)
        link_race.race(ADAPTATION, table, links, SOURCES, used, GIVEN[:, at : at + used].copy())
        at += used
    link_race.race(ADAPTATION, straight, links, SOURCES, at, GIVEN)
    for column, wanted in zip(table, straight, strict=True):
        np.testing.assert_array_equal(column, wanted)


def test_without_numba_the_loop_has_the_same_bits(monkeypatch):
    table, links = begun(3e5)
    slots = link_race.race(ADAPTATION, table, links, SOURCES, 100, GIVEN)
    monkeypatch.setattr(_link_race, "fill", innovations.fill_normals)
    monkeypatch.setattr(_link_race, "fill_uniforms", innovations.fill_uniforms)
    monkeypatch.setattr(_link_race, "race", _link_race._race)
    slow, _ = begun(3e5)
    assert link_race.race(ADAPTATION, slow, links, SOURCES, 100, GIVEN) == slots
    for column, wanted in zip(slow, table, strict=True):
        np.testing.assert_array_equal(column, wanted)
