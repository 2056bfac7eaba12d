"""Rows come back as they were added, whether they are in memory or in a file, and the file leaves no trace."""

import errno
import gc
import os
import tracemalloc

import numpy as np
import pytest

from edgefl.core import row_store
from edgefl.core.errors import RunError
from edgefl.core.row_store import RowStore


@pytest.fixture
def tiny(monkeypatch):
    """Blocks of a few rows, which move to the file at once."""
    monkeypatch.setattr(row_store, "BLOCK_ROWS", 7)
    monkeypatch.setattr(row_store, "BLOCK_ENTRIES", 4)
    monkeypatch.setattr(row_store, "MOST_HELD_BYTES", 0)


def entries_of(lengths):
    """Entries of several types; texts of several lengths, numbers that need one byte and numbers that need eight."""
    draws = np.random.default_rng(3)
    names = np.array(["", "late", "über", "received"])
    entries = []
    for place, length in enumerate(lengths):
        entries.append(
            {
                "device": draws.integers(-3, 3, length) * 10 ** (2 * (place % 8)),
                "status": names[draws.integers(0, 1 + place % 4, length)],
                "energy_j": np.where(draws.random(length) < 0.2, np.nan, draws.normal(size=length)),
                "los": draws.random(length) < 0.5,
            }
        )
    return entries


def check_same(store, entries):
    found = [block.columns for block in store.blocks()]
    for name in entries[0]:
        whole = np.concatenate([columns[name] for columns in found])
        wanted = np.concatenate([entry[name] for entry in entries])
        np.testing.assert_array_equal(whole, wanted)
        assert whole.dtype.kind == wanted.dtype.kind


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("lengths", [[], [0], [5], [20], [1] * 30, [3, 0, 9, 1, 1, 0, 0, 2, 30, 4]])
def test_rows_come_back_as_they_were_added(lengths, on_disk, tiny, tmp_path):
    store = RowStore(tmp_path if on_disk else None)
    entries = entries_of(lengths)
    for entry in entries:
        store.append(entry)
        store.make_room()
    blocks = list(store.blocks())
    assert np.concatenate([[], *(block.lengths for block in blocks)]).tolist() == lengths
    assert [block.first for block in blocks] == np.cumsum([0, *(len(block.lengths) for block in blocks)])[:-1].tolist()
    for name in store.names:
        whole = np.concatenate([entry[name] for entry in entries])
        for found in (store.blocks(), store.blocks([name])):
            np.testing.assert_array_equal(np.concatenate([block.columns[name] for block in found]), whole)
    assert list(tmp_path.iterdir()) == []


def test_an_entry_is_a_copy(tiny):
    store = RowStore()
    entry = {"device": np.arange(3)}
    store.append(entry)
    entry["device"] = np.zeros(3)
    (found,) = store.blocks()
    assert found.columns["device"].tolist() == [0, 1, 2]


def test_entries_of_other_columns_begin_a_block_of_their_own():
    store = RowStore()
    store.append({})
    store.append({"device": np.arange(2)})
    first, second = store.blocks()
    assert (dict(first.columns), first.lengths.tolist()) == ({}, [0])
    assert (second.columns["device"].tolist(), second.lengths.tolist()) == ([0, 1], [2])


@pytest.mark.oracle
def test_memory_does_not_grow_with_the_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(row_store, "MOST_HELD_BYTES", 10**6)
    peaks = {}
    for folder in (None, tmp_path):
        gc.collect()
        tracemalloc.start()
        store = RowStore(folder)
        for _ in range(200):
            store.append({"energy_j": np.ones(10_000)})
            store.make_room()
        assert sum(float(block.columns["energy_j"].sum()) for block in store.blocks()) == 2e6
        peaks[folder] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[None] > 16e6
    assert peaks[tmp_path] < 3e6


def test_a_full_disk_is_one_line_and_loses_nothing(tiny, monkeypatch, tmp_path):
    store = RowStore(tmp_path)
    entries = entries_of([9, 9, 9])
    room = [200]
    usual = os.pwrite

    def pwrite(file, content, place):
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        piece = content[: min(room[0], 11)]  # the system may write less than it was asked to
        room[0] -= len(piece)
        return usual(file, piece, place)

    monkeypatch.setattr(os, "pwrite", pwrite)
    failures = []
    for entry in entries:
        store.append(entry)
        try:
            store.make_room()
        except RunError as error:
            failures.append(str(error))
    assert set(failures) == {f"{tmp_path}: the rows of the run cannot be written: No space left on device"}
    check_same(store, entries)
    room[0] = 10**6
    store.make_room()
    check_same(store, entries)
