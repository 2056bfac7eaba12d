"""Rows that move to the disk during a run do not change results, even if the run is cut short."""

import errno
import os

import pytest
from kills import Killed, kill_at
from resume_cases import BASE
from run_cases import content

import edgefl
from edgefl.core import row_store
from edgefl.core.errors import RunError
from edgefl.records import ledger

MOVING = {
    "rounds": 12,
    "mobility": "random_waypoint",
    "churn": {"kind": "poisson", "arrivals_per_s": 0.1, "stay_s": {"exponential": 40}},
}
CASES = {
    "rounds": {},
    "asynchronous": {"server": {"participants": 3, "policy": "asynchronous"}},
    "moving": MOVING,
}


@pytest.fixture
def in_memory(tmp_path):
    """Runs a scenario with its rows in memory, and returns the bytes of its results."""

    def run(keys):
        edgefl.run(keys, out=tmp_path / "memory", device="cpu", train=False)
        return content(tmp_path / "memory")

    return run


@pytest.fixture
def move_early(monkeypatch):
    """Lets rows move to the disk at once."""

    def change():
        monkeypatch.setattr(row_store, "BLOCK_ROWS", 8)
        monkeypatch.setattr(row_store, "MOST_HELD_BYTES", 0)
        monkeypatch.setattr(ledger, "MOST_LOOSE_EVENTS", 10)

    return change


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_results_have_the_same_bytes(name, in_memory, move_early, monkeypatch, tmp_path):
    keys = {**BASE, **CASES[name]}
    wanted = in_memory(keys)
    move_early()
    written = []
    usual = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda *call: written.append(usual(*call)) or written[-1])
    seen = set()
    out = tmp_path / "out"
    result = edgefl.run(
        keys, out=out, device="cpu", train=False, progress=lambda _: seen.update(path.name for path in out.iterdir())
    )
    assert sum(written) > 1000
    assert content(out) == wanted
    assert not {name for name in seen if name.endswith(".part") or name == "devices.csv"}
    assert result.status == "finished"


@pytest.mark.oracle
def test_a_killed_run_ends_with_the_same_bytes(in_memory, move_early, tmp_path):
    wanted = in_memory(BASE)
    move_early()
    out = tmp_path / "out"
    with pytest.raises(Killed):
        edgefl.run(BASE, out=out, device="cpu", train=False, progress=kill_at(6))
    assert not (out / "devices.csv").exists()
    edgefl.run(BASE, out=out, device="cpu", train=False, resume=True)
    assert content(out) == wanted


@pytest.mark.oracle
def test_a_full_disk_is_one_line_and_the_run_can_be_resumed(in_memory, move_early, monkeypatch, tmp_path):
    wanted = in_memory(BASE)
    move_early()
    out = tmp_path / "out"
    with monkeypatch.context() as full:

        def pwrite(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        full.setattr(os, "pwrite", pwrite)
        result = edgefl.run(BASE, out=out, device="cpu", train=False)
    assert result.status == "failed"
    assert result.error == f"{out}: the rows of the run cannot be written: No space left on device"
    assert 0 < len(result.rounds) < BASE["rounds"]
    assert result.rounds["selected"].sum() == len(result.devices)  # what was finished is whole
    edgefl.run(BASE, out=out, device="cpu", train=False, resume=True)
    assert content(out) == wanted


def test_rows_that_cannot_be_read_again_end_the_run_in_one_line(move_early, monkeypatch, tmp_path):
    move_early()

    def pread(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", pread)
    with pytest.raises(RunError, match="the rows of the run cannot be read: Input/output error"):
        edgefl.run(BASE, out=tmp_path, device="cpu", train=False)
    assert not (tmp_path / "devices.csv").exists()
