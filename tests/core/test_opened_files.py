"""One place opens what users name, and refuses what might never end."""

import ast
import gzip
import os
import random
from pathlib import Path

import pytest

import edgefl
from edgefl.core.files import MOST_LINE_BYTES, is_locked, lines, opened, opened_text, read_bytes, read_text
from edgefl.core.packed_files import LEAST_BOUND_BYTES, MOST_RATIO, read_unpacked, unpacked

PACKAGE = Path(edgefl.__file__).parent
# Files of the system, of the package and of edgefl's own cache, files in memory, and code that Python imports anyway.
NOT_OF_USERS = {
    "cli/streams.py",
    "core/machine.py",
    "core/plugins.py",
    "core/words.py",
    "learning/datasets/cache.py",
    "learning/datasets/digits.py",
    "measuring/board.py",
    "measuring/power/ina3221.py",
    "measuring/power/rapl.py",
    "measuring/power/source.py",
    "results/report/shared/resources.py",
    "scenario/examples.py",
    "scenario/key_words.py",
    "scenario/presets/__init__.py",
    "scenario/shipped.py",
}


def reads_directly(call):
    """Return whether a call opens a file by its path for reading."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    if function.attr == "open":
        return modes[:1] in (["r"], ["rb"]) or any(word.arg == "encoding" for word in call.keywords)
    return function.attr in {"read_text", "read_bytes"}


@pytest.mark.oracle
def test_no_other_module_opens_files_of_users():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        if any(reads_directly(call) for call in calls):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == NOT_OF_USERS | {"core/files.py"}


def test_one_module_unpacks_gzip():
    importing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "import gzip\n" in path.read_text(encoding="utf-8")
    }
    assert importing == {"core/packed_files.py", "results/report/shared/resources.py"}  # the latter packs


@pytest.mark.parametrize("read", [opened, opened_text, read_bytes, read_text, unpacked, read_unpacked])
def test_pipes_and_devices_are_refused(tmp_path, read):
    path = tmp_path / "pipe.gz"
    os.mkfifo(path)
    for endless in (path, Path("/dev/zero")):
        with pytest.raises(OSError, match="is a pipe or a device, not a file"):
            read(endless)


def test_pipe_instead_of_a_lock_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "lock")
    assert not is_locked(tmp_path / "lock")


def test_endless_lines_are_refused(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"a" * (MOST_LINE_BYTES - 1) + b"\nb\n\nc")
    with opened(path) as stream:
        assert [len(line) for line in lines(stream)] == [MOST_LINE_BYTES, 2, 1, 1]
    path.write_bytes(b"b\n" + b"a" * MOST_LINE_BYTES + b"\n")
    with opened(path) as stream:
        found = lines(stream)
        assert next(found) == b"b\n"
        with pytest.raises(OSError, match="has a line of more than 1 MiB"):
            next(found)


@pytest.mark.oracle
def test_packed_and_plain_files_read_alike(tmp_path):
    content = random.Random(1).randbytes(3 * LEAST_BOUND_BYTES // 2)  # noqa: S311 - a file that does not shrink
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content, 1))
    assert read_unpacked(tmp_path / "plain") == read_unpacked(tmp_path / "packed.gz") == content


def test_a_small_file_may_unpack_to_a_large_one(tmp_path):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(LEAST_BOUND_BYTES)))
    assert path.stat().st_size * MOST_RATIO < LEAST_BOUND_BYTES
    assert len(read_unpacked(path)) == LEAST_BOUND_BYTES


@pytest.mark.oracle
def test_gzip_bomb_is_refused_early(tmp_path):
    """Its end is cut off: a reader that got there would complain of that."""
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(4 * LEAST_BOUND_BYTES))[:-20])
    with pytest.raises(OSError, match=r"unpacks to more than 50 times its size: .* gunzip"):
        read_unpacked(path)


@pytest.mark.parametrize(
    "content", [b"", b"plain", gzip.compress(b"some text", mtime=0)[:-4], gzip.compress(b"a", mtime=0)[:-8] + bytes(8)]
)
def test_files_that_are_not_gzip_are_refused(tmp_path, content):
    path = tmp_path / "trace.gz"
    path.write_bytes(content)
    if not content:
        assert read_unpacked(path) == b""
        return
    with pytest.raises(OSError, match="is not a whole gzip file"):
        read_unpacked(path)
