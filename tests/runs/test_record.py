"""Records are believed only if they are what was written there: damage costs time, never a result."""

import hashlib
import json
import logging
import os
import shutil
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import filelock
import numpy as np
import pytest
from kills import Killed, kill_at
from resume_cases import BASE
from run_cases import content

import edgefl
from edgefl.core.errors import InputError, Taken
from edgefl.core.files import locked
from edgefl.learning.record import FIRST_DIGEST, JOURNAL, Journal, Pace
from edgefl.results import run_folder
from edgefl.runs.emulation import Options, begin
from edgefl.scenario import load

KEYS = {**BASE, "rounds": 4}
KEY = "a" * 64


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of the run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    edgefl.run(KEYS, out=folder, device="cpu")
    return content(folder)


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """The folder of a run that was killed after three of four rounds, with a state after each."""
    folder = tmp_path_factory.mktemp("cut") / "out"
    with pytest.raises(Killed):
        edgefl.run(KEYS, out=folder, device="cpu", pace=Pace(rounds=1), progress=kill_at(3))
    return folder


@pytest.fixture
def copy(cut, tmp_path):
    return Path(shutil.copytree(cut, tmp_path / "out"))


def journal_of(folder):
    return folder / run_folder.CHECKPOINTS / JOURNAL


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def outcomes_by_line(data):
    """Return each line of an undamaged journal as (key, outcome); None for a state."""
    entries = [json.loads(line) for line in data.splitlines()]
    return [(entry["key"], entry["outcome"]) if "outcome" in entry else None for entry in entries]


# The chain of digests


def test_every_line_has_the_digest_of_itself_and_of_the_line_before(cut):
    before = FIRST_DIGEST
    lines = journal_of(cut).read_bytes().splitlines()
    assert len(lines) > 8
    for line in lines:
        digest = json.loads(line)["digest"]
        body = line.replace(f'"digest": "{digest}", '.encode(), b"")
        assert digest == hashlib.sha256(before.encode() + body).hexdigest()
        before = digest


EVERY_BIT = [pytest.param(bit, 1, marks=pytest.mark.slow) for bit in range(8)]


@pytest.mark.oracle
@pytest.mark.parametrize(("bit", "step"), [(0, 7), *EVERY_BIT])
def test_no_flipped_bit_changes_what_the_record_says(bit, step, copy, caplog):
    file = journal_of(copy)
    data = file.read_bytes()
    said = outcomes_by_line(data)
    starts = np.cumsum([0, *(len(line) for line in data.splitlines(keepends=True))])
    for place in range(0, len(data), step):
        damaged = bytearray(data)
        damaged[place] ^= 1 << bit
        file.write_bytes(damaged)
        caplog.clear()
        journal = Journal(file.parent)
        number = int(np.searchsorted(starts, place, side="right")) - 1  # of the damaged line
        for line, entry in enumerate(said):
            if entry is not None:
                key, outcome = entry
                assert journal.outcome(key) == (outcome if line < number else None)
        assert len(warnings(caplog)) <= 1
        assert file.read_bytes() == damaged  # nothing is written before the run begins
        journal.close()


def damages(data):
    """Damaged journals by name: each line in turn, in many ways."""
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines):
        before = b"".join(lines[:number])
        after = b"".join(lines[number + 1 :])
        digits = [place for place, byte in enumerate(line) if chr(byte).isdigit()]
        for place in (digits[0], digits[len(digits) // 2], digits[-1]):
            other = str((int(chr(line[place])) + 1) % 10).encode()
            yield f"{number}: digit {place}", before + line[:place] + other + line[place + 1 :] + after
        yield f"{number}: lost", before + after
        yield f"{number}: twice", before + line + line + after
        yield f"{number}: half", before + line[: len(line) // 2] + after
        yield f"{number}: not UTF-8", before + b"\xff\xfe" + line + after
        yield f"{number}: zeros", before + bytes(len(line)) + after
        for other in (b"[]", b"null", b"5", b'"key"', b"{}", b'{"key": []}', b"", b"[" * 100_000):
            yield f"{number}: {other[:12]!r}", before + other + b"\n" + after
        yield (
            f"{number}: swapped",
            before + b"".join(lines[number + 1 : number + 2]) + line + b"".join(lines[number + 2 :]),
        )
    yield "nothing", b""
    yield "garbage", os.urandom(4096)


def resumed(folder):
    result = edgefl.run(KEYS, out=folder, device="cpu", resume=True, pace=Pace(rounds=1))
    assert result.status == "finished"
    return content(folder)


def check_damages(part, copy, whole, caplog):
    data = journal_of(copy).read_bytes()
    for name, damaged in list(damages(data))[part]:
        folder = copy.parent / "damaged"
        shutil.copytree(copy, folder)
        journal_of(folder).write_bytes(damaged)
        caplog.clear()
        assert resumed(folder) == whole, name
        assert len(warnings(caplog)) <= 1, name
        shutil.rmtree(folder)


@pytest.mark.oracle
def test_a_damaged_journal_gives_the_same_bytes(copy, whole, caplog):
    check_damages(slice(5, None, 23), copy, whole, caplog)


@pytest.mark.slow
def test_every_damaged_line_gives_the_same_bytes(copy, whole, caplog):
    check_damages(slice(None), copy, whole, caplog)


@pytest.mark.oracle
def test_the_warning_names_the_line(copy, whole, caplog):
    file = journal_of(copy)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"1", b"2")
    file.write_bytes(b"".join(lines))
    assert resumed(copy) == whole
    (warning,) = warnings(caplog)
    assert f"{file}:4: does not fit the lines before it" in warning


@pytest.mark.oracle
def test_journal_without_digests_restarts_with_a_warning(copy, whole, caplog):
    file = journal_of(copy)
    entries = [json.loads(line) for line in file.read_bytes().splitlines()]
    for entry in entries:
        del entry["digest"]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert resumed(copy) == whole
    (warning,) = warnings(caplog)
    assert f"{file}:1: is damaged" in warning


def test_states_that_no_line_names_are_removed(copy, tmp_path):
    folder = journal_of(copy).parent
    assert len(list(folder.glob("*.state"))) == 2
    lines = journal_of(copy).read_bytes().splitlines(keepends=True)
    journal_of(copy).write_bytes(b"".join(lines[:2]))
    journal = Journal(folder)
    assert len(list(folder.glob("*.state"))) == 2  # nothing is changed before it is opened
    journal.open()
    assert not list(folder.glob("*.state"))
    journal.close()


def test_the_journal_of_another_run_counts_up_to_its_damage(copy, tmp_path, caplog):
    file = journal_of(copy)
    said = outcomes_by_line(file.read_bytes())
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"0", b"1")
    file.write_bytes(b"".join(lines))
    journal = Journal(tmp_path / "mine", others=[file.parent, tmp_path / "gone"])
    assert [journal.outcome(entry[0]) for entry in said[:2]] == [entry[1] for entry in said[:2]]
    assert all(journal.outcome(entry[0]) is None for entry in said[2:] if entry)
    assert len(warnings(caplog)) == 2
    assert "gone" in warnings(caplog)[1]
    assert not (tmp_path / "mine").exists()


# What a record may name


def chained(*entries):
    """A journal with these entries, whose digests are right."""
    lines = []
    before = FIRST_DIGEST
    for entry in entries:
        body = json.dumps(entry)
        before = hashlib.sha256((before + body).encode()).hexdigest()
        lines.append(f'{{"digest": "{before}", {body[1:]}\n')
    return "".join(lines)


@pytest.mark.oracle
@pytest.mark.parametrize("how", ["../../VICTIM", "absolute", "VICTIM", "journal.jsonl", "..", "", 5, None])
def test_a_foreign_journal_removes_no_file(how, copy, whole):
    victims = [copy.parent / "VICTIM", copy / run_folder.CHECKPOINTS / "VICTIM"]
    for victim in victims:
        victim.write_text("precious")
    name = str(victims[0]) if how == "absolute" else how
    base = json.loads(journal_of(copy).read_text().splitlines()[0])
    del base["digest"]
    states = [{"key": letter * 64, "file": name, "sha256": "0", "lasting": False} for letter in "abc"]
    journal_of(copy).write_text(chained(base, *states))
    journal = Journal(copy / run_folder.CHECKPOINTS)
    journal.open()
    for letter in "defg":
        journal.save(letter * 64, lambda file: file.write(b"state"))
    journal.close()
    assert [victim.read_text() for victim in victims] == ["precious", "precious"]
    assert resumed(copy) == whole
    assert victims[0].read_text() == "precious"


def test_links_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    name = hashlib.sha256(KEY.encode()).hexdigest()[:24]
    (folder / f"{name}.part").symlink_to(victim)
    journal = Journal(folder)
    journal.open()
    journal.save(KEY, lambda file: file.write(b"state"))
    journal.close()
    assert (folder / f"{name}.state").read_bytes() == b"state"
    (folder / JOURNAL).unlink()
    (folder / JOURNAL).symlink_to(victim)
    with pytest.raises(InputError, match="cannot be written"):
        Journal(folder, fresh=True)
    assert victim.read_text() == "precious"


def test_a_state_that_is_saved_again_is_the_newest_one(tmp_path):
    journal = Journal(tmp_path / "checkpoints")
    journal.open()
    for key in ("a", "b", "a", "c"):
        journal.save(key, lambda file: file.write(b"state"))
    journal.close()
    again = Journal(tmp_path / "checkpoints")
    assert [again.restore(key, lambda _: None) for key in "abc"] == [True, False, True]
    again.close()


def test_cleared_record_has_no_states(tmp_path):
    """Its former states are forgotten: they are not looked for when newer ones push them out."""
    journal = Journal(tmp_path)
    journal.open()
    for key in "ab":
        journal.save(key, lambda file: file.write(b"state"))
    journal.close()
    journal = Journal(tmp_path)
    journal.clear()
    journal.open()
    for key in "cdef":
        journal.save(key, lambda file: file.write(b"state"))
    assert len(list(tmp_path.glob("*.state"))) == 2
    journal.close()


@pytest.mark.oracle
def test_run_of_another_version_restarts_with_checkpoints(tmp_path, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr("edgefl.runs.learning_key.edgefl_version", lambda: "0.1.0")
        with pytest.raises(Killed):
            edgefl.run(KEYS, out=tmp_path / "cut", device="cpu", pace=Pace(rounds=1), progress=kill_at(3))
    edgefl.run(KEYS, out=tmp_path / "cut", device="cpu", resume=True, pace=Pace(rounds=1))
    edgefl.run(KEYS, out=tmp_path / "whole", device="cpu")
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


# The lock


def files_of(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def enter_meanwhile(monkeypatch, act):
    """While a run builds its parts, another process changes its folder."""
    from edgefl.runs import emulation

    build = emulation.build
    calls = []

    def build_slowly(*args, **more):
        calls.append(None)
        if len(calls) == 1:
            act()
        return build(*args, **more)

    monkeypatch.setattr(emulation, "build", build_slowly)


@pytest.mark.parametrize("how", [{}, {"overwrite": True}, {"resume": True}])
def test_second_process_changes_nothing(how, tmp_path, monkeypatch, whole):
    """Both have found an empty folder; the first one has written its first files when the second one is built."""
    before = {}
    with ExitStack() as held:

        def begin_first():
            held.first = held.enter_context(begin(load(KEYS), Options(tmp_path / "out", "cpu")))
            before.update(files_of(tmp_path))

        enter_meanwhile(monkeypatch, begin_first)
        with pytest.raises(Taken, match="another process is running there"):
            edgefl.run(KEYS, out=tmp_path / "out", device="cpu", **how)
        assert files_of(tmp_path) == before
        assert {path.name for path in before} == {"journal.jsonl", "labels.csv", "manifest.json", "scenario.yaml"}
        held.first.advance()
        assert held.first.finish().status == "finished"
    assert content(tmp_path / "out") == whole


@pytest.mark.oracle
@pytest.mark.parametrize("how", [{}, {"overwrite": True}, {"resume": True}])
def test_a_run_that_has_ended_meanwhile_is_not_replaced(how, tmp_path, monkeypatch):
    before = {}

    def run_first():
        edgefl.run(KEYS, out=tmp_path / "out", device="cpu")
        before.update(files_of(tmp_path))

    enter_meanwhile(monkeypatch, run_first)
    with pytest.raises(Taken, match="another process has run there meanwhile"):
        edgefl.run(KEYS, out=tmp_path / "out", device="cpu", **how)
    assert files_of(tmp_path) == before
    assert not (tmp_path / "out" / run_folder.CHECKPOINTS).exists()


def test_lock_on_a_removed_file_does_not_count(tmp_path, monkeypatch):
    """The first process removes the journal when it has finished, between our opening the file and locking it."""
    file = tmp_path / "out" / "checkpoints" / JOURNAL
    lock_descriptor = filelock.lock_descriptor

    def lock_late(*arguments, **options):
        file.unlink()
        return lock_descriptor(*arguments, **options)

    monkeypatch.setattr(filelock, "lock_descriptor", lock_late)
    with pytest.raises(Taken):
        locked(file)


def test_a_forked_process_keeps_no_lock(tmp_path):
    held = locked(tmp_path / "out" / "lock")
    started, wake = os.pipe()
    child = os.fork()
    if not child:
        os.write(wake, b"x")
        time.sleep(60)
        os._exit(0)
    try:
        os.read(started, 1)
        held.close()
        locked(tmp_path / "out" / "lock").close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
