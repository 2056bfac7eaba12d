"""The cache of arrays: made once, and again when a source has changed."""

import os

import numpy as np
import pytest

from edgefl.core.errors import InputError, Unavailable
from edgefl.learning.datasets.cache import cached, without_reading

pytestmark = pytest.mark.usefixtures("home")


class Maker:
    """Counts how often it is called."""

    def __init__(self, source):
        self.source = source
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"train_x": np.frombuffer(self.source.read_bytes(), np.uint8).copy(), "words": np.array(["ä", "b"])}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.write_bytes(b"first")
    return path


@pytest.fixture
def arrays(home):
    return home / ".cache" / "edgefl" / "arrays"


def test_without_reading_raises_for_arrays_that_are_not_cached(source, arrays):
    """Until it has been read; `edgefl validate` does not wait for that."""
    make = Maker(source)
    with without_reading(), pytest.raises(Unavailable, match=r"^data.dataset: d has not been read on this machine yet"):
        cached("d", 1, [source], make)
    assert make.calls == 0
    assert not arrays.exists()
    made = cached("d", 1, [source], make)
    with without_reading():
        mapped = cached("d", 1, [source], make)
    assert make.calls == 1
    assert np.array_equal(made["train_x"], mapped["train_x"])


def test_made_once(source):
    make = Maker(source)
    first, second = (cached("d", 1, [source], make) for _ in range(2))
    assert make.calls == 1
    for got in (first, second):
        assert isinstance(got["train_x"], np.memmap)
        assert bytes(got["train_x"]) == b"first"
        assert got["words"].tolist() == ["ä", "b"]


def test_writes_to_a_map_do_not_reach_the_file(source):
    make = Maker(source)
    cached("d", 1, [source], make)["train_x"][:] = 0
    assert bytes(cached("d", 1, [source], make)["train_x"]) == b"first"


def test_a_changed_source_replaces_the_cached_arrays(source, arrays):
    make = Maker(source)
    old = cached("d", 1, [source], make)
    time = source.stat().st_mtime_ns
    source.write_bytes(b"another")
    os.utime(source, ns=(time, time))  # another size only
    assert bytes(cached("d", 1, [source], make)["train_x"]) == b"another"
    source.write_bytes(b"anothes")
    os.utime(source, ns=(1, 1))  # another time only
    assert bytes(cached("d", 1, [source], make)["train_x"]) == b"anothes"
    assert make.calls == 3
    assert len(list(arrays.iterdir())) == 1
    assert bytes(old["train_x"]) == b"first"  # who has it mapped keeps it


def test_options_names_and_paths_have_their_own(source, tmp_path, arrays):
    make = Maker(source)
    twin = tmp_path / "twin"
    twin.write_bytes(b"first")
    os.utime(twin, ns=(1, 1))
    os.utime(source, ns=(1, 1))
    for key in (("d", 1, [source]), ("d", 2, [source]), ("e", 1, [source]), ("d", 1, [twin]), ("d", 1, [source, twin])):
        cached(*key, make)
    assert make.calls == 5
    assert len(list(arrays.iterdir())) == 5


@pytest.mark.parametrize("damage", ["truncated", "emptied", "no array", "gone", "no list"])
def test_a_damaged_cache_is_made_again(source, arrays, damage):
    make = Maker(source)
    cached("d", 1, [source], make)
    (file,) = arrays.glob("*/train_x.npy")
    if damage == "gone":
        file.unlink()
    elif damage == "no list":
        file.with_name("names.txt").unlink()
    else:
        content = file.read_bytes()
        file.write_bytes({"truncated": content[:-1], "emptied": b"", "no array": b"x" * len(content)}[damage])
    assert bytes(cached("d", 1, [source], make)["train_x"]) == b"first"
    assert make.calls == 2
    cached("d", 1, [source], make)
    assert make.calls == 2


def test_without_a_place_to_write_arrays_are_in_memory(source, home):
    (home / ".cache").write_text("a file where the folder should be")
    got = cached("d", 1, [source], Maker(source))
    assert bytes(got["train_x"]) == b"first"


def test_two_processes_share_one_cache(source, arrays):
    """The slower of two finds the other's arrays in its place."""
    inner = Maker(source)
    outer = Maker(source)

    def make():
        cached("d", 1, [source], inner)
        return outer()

    assert bytes(cached("d", 1, [source], make)["train_x"]) == b"first"
    assert len(list(arrays.iterdir())) == 1


def test_faults_leave_nothing(source, tmp_path, arrays):
    def make():
        raise InputError("wrong")

    with pytest.raises(InputError, match="wrong"):
        cached("d", 1, [source], make)
    with pytest.raises(InputError, match=r"^data\.dataset: .*nothing: No such file"):
        cached("d", 1, [tmp_path / "nothing"], Maker(source))
    assert not arrays.exists()
