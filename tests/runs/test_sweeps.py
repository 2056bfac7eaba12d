"""Sweeps: what they run, that nothing is learned twice, and that no point knows of another."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import yaml
from run_cases import SWEEP_BASE, content, rows

import edgefl
from edgefl.core.errors import InputError
from edgefl.runs import sweeps
from edgefl.runs.pool import Pool
from edgefl.runs.sweeps import SweepOptions
from edgefl.runs.what_if_points import parse_over
from edgefl.runs.workers import Died
from edgefl.scenario import load_sweep

pytestmark = pytest.mark.oracle

ROOT = Path(__file__).parents[2]


@pytest.fixture
def write(tmp_path):
    """Writes a base and a sweep file; the latter's path."""

    def written(scenario=SWEEP_BASE, **keys):
        (tmp_path / "base.yaml").write_text(yaml.safe_dump(scenario))
        (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({"base": "base.yaml", **keys}, sort_keys=False))
        return tmp_path / "sweep.yaml"

    return written


# What there is to run


def test_all_combinations(write):
    keys = {
        "set": {"radio.noise_figure_db": 5},
        "points": [{"algorithm": "fedavg"}, {"algorithm": {"kind": "fedprox", "mu": 0.1}}],
        "zip": {"devices.count": [8, 4], "server.participants": [4, 2]},
        "grid": {"radio.bandwidth_hz": [1e6, 2e6, 3e6], "mobility.speed_mps": [1, 2]},
        "seeds": [5, 6],
    }
    sweep = load_sweep(write({**SWEEP_BASE, "mobility": "random_waypoint"}, **keys))
    assert len(sweep.points) == 2 * 2 * 3 * 2 * 2
    assert sweep.keys == (
        "algorithm",
        "devices.count",
        "server.participants",
        "radio.bandwidth_hz",
        "mobility.speed_mps",
    )
    scenarios = [point.scenario for point in sweep.points]
    assert {one.radio.noise_figure_db for one in scenarios} == {5}
    assert {(one.devices.count, one.server.participants) for one in scenarios} == {(8, 4), (4, 2)}
    seen = {(json.dumps(dict(point.values), sort_keys=True), point.scenario.seed) for point in sweep.points}
    assert len(seen) == len(sweep.points)
    assert len({point.place for point in sweep.points}) == len(sweep.points)
    for point in sweep.points:
        assert point.scenario.radio.bandwidth_hz == point.values["radio.bandwidth_hz"]


def test_sweep_without_keys_is_its_base(write):
    (point,) = load_sweep(write()).points
    assert (point.values, point.scenario.seed) == ({}, 1)


def test_ranges_give_the_values_of_a_what_if(write):
    sweep = load_sweep(write(grid={"radio.bandwidth_hz": "5e6..100e6:4"}, seeds="2..5"))
    _, values = parse_over("radio.bandwidth_hz=5e6..100e6:4")
    assert list(dict.fromkeys(point.values["radio.bandwidth_hz"] for point in sweep.points)) == values
    assert [point.scenario.seed for point in sweep.points[:4]] == [2, 3, 4, 5]


def test_a_mapping_is_the_sweep_of_its_file(write, tmp_path, monkeypatch):
    keys = {"grid": {"radio.bandwidth_hz": [1e6, 2e6]}, "zip": {"rounds": [2, 3]}, "seeds": [1, 2], "name": "study"}
    of_file = load_sweep(write(**keys))
    monkeypatch.chdir(tmp_path)
    for base in ("base.yaml", SWEEP_BASE):
        of_mapping = load_sweep({"base": base, **keys})
        assert (of_mapping.name, of_mapping.keys) == (of_file.name, of_file.keys)
        assert [point.place for point in of_mapping.points] == [point.place for point in of_file.points]
        ours = [point.scenario.model_dump(exclude={"name"}) for point in of_mapping.points]
        assert ours == [point.scenario.model_dump(exclude={"name"}) for point in of_file.points]


# Learned once


@pytest.fixture
def in_this_process(monkeypatch):
    """Runs without processes of their own: what they train can be counted."""
    trained = []

    class Here:
        def __init__(self, work, count, settings, *, reuse):
            self._work = work
            self._answers = []
            self.reuse = reuse

        @property
        def room(self):
            return not self._answers

        busy = property(lambda self: bool(self._answers))

        def begin(self, number, task):
            self._answers.append((number, self._work(task)))

        def answers(self):
            ended = self._answers
            self._answers = []
            return ended

        def close(self):
            pass

    monkeypatch.setattr("edgefl.runs.sweeps.Pool", Here)
    from edgefl.learning.learner import Learner

    collect = Learner.collect

    def counting(self, where=None):
        trained.append(1)
        return collect(self, where)

    monkeypatch.setattr(Learner, "collect", counting)
    return trained


def alone(point, folder):
    edgefl.run(point.scenario, out=folder, device="cpu")
    return content(folder)


def test_a_bandwidth_sweep_learns_once_and_has_the_bytes_of_runs_alone(write, tmp_path, in_this_process):
    path = write(grid={"radio.bandwidth_hz": [1e6, 2e6, 1e7]})
    edgefl.sweep(path, out=tmp_path / "out", device="cpu")
    assert len(in_this_process) == SWEEP_BASE["rounds"]
    for number, point in enumerate(load_sweep(path).points):
        assert content(tmp_path / "out" / point.place) == alone(point, tmp_path / f"alone-{number}")
        assert not (tmp_path / "out" / point.place / "checkpoints").exists()
    times = [float(row["time_s"]) for row in rows(tmp_path / "out")]
    assert times == sorted(times, reverse=True)
    assert len({row["final_accuracy"] for row in rows(tmp_path / "out")}) == 1


def test_runs_that_are_kept_apart_learn_each_by_itself(write, tmp_path, in_this_process):
    sweep = load_sweep(write(grid={"radio.bandwidth_hz": [1e6, 2e6]}))
    sweeps.run(sweep, SweepOptions(out=tmp_path / "out", device="cpu", apart=True))
    assert len(in_this_process) == 2 * SWEEP_BASE["rounds"]


PARTING = {
    "deadline": {"server": {"policy": "deadline", "deadline_s": 0.02, "participants": 4}},
    "asynchronous": {"server": {"policy": "asynchronous", "participants": 4}, "algorithm": "fedasync"},
    "churn": {"churn": {"kind": "poisson", "arrivals_per_s": 100, "stay_s": {"exponential": 0.05}}},
    "memory": {"algorithm": "feddyn", "training": {**SWEEP_BASE["training"], "codec": {"kind": "top_k", "part": 0.3}}},
}


@pytest.mark.parametrize("name", PARTING)
def test_runs_learn_separately_after_their_schedules_differ(name, write, tmp_path, in_this_process):
    base = {**SWEEP_BASE, **PARTING[name], "devices": {"count": 8, "cpu_hz": {"uniform": [1e6, 1e8]}}}
    path = write(base, grid={"radio.bandwidth_hz": [2e5, 1e7]})
    edgefl.sweep(path, out=tmp_path / "out", device="cpu")
    for number, point in enumerate(load_sweep(path).points):
        assert content(tmp_path / "out" / point.place) == alone(point, tmp_path / f"alone-{number}")


def test_other_learning_is_not_shared(write, tmp_path, in_this_process):
    edgefl.sweep(write(grid={"training.lr": [0.1, 0.2]}, seeds=[1, 2]), out=tmp_path / "out", device="cpu")
    assert len(in_this_process) == 4 * SWEEP_BASE["rounds"]


@pytest.mark.parametrize(
    "grid",
    [
        {"devices.count": [8, 10]},
        {"server.selection": ["uniform", "round_robin"]},
        {"churn": ["none", {"kind": "bernoulli", "probability": 0.9}]},
    ],
    ids=lambda grid: next(iter(grid)),
)
def test_runs_that_share_nothing_do_not_wait(grid, write, tmp_path, in_this_process, caplog):
    path = write({**SWEEP_BASE, "data": {**SWEEP_BASE["data"], "partition": "iid"}}, grid=grid)
    edgefl.sweep(path, out=tmp_path / "out", device="cpu")
    assert len(in_this_process) == 2 * SWEEP_BASE["rounds"]
    assert "on record" not in caplog.text
    for number, point in enumerate(load_sweep(path).points):
        assert content(tmp_path / "out" / point.place) == alone(point, tmp_path / f"alone-{number}")


def test_sweep_without_learning_prices_worlds(write, tmp_path, in_this_process):
    edgefl.sweep(write(grid={"radio.bandwidth_hz": [1e6, 2e6]}), out=tmp_path / "out", train=False)
    assert not in_this_process
    assert [row["final_accuracy"] for row in rows(tmp_path / "out")] == ["", ""]
    assert all(float(row["energy_j"]) > 0 for row in rows(tmp_path / "out"))


# What fails, and what is missing


def test_a_point_that_fails_leaves_the_others_alone(write, tmp_path, in_this_process):
    path = write(grid={"training.lr": [0.1, 1e38]}, seeds=[1, 2])
    index = edgefl.sweep(path, out=tmp_path / "out", device="cpu")
    assert index["status"].tolist() == ["finished", "finished", "failed", "failed"]
    assert index["error"][2:].str.contains("training.lr").all()


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_impossible_draw_fails_only_its_point(write, tmp_path):
    grid = {"devices.data_share": [0.5, {"lognormal": [1.0, 0.1]}]}
    path = write({**SWEEP_BASE, "data": {**SWEEP_BASE["data"], "partition": "iid"}}, grid=grid)
    edgefl.sweep(path, out=tmp_path / "out", device="cpu", workers=1)
    fine, failed = rows(tmp_path / "out")
    assert (fine["status"], failed["status"]) == ("finished", "failed")
    assert failed["error"].startswith("devices.data_share: device 0 draws")


def test_resume_runs_only_what_is_missing(write, tmp_path, in_this_process):
    path = write(grid={"training.lr": [0.1, 0.2, 0.3]})
    first = edgefl.sweep(path, out=tmp_path / "out", device="cpu")
    points = load_sweep(path).points
    (tmp_path / "out" / points[1].place / "manifest.json").unlink()
    for file in (tmp_path / "out" / points[1].place).iterdir():
        file.unlink()
    in_this_process.clear()
    again = edgefl.sweep(path, out=tmp_path / "out", device="cpu", resume=True)
    assert len(in_this_process) == SWEEP_BASE["rounds"]
    assert again.equals(first)


def test_sweep_whose_folders_have_other_names_is_resumed_in_them(write, tmp_path, in_this_process):
    path = write(grid={"training.lr": [0.1, 0.2]}, seeds=[1, 2])
    edgefl.sweep(path, out=tmp_path / "out", device="cpu")
    # An earlier version named folders otherwise.
    for name in ("sweep.yaml", "index.csv"):
        text = (tmp_path / "out" / name).read_text()
        (tmp_path / "out" / name).write_text(text.replace("1-lr=0.1", "1-l").replace("2-lr=0.2", "2-l"))
    for place, old in (("1-lr=0.1", "1-l"), ("2-lr=0.2", "2-l")):
        (tmp_path / "out" / place).rename(tmp_path / "out" / old)
    in_this_process.clear()
    again = edgefl.sweep(path, out=tmp_path / "out", device="cpu", resume=True)
    assert not in_this_process
    assert again["point"].tolist() == ["1-l", "1-l", "2-l", "2-l"]
    assert again["status"].tolist() == ["finished"] * 4
    assert not list((tmp_path / "out").glob("*lr*"))


def test_swept_label_names_the_method(write, tmp_path, in_this_process):
    methods = {"label": ["Plain", "Mine, α"], "algorithm": ["fedavg", {"kind": "fedprox", "mu": 0.1}]}
    index = edgefl.sweep(write(zip=methods), out=tmp_path / "out", device="cpu")
    assert index["point"].tolist() == ["1-Plain", "2-Mine,_α"]
    assert index["label"].tolist() == ["Plain", "Mine, α"]
    scenario = yaml.safe_load((tmp_path / "out" / index["folder"][1] / "scenario.yaml").read_text())
    assert scenario["label"] == "Mine, α"


def test_sweep_is_resumed_whatever_its_label(write, tmp_path, in_this_process):
    first = edgefl.sweep(write(seeds=[1, 2]), out=tmp_path / "out", device="cpu")
    in_this_process.clear()
    again = edgefl.sweep(write(seeds=[1, 2], set={"label": "mine"}), out=tmp_path / "out", device="cpu", resume=True)
    assert not in_this_process
    assert again.equals(first)


def test_two_labels_for_one_scenario_are_refused(write):
    with pytest.raises(InputError, match="same scenario"):
        load_sweep(write(grid={"label": ["a", "b"]}))


def test_keys_without_room_in_the_names_of_folders_are_listed(write, tmp_path, in_this_process):
    names = ["x" * 90, "y" * 90]
    edgefl.sweep(write(grid={"training.lr": [0.1, 0.2], "name": names}), out=tmp_path / "out", device="cpu")
    content = yaml.safe_load((tmp_path / "out" / "sweep.yaml").read_text())
    assert content["not_in_folders"] == ["name"]
    assert content["points"][0]["values"]["name"] == names[0]
    assert content["points"][0]["folder"] == "1-lr=0.1/seed-1"


def test_another_sweep_is_refused(write, tmp_path, in_this_process):
    edgefl.sweep(write(), out=tmp_path / "out", device="cpu")
    other = write(seeds=[1, 2])
    with pytest.raises(InputError, match="another sweep"):
        edgefl.sweep(other, out=tmp_path / "out", device="cpu", resume=True)
    with pytest.raises(InputError, match="is not empty"):
        edgefl.sweep(other, out=tmp_path / "out", device="cpu")


def test_overwriting_removes_an_earlier_sweep_and_nothing_else(write, tmp_path, in_this_process):
    edgefl.sweep(write(seeds=[1, 2]), out=tmp_path / "out", device="cpu")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out" / "figures").mkdir()
    edgefl.sweep(write(seeds=[3]), out=tmp_path / "out", device="cpu", overwrite=True)
    assert [row["seed"] for row in rows(tmp_path / "out")] == ["3"]
    assert [path.name for path in (tmp_path / "out").glob("*/seed-*")] == ["seed-3"]
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "out" / "figures").is_dir()


@pytest.mark.parametrize("how", [{"resume": True}, {"overwrite": True}], ids=["resume", "overwrite"])
def test_a_folder_of_something_else_is_refused(how, write, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="other files than a sweep's"):
        edgefl.sweep(write(), out=tmp_path / "home", **how)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter.txt"]


# Processes


def nothing_set(place):
    """No environment variables."""
    return {}


def square(number):
    """Do the work that tests give to processes."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        raise ValueError("four")
    return number**2


@pytest.mark.process
def test_dying_process_loses_only_its_task():
    pool = Pool(square, 2, nothing_set)
    left = list(range(7))
    values = {}
    while left or pool.busy:
        while left and pool.room:
            number = left.pop(0)
            pool.begin(number, number)
        values.update(pool.answers())
    pool.close()
    assert isinstance(values.pop(3), Died)
    assert str(values.pop(4)) == "four"
    assert values == {number: number**2 for number in (0, 1, 2, 5, 6)}


@pytest.mark.process
def test_a_process_that_is_killed_while_it_waits_is_replaced():
    pool = Pool(square, 1, nothing_set)
    pool.begin(0, 5)
    assert [answer.value for answer in pool.answers()] == [25]
    (idle,) = pool._idle
    idle.process.kill()
    idle.process.join()
    pool.begin(1, 6)
    assert [answer.value for answer in pool.answers()] == [36]
    pool.close()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def process_number(_task):
    return os.getpid()


@pytest.mark.process
@pytest.mark.parametrize("reuse", [True, False])
def test_a_process_runs_many_tasks_or_one(reuse):
    pool = Pool(process_number, 1, nothing_set, reuse=reuse)
    numbers = []
    for number in range(3):
        pool.begin(number, number)
        numbers += [answer.value for answer in pool.answers()]
    assert [is_alive(number) for number in numbers] == [reuse] * 3
    pool.close()
    assert len(set(numbers)) == (1 if reuse else 3)


@pytest.mark.process
def test_no_more_processes_than_the_memory_has_room_for(monkeypatch):
    monkeypatch.setattr("edgefl.runs.pool.available_bytes", lambda: 1)
    pool = Pool(square, 4, nothing_set)
    pool.begin(0, 0)
    next(iter(pool.answers()))
    pool.begin(1, 1)
    assert not pool.room  # the first one has taken more than a byte
    next(iter(pool.answers()))
    pool.close()


@pytest.mark.process
def test_runs_in_separate_processes_share_learning(write, tmp_path):
    index = edgefl.sweep(
        write(grid={"radio.bandwidth_hz": [1e6, 2e6]}, seeds=[1, 2]), out=tmp_path / "out", device="cpu"
    )
    assert index["status"].tolist() == ["finished"] * 4
    first, second = (edgefl.read(tmp_path / "out" / folder).parameters for folder in index["folder"][[0, 2]])
    assert np.array_equal(first, second)
