"""A run and a sweep that begin in one new folder at the same time: one of them is refused, and touches nothing."""

from contextlib import ExitStack
from functools import partial
from shutil import rmtree

import pytest
from resume_cases import BASE

import edgefl
from edgefl.core.errors import InputError, RunError, Taken
from edgefl.core.own_files import alone
from edgefl.results.run_folder import LOCK
from edgefl.runs import emulation, sweeps
from edgefl.runs.emulation import Options, begin
from edgefl.scenario import load, load_sweep

KEYS = {**BASE, "rounds": 2}


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def sweep_file(tmp_path, forked_sweeps):
    (tmp_path / "s.yaml").write_text("rounds: 2\nmodel: logistic\ndevices: {count: 4}\nserver: {participants: 2}\n")
    path = tmp_path / "sweep.yaml"
    path.write_text("base: s.yaml\ntrain: false\nseeds: [1, 2]\n")
    return path


def run_sweep(sweep_file):
    return edgefl.sweep(sweep_file, out=sweep_file.parent / "out", workers=1)


def meanwhile(monkeypatch, module, name, act):
    """Act once when the program has checked the folder, and has not locked it yet."""
    function = getattr(module, name)
    pending = [act]

    def slowly(*arguments, **options):
        answer = function(*arguments, **options)
        while pending:
            pending.pop()()
        return answer

    monkeypatch.setattr(module, name, slowly)


def test_a_sweep_is_refused_where_a_run_has_begun_meanwhile(sweep_file, monkeypatch):
    out = sweep_file.parent / "out"
    before = {}
    with ExitStack() as held:

        def begin_run():
            held.run = held.enter_context(begin(load(KEYS), Options(out, "cpu")))
            before.update(files_of(out))

        meanwhile(monkeypatch, sweeps, "check_folder", begin_run)
        with pytest.raises(Taken, match="another process is running there"):
            run_sweep(sweep_file)
        assert files_of(out) == before
        held.run.advance()
        assert held.run.finish().status == "finished"
    assert not (out / "sweep.yaml").exists()


@pytest.mark.oracle
def test_a_sweep_is_refused_where_a_run_has_ended_meanwhile(sweep_file, monkeypatch):
    out = sweep_file.parent / "out"
    before = {}

    def run():
        edgefl.run(KEYS, out=out, device="cpu")
        before.update(files_of(out))

    meanwhile(monkeypatch, sweeps, "check_folder", run)
    with pytest.raises(InputError, match="holds other files than a sweep's"):
        run_sweep(sweep_file)
    assert files_of(out) == before


@pytest.mark.process
@pytest.mark.parametrize("how", [{}, {"overwrite": True}, {"resume": True}])
@pytest.mark.parametrize("refused", ["run", "sweep"])
def test_both_are_refused_where_a_sweep_has_ended_meanwhile(refused, how, sweep_file, monkeypatch):
    out = sweep_file.parent / "out"
    before = {}

    def run():
        run_sweep(sweep_file)
        before.update(files_of(out))

    place = (sweeps, "check_folder")
    again = partial(edgefl.sweep, sweep_file, workers=1)
    if refused == "run":
        place = (emulation, "build")
        again = partial(edgefl.run, KEYS, device="cpu")
    meanwhile(monkeypatch, *place, run)
    with pytest.raises(Taken, match="another process has run there meanwhile"):
        again(out=out, **how)
    assert files_of(out) == before


@pytest.mark.process
def test_a_run_is_refused_while_a_sweep_runs(sweep_file, monkeypatch):
    out = sweep_file.parent / "out"
    seen = []

    def try_run(*_):
        for how in ({}, {"overwrite": True}, {"resume": True}):
            before = files_of(out)
            with pytest.raises(InputError):
                edgefl.run(KEYS, out=out, device="cpu", **how)
            assert files_of(out) == before
            assert (out / LOCK).exists()
            seen.append(how)

    sweeps.run(load_sweep(sweep_file), sweeps.SweepOptions(out=out, workers=1), try_run)
    assert len(seen) == 6
    assert not (out / LOCK.parent).exists()


def test_run_does_not_write_into_another_runs_folder(sweep_file):
    """The folder was removed while the run went on, and a sweep is running in one of the same name."""
    out = sweep_file.parent / "out"
    with begin(load(KEYS), Options(out, "cpu")) as run:
        run.advance()
        rmtree(out)
        with alone(out / LOCK):
            with pytest.raises(RunError, match="another process is running there now"):
                run.finish()
            assert list(files_of(out)) == [out / LOCK]


def test_run_does_not_replace_new_files_of_the_user(sweep_file):
    out = sweep_file.parent / "out"
    with begin(load(KEYS), Options(out, "cpu")) as run:
        run.advance()
        rmtree(out)
        out.mkdir()
        (out / "labels.csv").write_text("mine")
        with pytest.raises(RunError, match=r"labels\.csv: edgefl has not written this file"):
            run.finish()
    assert files_of(out) == {out / "labels.csv": b"mine"}
