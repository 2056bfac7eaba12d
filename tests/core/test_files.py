"""Files that are whole or absent, with the user's own rights, and errors that name them."""

import errno
import os
import stat

import pytest

from edgefl.core import files
from edgefl.core.files import atomically, cut_to_bytes, write_atomically


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


def test_an_error_about_another_file_stays_as_it_is(tmp_path):
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
