"""The timeline: the rules of the Trace Event Format, the ledger's books, and the event log's moments."""

import json
from collections import defaultdict
from itertools import pairwise

import pandas as pd
import pytest
from export_cases import BASE, FAILING, RUNS, exported

import edgefl

COLUMNS = {
    "download": ("download_s", "rx_energy_j", "bytes_down"),
    "compute": ("compute_s", "cpu_energy_j", None),
    "upload": ("upload_s", "tx_energy_j", "bytes_up"),
    "wait": ("wait_s", "idle_energy_j", None),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Result folders, and their devices, by name; made when they are asked for."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}

    def get(name):
        if name not in made:
            scenario = BASE | (FAILING if name == "failing" else RUNS[name])
            edgefl.run(scenario, train=False, out=folder / name)
            made[name] = folder / name
        return made[name]

    return get


def events(*folders):
    return json.loads(exported(folders, "trace"))["traceEvents"]


def ns(microseconds):
    """Whole nanoseconds, which is what the file has."""
    assert abs(1000 * microseconds - round(1000 * microseconds)) < 1e-3
    return round(1000 * microseconds)


def check(event):
    """Check an event against the format."""
    assert event["ph"] in {"M", "X", "C"}
    assert isinstance(event["name"], str)
    assert all(type(event[key]) is int for key in ("pid", "tid"))
    assert isinstance(event["args"], dict)
    if event["ph"] == "M":
        assert event["name"] in {"process_name", "thread_name", "thread_sort_index"}
        return
    assert event["ts"] >= 0
    if event["ph"] == "X":
        assert event["dur"] >= 0
        assert isinstance(event["cat"], str)
    else:
        assert all(isinstance(value, int | float) for value in event["args"].values())


def slices(events):
    """By track: begin, end [ns] and event, in order of time."""
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = ns(event["ts"])
            found[event["pid"], event["tid"]].append((begin, begin + ns(event["dur"]), event))
    return {track: sorted(each, key=lambda one: one[:2]) for track, each in found.items()}


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*RUNS, "failing"])
def test_every_event_is_valid_and_slices_of_a_track_never_overlap(runs, name):
    every = events(runs(name))
    for event in every:
        check(event)
    for track in slices(every).values():
        assert all(end <= begin for (_, end, _), (begin, _, _) in pairwise(track))
    named = {(event["pid"], event["tid"]): event["args"]["name"] for event in every if event["name"] == "thread_name"}
    assert named == {(1, 1): "rounds"} | {track: f"device {track[1] - 1}" for track in slices(every) if track[0] == 2}


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*RUNS, "failing"])
def test_slices_add_up_to_the_ledger(runs, name):
    """Arguments do to the last digit; drawn lengths where no wait is cut short by the device's next part."""
    devices = pd.read_csv(runs(name) / "devices.csv")
    every = events(runs(name))
    for phase, (seconds, joules, count) in COLUMNS.items():
        args = pd.DataFrame(
            [event["args"] for event in every if event.get("cat") == phase], columns=["seconds", "joules", "bytes"]
        )
        assert args["seconds"].sum() == pytest.approx(devices[seconds].sum(), rel=1e-12)
        assert args["joules"].sum() == pytest.approx(devices[joules].sum(), rel=1e-12)
        assert args["bytes"].sum() == (devices[count].sum() if count else 0)
        drawn_s = 1e-6 * sum(event["dur"] for event in every if event.get("cat") == phase)
        if name != "failing" or phase != "wait":
            assert drawn_s == pytest.approx(devices[seconds].sum(), abs=2e-9 * len(devices) + 1e-11)
        else:
            assert 0 < drawn_s < devices[seconds].sum()


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in RUNS if name != "split"])
def test_slices_end_when_the_event_log_says_so(runs, name):
    log = pd.read_parquet(runs(name) / "events.parquet")
    tracks = slices(events(runs(name)))
    ends = {(event["cat"], tid - 1, end) for (pid, tid), each in tracks.items() if pid == 2 for _, end, event in each}
    for phase in ("download", "compute", "upload"):
        logged = log[log["kind"] == f"{phase}_end"]
        assert len(logged)
        for time_s, device in zip(logged["time_s"], logged["device"], strict=True):
            moments = {end for cat, one, end in ends if (cat, one) == (phase, device)}
            assert min(abs(end - 1e9 * time_s) for end in moments) <= 2


@pytest.mark.oracle
def test_the_cases_are_what_they_are_called(runs):
    """Else the tests above would pass for want of departures, late devices and failures."""
    statuses = {name: set(pd.read_csv(runs(name) / "devices.csv")["status"]) for name in (*RUNS, "failing")}
    assert "departed" in statuses["departing"]
    assert "late" in statuses["late"]
    assert "unfinished" in statuses["overlapping"]
    assert {"download_failed", "upload_failed"} <= statuses["failing"]


def test_rounds_and_counters_are_the_server_s(runs):
    rounds = pd.read_csv(runs("synchronous") / "rounds.csv")
    every = events(runs("synchronous"))
    drawn = slices(every)[1, 1]
    assert [end for _, end, _ in drawn] == [round(1e9 * time_s) for time_s in rounds["time_s"]]
    assert [event["name"] for *_, event in drawn] == [f"round {number}" for number in rounds["round"]]
    counted = [event["args"]["energy_j"] for event in every if event["ph"] == "C" and event["name"] == "energy_j"]
    assert counted == rounds["energy_j"].tolist()


def test_several_runs_are_processes_of_their_own(runs):
    folders = runs("synchronous"), runs("late")
    named = {event["pid"]: event["args"]["name"] for event in events(*folders) if event["name"] == "process_name"}
    assert named == {
        2 * place + turn: f"{folder} {what}"
        for place, folder in enumerate(folders)
        for turn, what in enumerate(("server", "devices"), 1)
    }
