"""Files that are whole or absent, with the user's own rights, and errors that name them."""

import errno
import os
import stat
from contextlib import suppress

import pytest

from edgefl.core import files
from edgefl.core.files import FileGroup, atomically, cut_to_bytes, write_atomically


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_files_obey_the_umask(tmp_path, umask):
    write_atomically(tmp_path / "a.csv", b"1")
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_an_error_names_the_file(tmp_path, monkeypatch, at):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if at == "fsync":
        monkeypatch.setattr(files.os, "fsync", full)
    else:
        monkeypatch.setattr(files.Path, "replace", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_atomically(tmp_path / "a.csv", b"1")
    assert caught.value.filename == str(tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def test_error_about_another_file_is_unchanged(tmp_path):
    def read_inside():
        with atomically(tmp_path / "a.csv"):
            (tmp_path / "missing").read_bytes()

    with pytest.raises(FileNotFoundError) as caught:
        read_inside()
    assert caught.value.filename == str(tmp_path / "missing")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "most", "cut"), [("abc", 3, "abc"), ("abc", 2, "ab"), ("ä" * 5, 5, "ää"), ("😀", 3, "")]
)
def test_names_are_cut_by_bytes(text, most, cut):
    assert cut_to_bytes(text, most) == cut


def test_a_long_name(tmp_path):
    write_atomically(tmp_path / ("ä" * 120), b"1")  # 240 bytes; file systems take 255


def test_a_group_appears_as_one(tmp_path, monkeypatch):
    order = []
    replace = files.Path.replace
    monkeypatch.setattr(files.Path, "replace", lambda self, to: (order.append(to.name), replace(self, to)))
    with FileGroup(tmp_path / "new") as group:
        for name in ("b", "a", "c"):
            group.write(name, name.encode())
        assert not [path for path in (tmp_path / "new").iterdir() if not path.name.startswith(".")]
    assert order == ["b", "a", "c"]  # as they were written
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()} == {"a": b"a", "b": b"b", "c": b"c"}


def test_group_is_on_disk_before_its_first_name(tmp_path, monkeypatch):
    done = []
    fsync = os.fsync
    replace = files.Path.replace
    monkeypatch.setattr(files.os, "fsync", lambda handle: (fsync(handle), done.append("on disk")))
    monkeypatch.setattr(files.Path, "replace", lambda self, to: (replace(self, to), done.append("name")))
    with FileGroup(tmp_path) as group:
        group.write("a", b"1")
        group.write("b", b"2")
    assert done == ["on disk"] * 2 + ["name"] * 2


@pytest.mark.parametrize("at", ["the block", "fsync", "a file that its user gives up"])
def test_an_error_in_a_group_leaves_old_files_as_they_were(tmp_path, monkeypatch, at):
    (tmp_path / "a").write_bytes(b"old")

    def full(*_):
        raise OSError(errno.EIO, "Input/output error")

    def write():
        with FileGroup(tmp_path) as group:
            group.write("a", b"new")
            if at == "fsync":
                monkeypatch.setattr(files.os, "fsync", full)
            elif at == "the block":
                full()
            with group.open("b"):
                if at == "a file that its user gives up":
                    full()

    with pytest.raises(OSError, match="Input/output error"):
        write()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


def test_group_continues_without_a_failed_file(tmp_path):
    with FileGroup(tmp_path) as group:
        group.write("a", b"1")
        with suppress(ValueError), group.open("b"):
            raise ValueError
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
