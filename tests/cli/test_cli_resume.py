"""kill -9, a full disk, two processes in one folder: as a user meets them."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgefl import run
from edgefl.core.own_files import alone
from edgefl.results.run_folder import LOCK

SCENARIO = """\
rounds: 12
data: {partition: {kind: dirichlet, alpha: 0.3}}
training: {local_epochs: 2}
algorithm: feddyn
devices: {count: 20}
server: {participants: 5}
"""
FILES = ("scenario.yaml", "labels.csv", "rounds.csv", "devices.csv", "events.parquet", "model.safetensors")
SWEEP = "base: s.yaml\nset: {rounds: 5}\ngrid: {radio.bandwidth_hz: [1e8, 2e8], algorithm: [fedavg, feddyn]}\n"
HOW = ("--device", "cpu", "--workers", "2", "--quiet")
EVERY = ("--checkpoint-every", "2", "--device", "cpu", "--quiet")


def content(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


LINES = 3 + 2 * 12  # of the journal: what it begins with, and two for each round


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same run, never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "s.yaml").write_text(SCENARIO)
    assert run(folder / "s.yaml", out=folder / "out", device="cpu").status == "finished"
    return content(folder / "out")


def lines(edgefl):
    """Count the lines of the journal."""
    journal = edgefl.folder / "out" / "checkpoints" / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def kill_at(edgefl, count, *more):
    """Run it, and kill it when so much is in the journal; whether it was still running."""
    process = edgefl.start("run", "s.yaml", "-o", "out", *EVERY, *more, stderr=subprocess.DEVNULL)
    while process.poll() is None and lines(edgefl) < count:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def check_kills(edgefl, whole, kills, seed):
    edgefl.write("s.yaml", SCENARIO)
    killed = 0
    for count in np.random.default_rng(seed).integers(0, LINES, kills):
        shutil.rmtree(edgefl.folder / "out", ignore_errors=True)
        killed += kill_at(edgefl, count)
        done = edgefl("run", "s.yaml", "-o", "out", "--resume", *EVERY)
        assert done.returncode == 0, done.stderr
        assert content(edgefl.folder / "out") == whole
    return killed


@pytest.mark.slow
def test_killed_at_ten_moments(edgefl, whole):
    assert check_kills(edgefl, whole, kills=10, seed=2) >= 5


def test_killed_and_killed_again_while_it_resumes(edgefl, whole):
    """First while it trains in its own process, as users run it who say nothing about processes."""
    edgefl.write("s.yaml", SCENARIO)
    by_itself = replace(edgefl, processes=None)
    assert [kill_at(by_itself, 8), kill_at(edgefl, 16, "--resume")] == [True, True]
    assert edgefl("run", "s.yaml", "-o", "out", "--resume", *EVERY).returncode == 0
    assert content(edgefl.folder / "out") == whole


def test_a_second_process_is_refused(edgefl):
    edgefl.write("s.yaml", SCENARIO.replace("rounds: 12", "rounds: 3000"))
    first = edgefl.start("run", "s.yaml", "-o", "out", *EVERY)
    journal = edgefl.folder / "out" / "checkpoints" / "journal.jsonl"
    while first.poll() is None and not journal.exists():
        time.sleep(0.05)
    try:
        for option in ("--resume", "--overwrite"):
            second = edgefl("run", "s.yaml", "-o", "out", option, *EVERY)
            assert second.returncode == 2
            assert second.stderr.count("\n") == 1
            assert "another process is running there" in second.stderr
    finally:
        first.kill()
        first.wait()


def test_resume_says_when_there_is_nothing_to_do(edgefl):
    edgefl.write("s.yaml", "rounds: 2\nmodel: logistic")
    assert edgefl("run", "s.yaml", "-o", "out").returncode == 0
    again = edgefl("run", "s.yaml", "-o", "out", "--resume")
    assert again.returncode == 0
    assert "finished before" in again.stdout


def test_invalid_pace_is_refused(edgefl):
    edgefl.write("s.yaml", "rounds: 2")
    for every in ("0", "-3", "many", "2.5", "min", "nanmin"):
        (line,) = edgefl.refused("run", "s.yaml", "--checkpoint-every", every)
        assert "--checkpoint-every" in line
        assert "50" in line


@pytest.fixture
def disk(tmp_path):
    """A file system of a few kilobytes; a skip where this user cannot have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk(edgefl, disk):
    """Checkpoints are left out with a warning, results end with one line; earlier files are whole."""
    edgefl.write("s.yaml", SCENARIO)
    done = edgefl("run", "s.yaml", "-o", disk / "out", "--checkpoint-every", "2", "--device", "cpu")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "checkpoint cannot be written" in done.stderr
    assert "No space left" in done.stderr.splitlines()[-1]
    assert (disk / "out" / "scenario.yaml").read_text().startswith("name:")
    assert not list(Path(disk).rglob("*.part"))


def test_a_full_disk_ends_a_sweep_with_a_line(edgefl, disk):
    edgefl.write("s.yaml", "rounds: 40\nmodel: logistic")
    edgefl.write("sweep.yaml", "base: s.yaml\ntrain: false\ngrid: {radio.bandwidth_hz: [1e8, 2e8, 3e8]}")
    done = edgefl("sweep", "sweep.yaml", "-o", disk / "out", *HOW)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_a_read_only_folder(edgefl, disk):
    """A run and a sweep say that the folder cannot be written; its content stays."""
    edgefl.write("s.yaml", "rounds: 2\nmodel: logistic")
    edgefl.write("sweep.yaml", "base: s.yaml\nseeds: [1, 2]")
    (disk / "kept").mkdir()
    (disk / "kept" / "scenario.yaml").write_text("name: kept")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for verb in (("run", "s.yaml"), ("sweep", "sweep.yaml")):
        for folder, options in (("new", ()), ("new", ("--resume",)), ("kept", ("--overwrite",))):
            (line,) = edgefl.refused(*verb, "-o", disk / folder, *options)
            assert str(disk / folder) in line
            assert "cannot be written" in line
    assert (disk / "kept" / "scenario.yaml").read_text() == "name: kept"


# Sweeps


def all_of(folder):
    """Return the files that a sweep has written, but for those that tell of clocks and pages."""
    left_out = {"manifest.json", "summary.json", "report.html"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in left_out
    }


def learned(folder):
    """Count the rounds that the runs of a sweep have on record; those that are through count whole."""
    journals = [path.read_bytes().count(b'"columns"') for path in folder.rglob("journal.jsonl")]
    return sum(journals) + 5 * len(list(folder.rglob("rounds.csv")))


def killed_sweeps(edgefl, kills, seed):
    """Sweeps that were killed with all their processes, or alone, and resumed: their files; and how often it was so."""
    edgefl.write("s.yaml", SCENARIO)
    edgefl.write("sweep.yaml", SWEEP)
    assert edgefl("sweep", "sweep.yaml", "-o", "whole", *HOW).returncode == 0
    rng = np.random.default_rng(seed)
    killed = 0
    for number, count in enumerate(rng.integers(0, 18, kills)):
        shutil.rmtree(edgefl.folder / "out", ignore_errors=True)
        process = edgefl.start("sweep", "sweep.yaml", "-o", "out", *HOW, start_new_session=True)
        while process.poll() is None and learned(edgefl.folder / "out") < count:
            time.sleep(0.01)
        (os.killpg if number % 2 else os.kill)(process.pid, signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        done = edgefl("sweep", "sweep.yaml", "-o", "out", "--resume", *HOW)
        assert done.returncode == 0, done.stderr
        assert all_of(edgefl.folder / "out") == all_of(edgefl.folder / "whole")
    return killed


def test_a_killed_sweep_ends_with_the_same_bytes(edgefl):
    assert killed_sweeps(edgefl, kills=1, seed=3)


@pytest.mark.slow
def test_a_sweep_killed_at_ten_moments(edgefl):
    assert killed_sweeps(edgefl, kills=10, seed=4) >= 5


def test_a_sweep_removes_what_was_half_written_when_it_was_killed(edgefl):
    """Before it has any other file, and when all its runs are finished."""
    edgefl.write("s.yaml", SCENARIO.replace("rounds: 12", "rounds: 2"))
    edgefl.write("sweep.yaml", "base: s.yaml\ntrain: false\nseeds: [1, 2]")
    edgefl.write("out/checkpoints/journal.jsonl", "")  # its lock
    names = (".sweep.yaml.0123456789ab.part", ".index.csv.0123456789ab.part")
    for _ in range(2):
        half_written = [edgefl.write(f"out/{name}", "point,se") for name in names]
        done = edgefl("sweep", "sweep.yaml", "-o", "out", "--resume", *HOW)
        assert done.returncode == 0, done.stderr
        assert not any(path.exists() for path in half_written)
        assert (edgefl.folder / "out" / "index.csv").read_text().count("finished") == 2


def test_a_second_sweep_is_refused(edgefl):
    edgefl.write("s.yaml", SCENARIO.replace("rounds: 12", "rounds: 2"))
    edgefl.write("sweep.yaml", "base: s.yaml\ntrain: false\nseeds: [1, 2]")
    assert edgefl("sweep", "sweep.yaml", "-o", "out", *HOW).returncode == 0
    with alone(edgefl.folder / "out" / LOCK):  # as a sweep holds it
        for option in ("--resume", "--overwrite"):
            second = edgefl("sweep", "sweep.yaml", "-o", "out", option, *HOW)
            assert second.returncode == 2
            assert "another process is running there" in second.stderr


def test_a_run_and_a_sweep_begun_together_in_a_new_folder(edgefl):
    edgefl.write("s.yaml", SCENARIO.replace("rounds: 12", "rounds: 2"))
    edgefl.write("sweep.yaml", "base: s.yaml\ntrain: false\nseeds: [1, 2]\n")
    commands = [
        ("run", "s.yaml", "-o", "out", "--no-train", "--quiet"),
        ("sweep", "sweep.yaml", "-o", "out", "--workers", "1", "--quiet"),
    ]
    started = [edgefl.start(*command, stderr=subprocess.PIPE, text=True) for command in commands]
    said = [process.communicate(timeout=60)[1] for process in started]
    assert sorted(process.returncode for process in started) == [0, 2], said
    names = {path.name for path in (edgefl.folder / "out").iterdir()}
    assert ("manifest.json" in names) != ("sweep.yaml" in names)
