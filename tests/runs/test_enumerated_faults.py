"""Faults at every write, call of the file system and message of a short run; see `fault_library`.

A struck run ends with a known exit code, at most one line and no traceback; resumed, it has the bytes of a run that was
never struck. `python tests/cases/fault_library.py` prints how many places there are.
"""

import os
import shutil
import subprocess
import sys

import pytest
from fault_library import FAULTS, SCENARIO, Enumeration, FaultServer, enumerate_faults, results

pytestmark = pytest.mark.process

PLACES = 1  # of each fault in the quick test
LEAST_PLACES = {"files": 100, "messages": 10}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = FaultServer(tmp_path_factory.mktemp("home"))
    yield server
    server.close()


def test_each_fault_at_a_few_places(server, tmp_path):
    struck = list(enumerate_faults(server, tmp_path, list(FAULTS), most=PLACES))
    assert [name for name, _, _ in struck] == list(FAULTS)
    assert all(places == PLACES for _, places, _ in struck)
    # The faults do strike: a run that is told to end by them does.
    codes = {name: set(codes) for name, _, codes in struck}
    assert codes["kill -9"] == {-9}
    assert 130 in codes["SIGTERM"]
    assert codes["the disk is full from there on"] & {1, 2}


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_at_every_place(name, server, tmp_path):
    ((_, places, _),) = enumerate_faults(server, tmp_path, [name])
    assert places >= LEAST_PLACES["messages" if FAULTS[name].workers else "files"]


def _run(folder, out, prefix=(), **environment):
    """Run the short scenario in a process of its own, whose environment lacks or has some variables."""
    values = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    command = [*prefix, sys.executable, "-m", "edgefl", "run", "s.yaml", "-o", out, "--device", "cpu", "--quiet"]
    kept = {name: value for name, value in values.items() if value is not None}
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def whole(server, tmp_path):
    """The results of the short run; its scenario lies in the folder."""
    (tmp_path / "s.yaml").write_text(SCENARIO)
    enumeration = Enumeration(server, tmp_path / "whole")
    enumeration.places("files", 0)
    return enumeration.truth


def test_run_without_home_and_temporary_folder(whole, tmp_path):
    poor = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "USER", "LOGNAME"))
    done = _run(tmp_path, "out", **poor, TMPDIR="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert results(tmp_path / "out") == whole


def test_run_without_shared_memory(whole, tmp_path):
    """Workers' tensors travel in anonymous memory, so containers may leave /dev/shm out."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    prefix = ("unshare", "--mount", "sh", "-c", 'umount -l /dev/shm && chmod 0 /dev/shm 2>/dev/null; exec "$@"', "sh")
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to unmount")
    done = _run(tmp_path, "out", prefix)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "out") == whole


def test_a_server_finds_the_places(server, tmp_path):
    enumeration = Enumeration(server, tmp_path)
    files = enumeration.places("files", 0)
    assert {"write", "open", "fsync", "replace", "unlink", "mkdir"} <= set(files)
    assert files == enumeration.places("files", 0, again=True)  # a place's number means the same call in every run
