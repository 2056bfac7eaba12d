"""Runs and sweeps that end by signals: to one process or to a whole group, once or several times."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SCENARIO = "rounds: 100000\ndevices: {count: 10}\ntraining: {local_steps: 2}\nreport: {eval_every: 1000}\n"
NOISE = ("Traceback", "Error", "worker process")


@pytest.fixture
def running(edgefl):
    """Starts a run that learns, in a process group of its own, and waits for its first rounds."""
    started = []

    def start(*more, first="round "):
        edgefl.write("s.yaml", SCENARIO)
        process = edgefl.start(
            *(more or ("run", "s.yaml", "-o", "out", "--device", "cpu", "--checkpoint-every", "5", "-v")),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        for line in process.stderr:
            if first in line:
                return process
        raise AssertionError("it has ended")

    yield start
    for process in started:
        process.kill()
        process.communicate()


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def check_interrupted(edgefl, process):
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert not any(word in error for word in NOISE), error
    assert "interrupted" in error.splitlines()[-1]
    out = edgefl.folder / "out"
    assert manifest(out)["status"] == "interrupted"
    assert len((out / "rounds.csv").read_text().splitlines()) > 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_group(edgefl, running, number):
    """As GNU timeout, batch systems and closed terminals send it: the workers get it, too. The next sends Ctrl-C."""
    process = running(first="checkpoint")
    os.killpg(process.pid, number)
    check_interrupted(edgefl, process)


def test_signals_that_follow_each_other(edgefl, running):
    process = running(first="checkpoint")
    process.send_signal(signal.SIGINT)
    for pause_s in (0.005, 0.02, 0.05, 0.1):
        time.sleep(pause_s)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
    check_interrupted(edgefl, process)


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "streams", "code", "said"),
    [
        ("run s.yaml -o out --no-train", ">/dev/full", 1, "the output cannot be written: No space left on device"),
        ("run s.yaml -o out --no-train", ">&-", 0, ""),
        ("run s.yaml -o out --no-train", "2>&- >/dev/null", 0, ""),
        ("run s.yaml -o out --no-train", "2>/dev/full >/dev/null", 0, ""),
        ("run nowhere.yaml", "2>/dev/full", 2, ""),
        ("run nowhere.yaml", "2>&-", 2, ""),
        ("list models", ">/dev/full", 1, "the output cannot be written: No space left on device"),
    ],
)
def test_closed_and_full_streams(tmp_path, command, streams, code, said):
    """One line at most, and the code of what has happened."""
    (tmp_path / "s.yaml").write_text("rounds: 2\ndevices: {count: 4}\nserver: {participants: 2}\n")
    program = f"{sys.executable} -m edgefl {command} {streams}"
    ended = subprocess.run(["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    last = [line for line in ended.stderr.splitlines() if line.startswith("edgefl: ")]
    assert last == ([f"edgefl: {said}"] if said else [])
    assert "Traceback" not in ended.stderr
    if code == 0:
        assert manifest(tmp_path / "out")["status"] == "finished"


@pytest.mark.process
def test_a_signal_after_the_last_line_keeps_the_exit_code():
    """Python restores the default handlers before it clears its modules, and a second Ctrl-C may come just then."""
    program = f"""
import signal, sys
from edgefl.cli import program

class Late:
    def __del__(self, send=signal.raise_signal):
        send({int(signal.SIGINT)})

sys.late = Late()  # these names are cleared last
sys.argv[1:] = ["list", "partitions"]
program()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "dirichlet" in ended.stdout


@pytest.mark.parametrize("to", ["the sweep", "all of its processes"])
def test_a_sweep(edgefl, to):
    """Its runs write what they have, and say nothing."""
    edgefl.write("sweep.yaml", "base: s.yaml\nset: {rounds: 1.0e6}\ngrid: {radio.bandwidth_hz: [1e8, 2e8]}\n")
    command = ("sweep", "sweep.yaml", "-o", "out", "--no-train", "--workers", "2", "-v")
    edgefl.write("s.yaml", SCENARIO)
    process = edgefl.start(*command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    folders = []
    while len(folders) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
        folders = [path.parent for path in edgefl.folder.glob("out/**/manifest.json")]
    time.sleep(0.3)
    if to == "the sweep":
        process.send_signal(signal.SIGTERM)
    else:
        os.killpg(process.pid, signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert not any(word in error for word in NOISE), error
    assert [manifest(folder)["status"] for folder in folders] == ["interrupted", "interrupted"]
    assert all((folder / "rounds.csv").exists() for folder in folders)
