"""A run with a driver from outside has the same results as a run in one go, wherever its clock stops."""

import json

import numpy as np
import pytest
from server_cases import BASE, assert_same

import edgefl
from edgefl.core.errors import InputError, RunError
from edgefl.runs.emulation import Emulation, Options, begin
from edgefl.scenario import load

FILES = ("rounds.csv", "devices.csv", "events.parquet", "scenario.yaml", "model.safetensors", "summary.json")
TRAINED = {**BASE, "rounds": 2, "devices": {**BASE["devices"], "count": 6}, "server": {"participants": 3}}


def without_wall_s(file):
    if file.name != "summary.json":
        return file.read_bytes()
    return {name: value for name, value in json.loads(file.read_text()).items() if name != "wall_s"}


@pytest.mark.parametrize("policy", ["synchronous", "asynchronous"])
def test_a_run_that_stops_at_times_and_at_events_gives_the_same_as_one_in_one_go(policy):
    scenario = {**BASE, "server": {"participants": 6, "policy": policy}}
    plain = edgefl.run(scenario, train=False)
    end_s = plain.summary["time_s"]
    with begin(load(scenario), Options(train=False)) as emulation:
        env = emulation.server.env
        for time_s in np.linspace(0.0, 0.6, 7) * end_s:  # 0: the clock stands there already
            assert emulation.advance(float(time_s))
            assert env.now == time_s
        chimes = env.timeout(0.2 * end_s, "done")
        assert emulation.advance(chimes)
        assert chimes.processed
        assert env.now == pytest.approx(0.8 * end_s)
        assert emulation.status == "running"
        assert not emulation.advance(env.event())  # never triggered, so the loop stops at the run's end
        assert not emulation.advance()
        assert_same(emulation.finish(), plain)


@pytest.mark.oracle
def test_a_driven_run_writes_the_same_files(tmp_path):
    plain = edgefl.run(TRAINED, out=tmp_path / "plain", device="cpu")
    with begin(load(TRAINED), Options(tmp_path / "driven", device="cpu")) as emulation:
        assert json.loads((tmp_path / "driven" / "manifest.json").read_text())["status"] == "running"
        with pytest.raises(InputError, match="is not empty"):
            begin(load(TRAINED), Options(tmp_path / "driven", device="cpu"))
        emulation.advance(plain.summary["time_s"] / 2)
        emulation.advance()
        result = emulation.finish()
    assert_same(result, plain)
    names = {path.name for path in (tmp_path / "driven").iterdir()}
    assert names == {path.name for path in (tmp_path / "plain").iterdir()} - {"report.html"}
    for name in FILES:
        assert without_wall_s(tmp_path / "driven" / name) == without_wall_s(tmp_path / "plain" / name)


def test_a_run_that_is_finished_before_its_end_keeps_its_finished_rounds():
    plain = edgefl.run(BASE, train=False)
    with begin(load(BASE), Options(train=False)) as emulation:
        emulation.advance(plain.rounds["time_s"][1] * (1 + 1e-9))
        result = emulation.finish()
    assert result.status == "interrupted"
    assert "before its end" in result.error
    assert result.rounds.equals(plain.rounds[:2])


@pytest.mark.parametrize(
    ("raised", "status"),
    [(RunError("no device"), "failed"), (KeyboardInterrupt(), "interrupted"), (KeyError(1), "failed")],
)
def test_driver_gets_the_error_and_finished_rounds_are_kept(tmp_path, raised, status):
    def trouble(env):
        yield env.timeout(0.3)
        raise raised

    with begin(load(BASE), Options(tmp_path, train=False)) as emulation:
        env = emulation.server.env
        env.process(trouble(env))
        with pytest.raises(type(raised)):
            emulation.advance()
        assert not emulation.advance()
        if isinstance(raised, KeyError):  # a bug is raised again, once the rounds are on disk
            with pytest.raises(KeyError):
                emulation.finish()
        else:
            assert emulation.finish().status == status
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["status"] == status
    assert len((tmp_path / "rounds.csv").read_text().splitlines()) > 1


def test_run_that_cannot_begin_releases_its_folder(tmp_path):
    impossible = load({**BASE, "server": {"participants": 6, "selection": "power_of_choice"}})
    with pytest.raises(InputError, match="chooses by losses"):
        begin(impossible, Options(tmp_path / "out", train=False))
    assert not (tmp_path / "out").exists()


def test_closing_without_finishing_releases_the_folder(tmp_path):
    with begin(load(BASE), Options(tmp_path, train=False)):
        pass
    with begin(load(BASE), Options(tmp_path, train=False, overwrite=True)) as emulation:
        assert isinstance(emulation, Emulation)
        emulation.advance()
        assert emulation.finish().status == "finished"
