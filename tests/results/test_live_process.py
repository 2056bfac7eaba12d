"""The process that serves a live page, with another process in place of a run."""

import json
import re
import subprocess
import sys
import threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

import edgefl
from edgefl.core.files import locked
from edgefl.results import progress
from edgefl.results.progress import is_under_way, wait_until_released
from edgefl.results.run_folder import LOCK

# Holds the lock of a run, as does a child that lives a second longer than it.
RUN = """
import fcntl, os, subprocess, sys, time
from pathlib import Path

from edgefl.results.live.process import LivePage
from edgefl.results.run_folder import LOCK

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with LivePage(folder, 0, "a run") as page:
        manifest = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(manifest + " ")
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.Popen(["sleep", "1"], pass_fds=[lock])
        print(page.address, flush=True)
        time.sleep(60)
"""


@pytest.fixture
def unfinished(tmp_path):
    """The folder of a run that has begun and not ended."""
    folder = tmp_path / "out"
    edgefl.run({"rounds": 1, "devices": {"count": 2}}, out=folder, train=False)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    for name in ("rounds.csv", "devices.csv", "summary.json"):
        (folder / name).unlink()
    (folder / LOCK).parent.mkdir()
    return folder


def fetch(address):
    parts = urlsplit(address)
    connection = HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


@pytest.mark.process
def test_killed_run_with_inherited_lock_is_not_called_running(unfinished, tmp_path):
    """Children may see the end of a process before the kernel releases its locks."""
    (tmp_path / "run.py").write_text(RUN)
    command = [sys.executable, tmp_path / "run.py", unfinished]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        address = run.stdout.readline().strip()
        fetch(address)
        run.kill()
        state = {"version": 1, "ended": False}
        while not state["ended"]:
            text = fetch(f"{address}state?after={state['version']}")
            state = json.loads(text) if text else state
    assert re.search(r'role="status">.*was killed', state["main"])


def test_a_folder_is_waited_for_until_it_is_released(unfinished):
    holder = locked(unfinished / LOCK)
    assert is_under_way(unfinished)
    threading.Timer(0.2, holder.close).start()
    wait_until_released(unfinished)
    assert not is_under_way(unfinished)


def test_wait_for_other_process_is_short(unfinished, monkeypatch):
    monkeypatch.setattr(progress, "RELEASE_S", 0.05)
    with locked(unfinished / LOCK):
        wait_until_released(unfinished)
        assert is_under_way(unfinished)
