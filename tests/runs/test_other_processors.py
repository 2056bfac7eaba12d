"""A run that is resumed on another type of processor, or shares learning with one, as that may round differently."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from resume_cases import BASE, ROUNDS
from run_cases import content

import edgefl
from edgefl.core import machine
from edgefl.core.errors import InputError
from edgefl.learning.record import Pace
from edgefl.learning.torch_device import gpu_names
from edgefl.runs import emulation
from edgefl.runs.emulation import Options
from edgefl.scenario import load

WARNING = "another device or type of processor: learning starts over"
SHARED_WARNING = "another type of processor: their learning is repeated on this one"
CPUINFO = "processor: 0\nvendor_id: {vendor}\ncpu family: 6\nmodel: {number}\nmodel name: {name}\n"


@pytest.fixture
def processors(monkeypatch, tmp_path_factory):
    """Moves the test to a machine whose processor has this name."""

    def use(name, number=1):
        path = tmp_path_factory.mktemp("proc") / "cpuinfo"
        path.write_text(CPUINFO.format(vendor=machine.processor_vendor(), number=number, name=name))
        monkeypatch.setattr(machine, "CPUINFO", path)
        machine.processor.cache_clear()

    yield use
    machine.processor.cache_clear()


def interrupt(row):
    if row["round"] == 6:
        raise KeyboardInterrupt


def begin(out, keys=BASE):
    edgefl.run(keys, out=out, device="cpu", pace=Pace(rounds=2), progress=interrupt)


@pytest.mark.oracle
def test_learning_of_another_type_is_repeated(tmp_path, processors, jobs, caplog):
    processors("First")
    begin(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["processor"]["model"] == "First"
    processors("Second")
    jobs.clear()
    with caplog.at_level(logging.WARNING):
        edgefl.run(BASE, out=tmp_path, device="cpu", resume=True)
    assert jobs.total() == 4 * ROUNDS
    assert caplog.text.count(WARNING) == 1
    assert json.loads((tmp_path / "manifest.json").read_text())["processor"]["model"] == "Second"


@pytest.mark.oracle
def test_learning_of_the_same_type_is_shared(tmp_path, processors, jobs, caplog):
    processors("First")
    begin(tmp_path)
    processors("First")  # asked again, as another process does
    jobs.clear()
    edgefl.run(BASE, out=tmp_path, device="cpu", resume=True)
    assert 0 < jobs.total() < 4 * ROUNDS
    assert WARNING not in caplog.text


@pytest.mark.oracle
def test_a_finished_run_is_extended_with_what_this_type_learns(tmp_path, processors, jobs, caplog):
    processors("First")
    edgefl.run({**BASE, "rounds": 5}, out=tmp_path, device="cpu", pace=Pace(rounds=2))
    processors("Second")
    jobs.clear()
    edgefl.run(BASE, out=tmp_path, device="cpu", resume=True)
    assert jobs.total() == 4 * ROUNDS
    assert WARNING in caplog.text


def test_processors_of_one_name_are_told_apart(monkeypatch, processors):
    """Virtual machines name many types alike, and an emulator only has other instructions."""
    found = []
    for number in (1, 49):
        processors("EPYC", number)
        found.append(machine.processor())
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    processors("EPYC", 49)
    found.append(machine.processor())
    monkeypatch.setattr("numpy._core._multiarray_umath.__cpu_features__", {"SSE2": True, "AVX2": False})
    processors("EPYC", 49)
    found.append(machine.processor())
    assert found[3]["instructions"] == "SSE2"
    assert all(found.count(one) == 1 for one in found)


def test_gpus_are_told_apart(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    assert gpu_names("cpu") == []
    assert gpu_names("cuda") == ["GPU 0", "GPU 1"]
    assert gpu_names("cuda:1") == ["GPU 1"]


@pytest.mark.oracle
def test_differently_rounded_data_are_not_called_drawn(tmp_path, processors):
    arrays = {"train_y": np.arange(24) % 3, "test_y": np.arange(24) % 3, "test_x": np.ones((24, 5), np.float32)}
    keys = {**BASE, "data": {"dataset": "npz", "path": str(tmp_path / "d.npz")}}
    processors("First")
    np.savez(tmp_path / "d.npz", train_x=np.ones((24, 5), np.float32), **arrays)
    begin(tmp_path / "out", keys)
    processors("Second")
    np.savez(tmp_path / "d.npz", train_x=np.full((24, 5), 1 + 2.0**-23, np.float32), **arrays)
    text = "on another type of processor, which may round differently: continue it there; choose another folder"
    with pytest.raises(InputError, match=text):
        edgefl.run(keys, out=tmp_path / "out", device="cpu", resume=True)


# Learning that the runs of a sweep share


WIDER = {**BASE, "radio": {"bandwidth_hz": 2e6}}


def leader(out):
    emulation.run(load(BASE), Options(out, "cpu", share=True))
    return out


def follower(out, *shared):
    emulation.run(load(WIDER), Options(out, "cpu", resume=True, share=True, shared=shared))
    return out


@pytest.mark.oracle
def test_runs_share_learning_with_their_processor_type(tmp_path, processors, jobs, caplog):
    """A cluster has machines of two types: the second type learns once, too, without the record of the first."""
    processors("First")
    first = leader(tmp_path / "first")
    processors("Second")
    jobs.clear()
    second = follower(tmp_path / "second", first)
    assert jobs.total() == 4 * ROUNDS
    assert caplog.text.count(SHARED_WARNING) == 1
    caplog.clear()
    for number, order in enumerate([(first, second), (second, first)]):
        jobs.clear()
        follower(tmp_path / f"more {number}", *order)
        assert jobs.total() == 0
    assert not caplog.text
    assert content(second) == content(tmp_path / "more 0") == content(tmp_path / "more 1")


# A real difference


PROGRAM = """
import os, sys
from pathlib import Path
import edgefl
from edgefl.learning.record import Pace
from resume_cases import BASE

def kill(row):
    if row["round"] == 6 and sys.argv[1] == "kill":
        os._exit(9)

edgefl.run(BASE, out=Path(sys.argv[2]), device="cpu", pace=Pace(rounds=2), resume=True, progress=kill)
"""
FEWER = {"ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Sandybridge"}


@pytest.mark.process
def test_a_run_that_goes_on_with_fewer_instructions_has_their_bytes(tmp_path):
    def run(what, out, settings, code=0):
        paths = [*sys.path, str(Path(__file__).parents[1] / "cases")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **settings}
        done = subprocess.run([sys.executable, "-c", PROGRAM, what, str(out)], env=environment, check=False)
        assert done.returncode == code

    run("kill", tmp_path / "cut", {}, 9)
    run("finish", tmp_path / "cut", FEWER)
    run("finish", tmp_path / "whole", FEWER)
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
