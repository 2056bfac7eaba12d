"""A run's rows and results have needs that are known before: certain lacks refuse it, likely ones warn."""

import os
from types import SimpleNamespace

import pytest
from resume_cases import BASE

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.machine import memory_limits
from edgefl.results import run_folder
from edgefl.runs import result_needs
from edgefl.runs.assembly import rehearse
from edgefl.runs.data_division import divide
from edgefl.runs.result_needs import disk_needs, free_bytes, rows_of
from edgefl.scenario import load


@pytest.fixture
def disk(monkeypatch):
    """Sets how much is free on every disk."""

    def leave(free):
        monkeypatch.setattr(result_needs.shutil, "disk_usage", lambda _: SimpleNamespace(total=10**9, free=free))

    return leave


def needs_of(scenario, *, train=True):
    scenario = load(scenario)
    return disk_needs(scenario, divide(scenario), rows_of(scenario), train=train)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("train", "more"),
    [
        (False, {}),
        (True, {"server": {"participants": 1}}),
        (False, {"server": {"participants": 4, "policy": "asynchronous"}}),
        (True, {"sessions": {"count": 2, "rounds": 10}}),
        (True, {"model": {"kind": "mlp", "hidden": [400]}}),
    ],
    ids=["plain", "one participant", "asynchronous", "sessions", "a larger model"],
)
def test_results_are_at_least_as_large_as_is_certain_and_about_as_large_as_is_likely(train, more, tmp_path):
    scenario = {**BASE, "rounds": 20, **more}
    if "sessions" in more:
        del scenario["rounds"]
    result = edgefl.run(scenario, out=tmp_path / "out", train=train)
    needs = {need.what: need for need in needs_of(scenario, train=train)}
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "out").iterdir() if path.is_file()}
    if train:
        sizes["the trained model"] = sizes[run_folder.MODEL_FILE]
    assert len(result.rounds) == 20
    for name in needs.keys() - {"checkpoints"}:
        assert needs[name].least_bytes <= sizes[name]
    for name in ("rounds.csv", "devices.csv"):
        assert 0.3 < needs[name].likely_bytes / sizes[name] < 2.0, name


def test_a_result_that_cannot_fit_is_refused_before_anything_is_written(disk, tmp_path):
    least = sum(need.least_bytes for need in needs_of(BASE))
    disk(int(least) - 1)
    with pytest.raises(InputError) as caught:
        edgefl.run(BASE, out=tmp_path / "out")
    (line,) = caught.value.faults
    assert line.startswith(f"{tmp_path / 'out'}: the results take at least ")
    assert line.endswith(" are free there: choose a folder on another disk with out=")
    assert not (tmp_path / "out").exists()


@pytest.mark.oracle
def test_a_result_that_is_likely_not_to_fit_is_a_warning(disk, tmp_path, caplog):
    needs = needs_of(BASE)
    disk(int(sum(need.least_bytes for need in needs)))
    assert edgefl.run(BASE, out=tmp_path / "out").status == "finished"
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"warning: {tmp_path / 'out'}: the results are likely to take ")
    caplog.clear()
    disk(int(sum(need.likely_bytes for need in needs)) + 1)
    assert edgefl.run(BASE, out=tmp_path / "again").status == "finished"
    assert not caplog.records


@pytest.mark.oracle
def test_results_that_are_replaced_count_as_free(disk, tmp_path):
    edgefl.run(BASE, out=tmp_path / "out")
    disk(0)
    sizes = [(tmp_path / "out" / name).stat().st_size for name in os.listdir(tmp_path / "out")]  # noqa: PTH208
    assert free_bytes(tmp_path / "out") == sum(sizes)
    assert free_bytes(tmp_path / "other" / "folder") == 0


@pytest.mark.oracle
def test_file_system_without_counts_is_not_checked(monkeypatch, tmp_path):
    monkeypatch.setattr(result_needs.shutil, "disk_usage", lambda _: SimpleNamespace(total=0, free=0))
    assert free_bytes(tmp_path) is None
    assert edgefl.run({**BASE, "rounds": 1}, out=tmp_path / "out").status == "finished"


@pytest.mark.parametrize("devices", ["participants", "present"])
def test_evaluations_on_devices_have_rows_too(devices):
    evaluation = {"devices": devices, "every": 2}
    scenario = {**BASE, "rounds": 6, "server": {"participants": 3, "device_evaluation": evaluation}}
    rows = rows_of(load(scenario))
    assert rows.participants == len(edgefl.run(scenario, train=False).devices)


@pytest.mark.parametrize(
    "more",
    [
        {"stop": {"time_s": 1.0}},
        {"churn": {"kind": "poisson", "arrivals_per_s": 0.5, "stay_s": {"exponential": 10}}},
        {"devices": {"count": 8, "battery": {"capacity_j": 1.0}}},
    ],
    ids=["stop", "churn", "battery"],
)
def test_rows_of_runs_that_may_stop_are_not_certain(more):
    scenario = load({**BASE, "rounds": 10**9, **more})
    assert rows_of(scenario) == (0, 0.0)


def test_rows_that_cannot_fit_into_the_memory_are_refused(caplog):
    scenario = {**BASE, "rounds": 10**9}
    least = r"rounds: the rows of 1,000,000,000 rounds need at least 1\.2 TB of memory"
    for refuse in (lambda: rehearse(load(scenario)), lambda: edgefl.run(scenario, train=False)):
        with pytest.raises(InputError, match=least):
            refuse()
    rows = min(memory_limits().values()) // result_needs.LEAST_LEDGER_BYTES - 10
    rehearse(load({**BASE, "rounds": int(rows)}))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("warning: rounds: the rows of ")


@pytest.mark.slow
def test_rows_need_at_least_the_least_estimate():
    """The least is of the memory that Python counts; what libraries take is not in it."""
    import gc
    import tracemalloc

    taken = []
    for rounds in (100, 1100):
        gc.collect()
        tracemalloc.start()
        result = edgefl.run({**BASE, "rounds": rounds, "server": {"participants": 1}}, train=False)
        gc.collect()
        taken.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        del result
    assert (taken[1] - taken[0]) / 1000 > result_needs.LEAST_LEDGER_BYTES
